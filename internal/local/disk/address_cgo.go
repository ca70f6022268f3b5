//go:build linux && cgo

package disk

// addressSpace is how many bytes the process must be allowed: the C library reserves space for each thread, and the runtime
// dies if it cannot have a thread.
const addressSpace = 2800 << 20
