//go:build linux && !cgo

package disk

// addressSpace is how many bytes the process must be allowed. The runtime reserves it in steps: it does with 1,000 MiB, not
// with 1,200, and with anything from 1,400 on.
const addressSpace = 1400 << 20
