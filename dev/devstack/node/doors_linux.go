package node

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// doors are what joins a node's network with the host's, connection by connection: no interface and no route of the host
// leads to the node. They are sockets of this program. With it they are gone, and the node with its network.
type doors struct {
	// kubelet listens on the host, for the API server.
	kubelet net.Listener
	// namespace is the node's network.
	namespace *os.File
	// inside listen there.
	inside []net.Listener
}

// newDoors takes a port of the host for the kubelet, which uses the same inside.
func newDoors() (*doors, error) {
	kubelet, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("take a port for the kubelet: %w", err)
	}
	return &doors{kubelet: kubelet}, nil
}

// kubeletPort is the kubelet's port, on the host's loopback address and on the node's.
func (d *doors) kubeletPort() int { return d.kubelet.Addr().(*net.TCPAddr).Port }

// open opens the doors of the node whose first process has the PID. Inside, the API server is at its own port of every
// address of the node.
func (d *doors) open(pid int, apiServer *url.URL) error {
	var err error
	if d.namespace, err = os.Open(fmt.Sprintf("/proc/%d/ns/net", pid)); err != nil {
		return fmt.Errorf("find the node's network: %w", err)
	}
	if err := d.admit(apiServer.Host); err != nil {
		return err
	}
	pulls, err := d.listen(pullAddress)
	if err != nil {
		return err
	}
	kubelet := net.JoinHostPort("127.0.0.1", strconv.Itoa(d.kubeletPort()))
	go forward(d.kubelet, func() (net.Conn, error) { return d.dial(kubelet) })
	go func() { _ = http.Serve(pulls, pullProxy()) }() // until it is closed
	return nil
}

// admit has the node's network reach a TCP address of the host, at the same port of every address of the node.
func (d *doors) admit(address string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("open the node to %s: %w", address, err)
	}
	listener, err := d.listen(":" + port)
	if err != nil {
		return err
	}
	go forward(listener, func() (net.Conn, error) { return net.Dial("tcp", address) })
	return nil
}

// close closes the doors. Closing twice does nothing.
func (d *doors) close() {
	d.kubelet.Close()
	for _, listener := range d.inside {
		listener.Close()
	}
	if d.namespace != nil {
		d.namespace.Close()
	}
}

// listen listens in the node's network, and nowhere else.
func (d *doors) listen(address string) (listener net.Listener, err error) {
	enterErr := d.enter(func() { listener, err = net.Listen("tcp4", address) })
	if err := errors.Join(enterErr, err); err != nil {
		return nil, fmt.Errorf("listen on %s of the node: %w", address, err)
	}
	d.inside = append(d.inside, listener)
	return listener, nil
}

// dial connects to an address of the node's network.
func (d *doors) dial(address string) (connection net.Conn, err error) {
	enterErr := d.enter(func() { connection, err = net.Dial("tcp4", address) })
	return connection, errors.Join(enterErr, err)
}

// enter calls do on a thread in the node's network. A socket stays in the network in which it was made.
//
// The thread returns to its own network: one that stayed would be ended with its goroutine, but for the main thread, which Go
// keeps, and whose network is what /proc calls the network of the program.
func (d *doors) enter(do func()) error {
	result := make(chan error)
	go func() { result <- d.enterLocked(do) }()
	if err := <-result; err != nil {
		return fmt.Errorf("enter the node's network: %w", err)
	}
	return nil
}

// enterLocked is enter, on a goroutine of its own, which nothing else runs on if its thread can't return.
func (d *doors) enterLocked(do func()) error {
	runtime.LockOSThread()
	own, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return err
	}
	defer own.Close()
	if err := unix.Setns(int(d.namespace.Fd()), unix.CLONE_NEWNET); err != nil {
		return err
	}
	do()
	if err := unix.Setns(int(own.Fd()), unix.CLONE_NEWNET); err != nil {
		return err
	}
	runtime.UnlockOSThread()
	return nil
}
