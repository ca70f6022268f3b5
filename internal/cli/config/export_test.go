package config

// Habits is the table of other programs' flags.
var Habits = habits

// As returns the command as it should be for a user of the program, or "" if that is not known, and what is said.
func As(program string, args []string) (words, says []string) {
	r := read(args, program)
	whole, refused := r.whole()
	if whole == "" {
		return nil, append(r.wrong, refused...)
	}
	return r.right, r.wrong
}
