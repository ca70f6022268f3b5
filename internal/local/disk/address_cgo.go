//go:build linux && cgo

package disk

// addressSpace is how many bytes of address space the process needs. The C library reserves space for each thread, and
// the runtime crashes if it cannot create a thread.
const addressSpace = 2800 << 20
