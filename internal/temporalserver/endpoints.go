package temporalserver

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"syscall"

	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/temporal"
)

// loopback is where the services of a server talk to one another.
const loopback = "127.0.0.1"

// endpoint is where a service listens. The zero value is nowhere.
type endpoint struct {
	ip   string
	port int
}

// String is host:port as it is listened on; it brackets IPv6.
func (e endpoint) String() string { return net.JoinHostPort(e.ip, strconv.Itoa(e.port)) }

// dialled is host:port at which this process reaches it.
func (e endpoint) dialled() string {
	if net.ParseIP(e.ip).IsUnspecified() {
		return net.JoinHostPort(loopback, strconv.Itoa(e.port))
	}
	return e.String()
}

// endpoints are those of one running server. The Temporal services talk to one another over the last ones.
type endpoints struct {
	frontend, ui, metrics       endpoint
	history, matching, internal endpoint
	// own is the frontend of the services themselves, behind a Door.
	own endpoint
}

// inside is the frontend without a door.
func (e endpoints) inside() endpoint {
	if e.own.port != 0 {
		return e.own
	}
	return e.frontend
}

// services are the names of those that run.
func (e endpoints) services() []string {
	if e.own.port == 0 {
		return temporal.DefaultServices
	}
	return append([]string{string(primitives.InternalFrontendService)}, temporal.DefaultServices...)
}

// parseEndpoint reads host:port as Options have it. everywhere is the IP address that stands for an empty host.
func parseEndpoint(text, everywhere string) (endpoint, error) {
	host, service, err := net.SplitHostPort(text)
	if err != nil {
		return endpoint{}, fmt.Errorf("%q is not host:port", text)
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return endpoint{}, fmt.Errorf("the port of %q is not between 0 and 65535", text)
	}
	switch host {
	case "":
		host = everywhere
	case "localhost":
		host = loopback
	}
	_, err = netip.ParseAddr(host)
	if err != nil {
		return endpoint{}, fmt.Errorf("the host of %q is no IP address", text)
	}
	return endpoint{host, int(port)}, nil
}

// everyAddress is the IP address that stands for all of the machine's: IPv6's, which takes IPv4 too, unless the machine has none.
func everyAddress() string {
	listener, err := net.Listen("tcp", "[::]:0")
	if err != nil {
		return "0.0.0.0"
	}
	_ = listener.Close()
	return "::"
}

// chooseEndpoints checks that the endpoints asked for are free and finds free ports for the rest. The server ends the whole
// process when it cannot listen, so this is where a taken port is reported. All listeners are held until every port is
// known, so that no port is given out twice.
func chooseEndpoints(o Options) (endpoints, error) {
	var chosen endpoints
	var held []net.Listener
	defer func() {
		for _, listener := range held {
			_ = listener.Close()
		}
	}()
	inner := func(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }
	var own string
	if o.Door != nil {
		own = inner(o.InnerPorts.Frontend)
	}
	everywhere := everyAddress()
	for _, want := range []struct {
		name, address string
		result        *endpoint
	}{
		{"frontend", o.Address, &chosen.frontend},
		{"UI", o.UIAddress, &chosen.ui},
		{"metrics", o.MetricsAddress, &chosen.metrics},
		{"history", inner(o.InnerPorts.History), &chosen.history},
		{"matching", inner(o.InnerPorts.Matching), &chosen.matching},
		{"internal worker", inner(o.InnerPorts.Internal), &chosen.internal},
		{"internal frontend", own, &chosen.own},
	} {
		if want.address == "" {
			continue
		}
		parsed, err := parseEndpoint(want.address, everywhere)
		if err != nil {
			return endpoints{}, fmt.Errorf("%s address: %w", want.name, err)
		}
		listener, err := net.Listen("tcp", parsed.String())
		if err != nil {
			return endpoints{}, listenError(want.name, parsed.String(), err)
		}
		held = append(held, listener)
		parsed.port = listener.Addr().(*net.TCPAddr).Port
		*want.result = parsed
	}
	return chosen, nil
}

func listenError(name, address string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s address %s is taken: another Temporal server or program listens there; stop it or choose another port: %w", name, address, err)
	}
	return fmt.Errorf("listen on %s address %s: %w", name, address, err)
}

func isIPv6(ip string) bool {
	parsed := net.ParseIP(ip)
	return parsed != nil && parsed.To4() == nil
}
