//go:build interop && linux

package interop

import (
	endian "encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"example.com/ftpfetch/internal/testkit/must"
)

const blockSize = 4096
const diskSize = 320 << 20 // the least that mkfs.xfs accepts

type block *[blockSize]byte

// disk is a disk with a cache: written data is safe once it was flushed. It keeps every block, and the order of the
// writes that were not flushed yet.
type disk struct {
	mu         sync.Mutex
	safe, seen map[int64]block
	cached     []written
	event      func() // called, if set, with mu held, after each write and before each flush
	fails      bool   // writes fail
}

type written struct {
	number int64
	block  block
}

func newDisk(blocks map[int64]block) *disk {
	return &disk{safe: blocks, seen: maps.Clone(blocks)}
}

func (d *disk) read(offset int64, size int) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := make([]byte, size)
	for n := 0; n < size; {
		at, next := offset+int64(n), blockSize-int((offset+int64(n))%blockSize)
		if b := d.seen[at/blockSize]; b != nil {
			copy(out[n:], b[at%blockSize:])
		}
		n += next
	}
	return out
}

func (d *disk) write(offset int64, data []byte) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fails {
		return unix.EIO
	}
	for len(data) > 0 {
		number, from := offset/blockSize, offset%blockSize
		var b [blockSize]byte
		if old := d.seen[number]; old != nil {
			b = *old
		}
		n := copy(b[from:], data)
		d.seen[number] = &b
		d.cached = append(d.cached, written{number, &b})
		data, offset = data[n:], offset+int64(n)
	}
	d.happened()
	return 0
}

func (d *disk) flush() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.happened()
	for _, w := range d.cached {
		d.safe[w.number] = w.block
	}
	d.cached = nil
}

// watch makes the disk call event from now on; nil ends that.
func (d *disk) watch(event func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.event = event
}

func (d *disk) happened() {
	if d.event != nil {
		d.event()
	}
}

// afterCrash returns what the disk holds if it loses power now: what was flushed, and of the rest nothing, everything,
// a first part, or any part. The caller holds mu.
func (d *disk) afterCrash(r *rand.Rand) map[int64]block {
	left := maps.Clone(d.safe)
	kind, most := r.IntN(4), r.IntN(len(d.cached)+1)
	for i, w := range d.cached {
		if kind == 1 || kind == 2 && i < most || kind == 3 && r.IntN(2) == 0 {
			left[w.number] = w.block
		}
	}
	return left
}

// disks is a file system in this process (FUSE) in which each disk is a file. It is mounted in its own mount namespace,
// which ends with this process, however that ends. So do the mounts in the namespace.
type disks struct {
	*testing.T
	dir   string
	space string // process id of the process that keeps the namespace
	fd    *os.File
	mu    sync.Mutex
	disk  []*disk // indexed by the number of the disk's node, less firstNode
}

const firstNode = 2 // 1 is the directory

func mountDisks(t *testing.T) *disks {
	t.Helper()
	fuse := must.Get(unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0))(t)
	s := &disks{T: t, dir: t.TempDir(), fd: os.NewFile(uintptr(fuse), "fuse")}
	keeper := exec.Command("unshare", "--mount", "cat")
	alive, err1 := keeper.StdinPipe()
	echo, err2 := keeper.StdoutPipe()
	must.Do(t, errors.Join(err1, err2, keeper.Start()))
	_, err1 = alive.Write([]byte{'.'})
	_, err2 = echo.Read(make([]byte, 1)) // now the process is in the namespace
	s.space = strconv.Itoa(keeper.Process.Pid)
	mounted := s.inside("mount -i -t fuse -o fd=3,rootmode=40000,user_id=0,group_id=0 disks "+s.dir, s.fd)
	served := make(chan error, 1)
	go func() { served <- s.serve(fuse) }()
	t.Cleanup(func() {
		_ = alive.Close()
		_ = keeper.Wait()
		must.Do(t, errors.Join(<-served, s.fd.Close()))
	})
	must.Do(t, errors.Join(err1, err2, mounted))
	return s
}

// inside runs a command in the namespace.
func (s *disks) inside(line string, files ...*os.File) error {
	cmd := exec.CommandContext(s.Context(), "nsenter", append([]string{"--mount", "--target", s.space}, strings.Fields(line)...)...)
	cmd.ExtraFiles = files
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", line, err, said)
	}
	return nil
}

