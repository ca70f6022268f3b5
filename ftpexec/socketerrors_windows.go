package ftpexec

// socketErrors is empty: Windows has no splice, and its socket errors come as *net.OpError.
var socketErrors []error
