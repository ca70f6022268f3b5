//go:build !windows

package ftpexec_test

func localText(s string) string { return s }
