package telemetry

import (
	"net"
	"sync"
)

const (
	// connectionsEach and connectionsAll bound the open connections of one address and of all.
	// A scraper or a kubelet has a few.
	connectionsEach, connectionsAll = 20, 500
)

// boundedListener closes the connections that are beyond its bounds, as soon as they are
// made: an address that has many keeps no other from its own.
type boundedListener struct {
	net.Listener
	mutex sync.Mutex
	open  map[string]int
	all   int
}

func newBoundedListener(listener net.Listener) *boundedListener {
	return &boundedListener{Listener: listener, open: map[string]int{}}
}

// Accept implements net.Listener.
func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		connection, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		host := hostOf(connection.RemoteAddr().String())
		if l.enter(host) {
			return &boundedConnection{Conn: connection, leave: func() { l.leave(host) }}, nil
		}
		connection.Close()
	}
}

func (l *boundedListener) enter(host string) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.all >= connectionsAll || l.open[host] >= connectionsEach {
		return false
	}
	l.all++
	l.open[host]++
	return true
}

func (l *boundedListener) leave(host string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.all--
	if l.open[host]--; l.open[host] == 0 {
		delete(l.open, host)
	}
}

// boundedConnection leaves when it is closed, once.
type boundedConnection struct {
	net.Conn
	once  sync.Once
	leave func()
}

// Close implements net.Conn.
func (c *boundedConnection) Close() error {
	c.once.Do(c.leave)
	return c.Conn.Close()
}

// hostOf returns the address without its port.
func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}