// path returns a path from here to a path in the namespace.
func (s *disks) path(name string) string { return filepath.Join("/proc", s.space, "root", name) }

// insert returns the path of d as a file in the namespace.
func (s *disks) insert(d *disk) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.disk = append(s.disk, d)
	return filepath.Join(s.dir, strconv.Itoa(len(s.disk)-1+firstNode))
}

// The FUSE requests that a loop device needs for its file: linux/fuse.h.
const (
	fuseLookup, fuseForget, fuseGetattr, fuseOpen, fuseRead, fuseWrite = 1, 2, 3, 14, 15, 16
	fuseRelease, fuseFsync, fuseFlush, fuseInit, fuseInterrupt         = 18, 20, 25, 26, 36
	fuseBatchForget                                                    = 42

	requestHeader, mostWritten = 40, 1 << 20
)

// serve answers requests until the file system is unmounted.
func (s *disks) serve(fd int) error {
	buffer := make([]byte, mostWritten+4*blockSize)
	for {
		n, err := unix.Read(fd, buffer)
		switch {
		case errors.Is(err, unix.ENODEV):
			return nil
		case errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.ENOENT):
			continue
		case err != nil:
			return err
		}
		in := buffer[:n]
		kind := endian.NativeEndian.Uint32(in[4:])
		if kind == fuseForget || kind == fuseBatchForget || kind == fuseInterrupt {
			continue
		}
		body, code := s.answer(kind, endian.NativeEndian.Uint64(in[16:]), in[requestHeader:])
		if code != 0 {
			body = nil
		}
		out := endian.NativeEndian.AppendUint32(nil, uint32(16+len(body)))
		out = endian.NativeEndian.AppendUint32(out, uint32(-int32(code)))
		out = append(append(out, in[8:16]...), body...)
		if _, err := unix.Write(fd, out); err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
}

func (s *disks) answer(kind uint32, node uint64, in []byte) ([]byte, syscall.Errno) {
	e := endian.NativeEndian
	switch kind {
	case fuseInit:
		const asyncRead, bigWrites, maxPages = 1, 1 << 5, 1 << 22
		out := make([]byte, 64)
		for i, v := range []uint32{7, 31, mostWritten, asyncRead | bigWrites | maxPages, 0, mostWritten, 1, mostWritten / blockSize} {
			e.PutUint32(out[4*i:], v)
		}
		return out, 0
	case fuseLookup:
		n, err := strconv.ParseUint(string(in[:len(in)-1]), 10, 64)
		if err != nil {
			return nil, unix.ENOENT
		}
		return append(append(e.AppendUint64(nil, n), make([]byte, 32)...), attributes(n)...), 0
	case fuseGetattr:
		return append(make([]byte, 16), attributes(node)...), 0
	case fuseOpen:
		return make([]byte, 16), 0
	case fuseRelease, fuseFlush:
		return nil, 0
	}
	if node < firstNode {
		return nil, unix.ENOSYS
	}
	s.mu.Lock()
	d := s.disk[node-firstNode]
	s.mu.Unlock()
	switch kind {
	case fuseRead:
		return d.read(int64(e.Uint64(in[8:])), int(e.Uint32(in[16:]))), 0
	case fuseWrite:
		size := e.Uint32(in[16:])
		return e.AppendUint64(nil, uint64(size)), d.write(int64(e.Uint64(in[8:])), in[40:][:size])
	case fuseFsync:
		d.flush()
		return nil, 0
	}
	return nil, unix.ENOSYS
}

// attributes returns the attributes of a node, a struct fuse_attr.
func attributes(node uint64) []byte {
	mode := uint32(unix.S_IFREG | 0o600)
	size := uint64(diskSize)
	if node < firstNode {
		mode, size = unix.S_IFDIR|0o700, 0
	}
	e := endian.NativeEndian
	out := e.AppendUint64(e.AppendUint64(nil, node), size)
	out = append(out, make([]byte, 44)...)
	out = e.AppendUint32(e.AppendUint32(out, mode), 1)
	return append(out, make([]byte, 20)...)
}
