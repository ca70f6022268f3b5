package config

// HabitsOf returns the programs and the spellings of each row of the table of habits.
func HabitsOf() (rows [][2]string) {
	for _, h := range habits {
		rows = append(rows, [2]string{h.program, h.spelling})
	}
	return rows
}

// As returns the corrected command for a user of the program, or nil if it is not known.
func As(program string, args []string) (words []string) {
	l := read(args, program)
	l.combine()
	if l.whole() == "" {
		return nil
	}
	return l.right
}
