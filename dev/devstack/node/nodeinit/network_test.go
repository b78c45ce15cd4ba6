//go:build linux

package main

import (
	"net"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

func TestTheNodesNetwork(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root makes a network name space")
	}
	// The thread is not unlocked: it ends with the test, and the name space with it.
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Skipf("a network name space is refused: %v", err)
	}
	if err := setUpNetwork("10.97.0.1/15"); err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"127.0.0.1:0", "10.97.0.1:0", "10.96.0.10:0"} {
		listener, err := net.Listen("tcp4", address)
		if err != nil {
			t.Errorf("%s is not the node's: %v", address, err)
			continue
		}
		connection, err := net.Dial("tcp4", listener.Addr().String())
		if err != nil {
			t.Errorf("%s cannot be reached: %v", address, err)
		} else {
			connection.Close()
		}
		listener.Close()
	}
	for _, address := range []string{"10.98.0.1:0", "10.128.0.1:0"} {
		if listener, err := net.Listen("tcp4", address); err == nil {
			listener.Close()
			t.Errorf("%s is the node's, and is not to be", address)
		}
	}
	if err := setUpNetwork("10.97.0.1"); err == nil {
		t.Error("an address without a prefix was taken")
	}
}
