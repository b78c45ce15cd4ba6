package temporalcluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"time"

	"ostinato.dev/ostinato/dev/devstack/process"
	"ostinato.dev/ostinato/dev/devstack/temporalcluster/spec"
)

const (
	// setUpPatience bounds the making of databases and tables, hostPatience the start of a host.
	setUpPatience, hostPatience = time.Minute, time.Minute
	// hostGrace is how long a host may take to hand its work over.
	hostGrace = 10 * time.Second
)

// Host names one of the cluster's processes: the n-th of its role, from 0.
type Host struct {
	Role spec.Role
	N    int
}

// Name is what logs and messages call the host.
func (h Host) Name() string { return fmt.Sprintf("temporal-%s-%d", h.Role, h.N+1) }

// shape is every host, in the order of their start. The first one is alone until it serves: several that begin on empty
// databases would race to write what the cluster is, and the losers would end.
var shape = []Host{
	{spec.History, 0}, {spec.History, 1}, {spec.Matching, 0}, {spec.Matching, 1}, {spec.Frontend, 0}, {spec.Internal, 0},
}

// HostNames returns the names of all hosts.
func HostNames() []string {
	var names []string
	for _, h := range shape {
		names = append(names, h.Name())
	}
	return names
}

// hosts returns those that this cluster has.
func (c *Cluster) hosts() []Host {
	if c.options.UIPort == 0 {
		return shape
	}
	return append(append([]Host(nil), shape...), Host{Role: spec.UI})
}

func (c *Cluster) arguments(h Host) []string {
	return []string{"--cluster=" + c.file(), "--role=" + string(h.Role), "--ip=" + spec.IP(h.N)}
}

func (c *Cluster) file() string { return filepath.Join(c.options.Dir, "cluster.json") }

// setUp makes databases, tables and the namespace.
func (c *Cluster) setUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, setUpPatience)
	defer cancel()
	h := Host{Role: spec.Setup}
	started, err := c.spawn(ctx, h)
	if err != nil {
		return err
	}
	select {
	case <-started.Done():
		return started.Err()
	case <-ctx.Done():
		return errors.Join(started.Failure(fmt.Errorf("set up Temporal's databases: %w", ctx.Err())), started.Kill())
	}
}

func (c *Cluster) spawn(ctx context.Context, h Host) (*process.Process, error) {
	return process.Start(ctx, process.Spec{
		Name: h.Name(), Path: c.options.Program, Args: c.arguments(h), LogFile: c.options.LogFile(h.Name()),
		Env: hostEnvironment,
	})
}

// hostEnvironment makes the server collect garbage less often, as the development server does.
var hostEnvironment = []string{"GOGC=400", "GOMEMLIMIT=1GiB"}

// startHosts starts all hosts and waits until each takes connections.
func (c *Cluster) startHosts(ctx context.Context) error {
	hosts := c.hosts()
	if err := c.StartHost(ctx, hosts[0]); err != nil {
		return err
	}
	for _, h := range hosts[1:] {
		if err := c.begin(ctx, h); err != nil {
			return err
		}
	}
	for _, h := range hosts[1:] {
		if err := c.await(ctx, h); err != nil {
			return err
		}
	}
	return nil
}

// StartHost starts a host, after KillHost for instance, and waits until it takes connections.
func (c *Cluster) StartHost(ctx context.Context, h Host) error {
	if err := c.begin(ctx, h); err != nil {
		return err
	}
	return c.await(ctx, h)
}

func (c *Cluster) begin(ctx context.Context, h Host) error {
	started, err := c.spawn(ctx, h)
	if err == nil {
		c.running = append(c.running, member{host: h, process: started})
	}
	return err
}

// await waits until a host takes connections. What it answers is for the frontend to tell.
func (c *Cluster) await(ctx context.Context, h Host) error {
	ctx, cancel := context.WithTimeout(ctx, hostPatience)
	defer cancel()
	address := c.cluster.Address(h.Role, h.N)
	if h.Role == spec.UI {
		address = net.JoinHostPort(spec.FirstIP, fmt.Sprint(c.options.UIPort))
	}
	at := c.find(h)
	if at < 0 {
		return fmt.Errorf("%s does not run", h.Name())
	}
	return c.running[at].process.WaitReady(ctx, func(ctx context.Context) error {
		var dialer net.Dialer
		connection, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return connection.Close()
	})
}

// choosePorts takes free ports for every role; the frontend's own is the caller's choice.
func choosePorts(frontend int) (map[spec.Role]spec.Port, error) {
	ports := map[spec.Role]spec.Port{}
	for _, role := range []spec.Role{spec.Frontend, spec.History, spec.Matching, spec.Internal} {
		grpc, err := freePort()
		if err != nil {
			return nil, err
		}
		membership, err := freePort()
		if err != nil {
			return nil, err
		}
		ports[role] = spec.Port{GRPC: grpc, Membership: membership}
	}
	ports[spec.Frontend] = spec.Port{GRPC: frontend, Membership: ports[spec.Frontend].Membership}
	return ports, nil
}

// freePort returns a port that is free on the addresses of all hosts of a role.
func freePort() (int, error) {
	for range 100 {
		port, err := process.FreePort()
		if err != nil {
			return 0, err
		}
		listener, err := net.Listen("tcp4", net.JoinHostPort(spec.IP(1), fmt.Sprint(port)))
		if err != nil {
			if strings.Contains(err.Error(), "cannot assign requested address") {
				return 0, fmt.Errorf("a Temporal cluster needs a second loopback address: %w", err)
			}
			continue
		}
		return port, listener.Close()
	}
	return 0, errors.New("find a free port for a Temporal cluster: none of a hundred was free")
}
