package node

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// answering answers every connection with the text.
func answering(listener net.Listener, text string) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		_, _ = io.WriteString(connection, text)
		connection.Close()
	}
}

// read returns what a connection brings.
func read(t *testing.T, connection net.Conn, err error) string {
	t.Helper()
	if err != nil {
		t.Error(err)
		return ""
	}
	defer connection.Close()
	text, err := io.ReadAll(connection)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

// processInNetwork returns the PID of a process in a network of its own.
func processInNetwork(t *testing.T) int {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root makes a network name space")
	}
	node := exec.Command("sleep", "60")
	node.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if err := node.Start(); err != nil {
		t.Skipf("a network name space is refused: %v", err)
	}
	t.Cleanup(func() {
		_ = node.Process.Kill()
		_ = node.Wait()
	})
	return node.Process.Pid
}

func TestDoorsJoinTheNetworksOfHostAndNode(t *testing.T) {
	node := processInNetwork(t)
	apiServer := listen(t)
	go answering(apiServer, "API server")
	d, err := newDoors()
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	if err := d.open(node, &url.URL{Scheme: "https", Host: apiServer.Addr().String()}); err != nil {
		t.Fatal(err)
	}
	if err := d.enter(func() { err = loopbackUp() }); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	kubelet, err := d.listen(d.kubelet.Addr().String())
	if err != nil {
		t.Fatalf("the kubelet's port is not free inside: %v", err)
	}
	go answering(kubelet, "kubelet")

	connection, err := d.dial(apiServer.Addr().String())
	if got := read(t, connection, err); got != "API server" {
		t.Errorf("at the API server's address inside is %q", got)
	}
	connection, err = net.Dial("tcp4", d.kubelet.Addr().String())
	if got := read(t, connection, err); got != "kubelet" {
		t.Errorf("at the kubelet's address on the host is %q", got)
	}
	connection, err = d.dial(pullAddress)
	if err != nil {
		t.Errorf("no way to registries is inside: %v", err)
	} else {
		connection.Close()
	}
	listener, err := net.Listen("tcp4", pullAddress)
	if err != nil {
		t.Errorf("the way to registries is on the host too: %v", err)
	} else {
		listener.Close()
	}
	d.close()
	if connection, err := net.Dial("tcp4", d.kubelet.Addr().String()); err == nil {
		connection.Close()
		t.Error("the kubelet's door is open after the end")
	}
}

func loopbackUp() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	loopback, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	loopback.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, loopback)
}

// Go may run a goroutine on the main thread, which it never ends.
func TestThreadsReturnFromTheNodesNetwork(t *testing.T) {
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	namespace, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", processInNetwork(t)))
	if err != nil {
		t.Fatal(err)
	}
	defer namespace.Close()
	d := &doors{namespace: namespace}
	var all sync.WaitGroup
	for range 500 {
		all.Go(func() {
			if err := d.enter(func() { time.Sleep(20 * time.Millisecond) }); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if network, err := os.Readlink("/proc/self/ns/net"); err != nil || network != own {
		t.Errorf("the program is in %s (%v), want %s", network, err, own)
	}
}
