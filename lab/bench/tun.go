package main

import (
	"fmt"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"
)

// openTUN creates a TUN device in the network namespace of the calling thread, gives it addr and brings it up. Each
// read from the file returns a packet that the kernel sends; each write is a packet that it receives.
func openTUN(name string, addr netip.Prefix) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("/dev/net/tun: %w (the link is made of TUN devices)", err)
	}
	if err := attach(fd, name); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("TUN device %s: %w", name, err)
	}
	if err := configure(name, addr); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("TUN device %s: %w", name, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

func attach(fd int, name string) error {
	r, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	r.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, r); err != nil {
		return err
	}
	// Not earlier: a TUN file that is not attached yet always polls as broken.
	return unix.SetNonblock(fd, true)
}

// configure gives the interface addr with its mask and brings it up.
func configure(name string, addr netip.Prefix) error {
	mask := netip.AddrFrom4([4]byte{255, 255, 255, 255})
	mask = netip.PrefixFrom(mask, addr.Bits()).Masked().Addr()
	if err := setAddress(name, unix.SIOCSIFADDR, addr.Addr()); err != nil {
		return err
	}
	if err := setAddress(name, unix.SIOCSIFNETMASK, mask); err != nil {
		return err
	}
	return bringUp(name)
}

func setAddress(name string, request uint, addr netip.Addr) error {
	return interfaceRequest(name, request, func(r *unix.Ifreq) error {
		ip := addr.As4()
		return r.SetInet4Addr(ip[:])
	})
}

func bringUp(name string) error {
	return interfaceRequest(name, unix.SIOCSIFFLAGS, func(r *unix.Ifreq) error {
		r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
		return nil
	})
}

// interfaceRequest sends one ioctl about the interface, filled in by fill.
func interfaceRequest(name string, request uint, fill func(*unix.Ifreq) error) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	r, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	if err := fill(r); err != nil {
		return err
	}
	return unix.IoctlIfreq(fd, request, r)
}
