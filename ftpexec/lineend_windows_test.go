package ftpexec_test

import "strings"

func localText(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
