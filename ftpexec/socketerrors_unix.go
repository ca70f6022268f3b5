//go:build !windows

package ftpexec

import "syscall"

var socketErrors = []error{
	syscall.ECONNRESET, syscall.ETIMEDOUT, syscall.ECONNABORTED, syscall.ENETDOWN, syscall.ENETUNREACH,
	syscall.EHOSTUNREACH, syscall.EHOSTDOWN, syscall.ENETRESET, syscall.ENOTCONN,
}
