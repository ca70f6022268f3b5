//go:build linux && !cgo

package disk

// addressSpace is how many bytes of address space the process needs. The runtime reserves it in steps: 1,000 MiB
// suffice, 1,200 do not, and from 1,400 on every size suffices.
const addressSpace = 1400 << 20
