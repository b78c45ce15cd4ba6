package telemetry

import (
	"net"
	"slices"
	"sync"
)

// connectionsEach and connectionsAll bound the open connections of one address and of all. A scraper or a kubelet has a few.
const connectionsEach, connectionsAll = 20, 500

// boundedListener bounds the connections that are open at a time. It closes a new one of an address that has its share. Beyond
// the bound of all it closes one of the address that has most, so that no number of others shuts out who has one.
type boundedListener struct {
	net.Listener
	mutex sync.Mutex
	open  map[string][]*boundedConnection // by address, the oldest first
	all   int
}

// Accept implements net.Listener.
func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		connection, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		entered := &boundedConnection{Conn: connection, host: hostOf(connection.RemoteAddr().String()), listener: l}
		excess := l.enter(entered)
		if excess != nil {
			excess.Close()
		}
		if excess != entered {
			return entered, nil
		}
	}
}

// enter takes a connection in and returns the connection to close instead: itself where
// its address has its share, none where there is room.
func (l *boundedListener) enter(entered *boundedConnection) (excess *boundedConnection) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.open[entered.host] = append(l.open[entered.host], entered)
	l.all++
	if len(l.open[entered.host]) > connectionsEach {
		return entered
	}
	if l.all <= connectionsAll {
		return nil
	}
	greedy := entered.host
	for host, connections := range l.open {
		if len(connections) > len(l.open[greedy]) {
			greedy = host
		}
	}
	// The newest of the address that has most: a connection that enters does not close older ones of its own address.
	return l.open[greedy][len(l.open[greedy])-1]
}

func (l *boundedListener) leave(left *boundedConnection) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	rest := l.open[left.host]
	if i := slices.Index(rest, left); i >= 0 {
		l.open[left.host] = slices.Delete(rest, i, i+1)
		l.all--
	}
	if len(l.open[left.host]) == 0 {
		delete(l.open, left.host)
	}
}

type boundedConnection struct {
	net.Conn
	host     string
	listener *boundedListener
}

// Close implements net.Conn.
func (c *boundedConnection) Close() error {
	c.listener.leave(c)
	return c.Conn.Close()
}

func hostOf(address string) string {
	host, _, _ := net.SplitHostPort(address) // Connections of TCP have both.
	return host
}
