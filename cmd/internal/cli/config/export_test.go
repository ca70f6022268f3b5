package config

// Habits is the table of other programs' flags.
var Habits = habits

// As returns the corrected command for a user of the program, or "" if it is not known, and the messages.
func As(program string, args []string) (words, says []string) {
	r := read(args, program)
	whole, refused := r.whole()
	if whole == "" {
		return nil, append(r.wrong, refused...)
	}
	return r.right, r.wrong
}
