package node

import (
	"io"
	"net"
)

// forward passes the connections that the listener accepts on to what dial reaches, until the listener is closed.
func forward(listener net.Listener, dial func() (net.Conn, error)) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			server, err := dial()
			if err != nil {
				client.Close()
				return
			}
			relay(client, server)
		}()
	}
}

// relay passes on what either end sends until both have ended, and closes both.
func relay(a, b net.Conn) {
	defer a.Close()
	defer b.Close()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		pass(a, b)
	}()
	pass(b, a)
	<-answered
}

// pass copies what one end sends to the other, its end included.
func pass(to, from net.Conn) {
	if _, err := io.Copy(to, from); err != nil {
		// An end that is broken sends no more, and takes no more.
		to.Close()
		from.Close()
		return
	}
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // an end that is gone has nothing to wait for
	}
}
