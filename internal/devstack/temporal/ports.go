package temporal

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"

	"ostinato.dev/ostinato/internal/devstack/process"
)

// ports are the TCP ports of one running server. The Temporal services talk to one another over the last three.
type ports struct {
	frontend, ui, metrics       int
	history, matching, internal int
}

// address joins the IP and port as dialled and shown; it brackets IPv6.
func address(ip string, port int) string { return net.JoinHostPort(ip, strconv.Itoa(port)) }

// choosePorts checks that the ports asked for are free and finds free ones for the rest. The server ends the whole
// process when it cannot listen, so this is where a taken port is reported. All listeners are held until every port is
// known, so that no port is given out twice.
func choosePorts(o Options) (ports, error) {
	var chosen ports
	var held []net.Listener
	defer func() {
		for _, listener := range held {
			_ = listener.Close()
		}
	}()
	for _, want := range []struct {
		name     string
		number   int
		optional bool
		result   *int
	}{
		{"frontend", o.FrontendPort, false, &chosen.frontend},
		{"UI", o.UIPort, true, &chosen.ui},
		{"metrics", o.MetricsPort, true, &chosen.metrics},
		{"history", 0, false, &chosen.history},
		{"matching", 0, false, &chosen.matching},
		{"internal worker", 0, false, &chosen.internal},
	} {
		if want.number == 0 && want.optional {
			continue
		}
		number := want.number
		if number == 0 {
			var err error
			if number, err = process.FreePort(); err != nil {
				return ports{}, fmt.Errorf("choose the %s port: %w", want.name, err)
			}
		}
		listener, err := net.Listen("tcp", address(o.IP, number))
		if err != nil {
			return ports{}, listenError(want.name, address(o.IP, number), err)
		}
		held = append(held, listener)
		*want.result = number
	}
	return chosen, nil
}

func listenError(name, addr string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s address %s is taken: another Temporal server or program listens there; stop it or choose another port: %w", name, addr, err)
	}
	return fmt.Errorf("listen on %s address %s: %w", name, addr, err)
}

func isIPv6(ip string) bool {
	parsed := net.ParseIP(ip)
	return parsed != nil && parsed.To4() == nil
}
