//go:build linux

package main

import (
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// setUpNetwork gives the loopback interface, the only one of a new network name space, the node's address. As 127.0.0.1/8
// makes all of 127 addresses of the machine, the prefix makes its addresses the node's: what no Service answers there is
// refused at once, and the node's own processes have a route to Services.
func setUpNetwork(address string) error {
	prefix, err := netip.ParsePrefix(address)
	if err != nil {
		return fmt.Errorf("the node's network: %w", err)
	}
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("the node's network: %w", err)
	}
	defer unix.Close(socket)
	loopback, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("the node's network: %w", err)
	}
	loopback.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, loopback); err != nil {
		return fmt.Errorf("set the loopback interface up: %w", err)
	}
	second, err := unix.NewIfreq("lo:0")
	if err != nil {
		return fmt.Errorf("the node's network: %w", err)
	}
	for _, set := range []struct {
		request uint
		value   []byte
	}{
		{unix.SIOCSIFADDR, prefix.Addr().AsSlice()},
		{unix.SIOCSIFNETMASK, net.CIDRMask(prefix.Bits(), prefix.Addr().BitLen())},
	} {
		if err := second.SetInet4Addr(set.value); err != nil {
			return fmt.Errorf("give the node the address %s: %w", prefix, err)
		}
		if err := unix.IoctlIfreq(socket, set.request, second); err != nil {
			return fmt.Errorf("give the node the address %s: %w", prefix, err)
		}
	}
	return nil
}
