package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"ostinato.dev/ostinato/dev/devstack"
	"ostinato.dev/ostinato/dev/devstack/controlplane"
	"ostinato.dev/ostinato/dev/devstack/node"
	"ostinato.dev/ostinato/dev/devstack/process"
	"ostinato.dev/ostinato/dev/devstack/toolchain"
	"ostinato.dev/ostinato/internal/k8s"
)

// cluster is the API server and simulated node that every column shares, and what runs of Ostinato.
type cluster struct {
	*k8s.Clients
	dir      string
	log      io.Writer
	binaries toolchain.Binaries
	plane    *controlplane.ControlPlane
	kwok     *node.Kwok
	// ostinato is nil unless its column is measured.
	ostinato *devstack.Stack
	// temporalProfiles is the port of the Temporal server's profiles.
	temporalProfiles int
}

// startCluster starts everything but the controllers to measure.
func startCluster(ctx context.Context, dir string, log io.Writer) (*cluster, error) {
	binaries, err := toolchain.Ensure(ctx, log, append(slices.Concat(toolchain.ControlPlane, toolchain.KwokNode), "kubectl")...)
	if err != nil {
		return nil, err
	}
	c := &cluster{dir: dir, log: log, binaries: binaries}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return c, nil
}

// etcdQuota is room for 100,000 Pods and all that is written of them between two compactions; etcd's own is 2 GiB.
const etcdQuota = 8 << 30

func (c *cluster) start(ctx context.Context) error {
	// etcd inherits the bench's environment, where every flag of it has a twin.
	err := os.Setenv("ETCD_QUOTA_BACKEND_BYTES", strconv.Itoa(etcdQuota))
	if err != nil {
		return fmt.Errorf("give etcd room: %w", err)
	}
	c.plane, err = controlplane.Start(ctx, controlplane.Options{
		Dir: filepath.Join(c.dir, "kubernetes"), Binaries: c.binaries, Log: c.log,
		// The controllers to measure come later; the others are needed for namespaces and service accounts.
		ControllerManager: controlplane.ControllerManagerOptions{Enabled: true, Controllers: controlplane.TakeOver},
	})
	if err != nil {
		return err
	}
	c.kwok, err = node.StartKwok(ctx, node.KwokOptions{
		Dir: filepath.Join(c.dir, "node"), Binary: c.binaries["kwok"], RESTConfig: c.plane.RESTConfig(),
		KubeconfigPath: c.plane.KubeconfigPath(), Log: c.log,
	})
	if err != nil {
		return err
	}
	c.Clients, err = k8s.NewClients(c.plane.RESTConfig())
	return err
}

// use starts the controllers that a trial measures, in place of those before. In scenario idle worker and bridge come later.
func (c *cluster) use(ctx context.Context, t trial, o options) error {
	next := t.column
	if err := c.stopOstinato(); err != nil {
		return err
	}
	if err := c.plane.StartControllerManager(ctx, next.manager); err != nil {
		return err
	}
	if !next.ostinato {
		return nil
	}
	port, err := process.FreePort()
	if err != nil {
		return err
	}
	// The server inherits the bench's environment, where every flag of it has a twin.
	if err := os.Setenv("OSTINATO_PPROF_PORT", strconv.Itoa(port)); err != nil {
		return fmt.Errorf("ask for profiles of Temporal: %w", err)
	}
	c.temporalProfiles = port
	processes := 1
	if t.scenario == scenarioIdle {
		processes = -1
	}
	c.ostinato, err = devstack.Start(ctx, devstack.Options{
		Dir: c.folder(t), Kubeconfig: c.plane.KubeconfigPath(), NoUI: true,
		Temporal: o.temporal, TemporalInMemory: o.inMemory, Workers: processes, Bridges: processes,
		WorkerArgs: append([]string{"--profiling"}, next.arguments...), BridgeArgs: next.arguments, Programs: next.programs, Log: c.log,
	})
	return err
}

// forget stops Ostinato and removes what it kept of a trial that is over.
func (c *cluster) forget(t trial) error {
	if err := c.stopOstinato(); err != nil {
		return err
	}
	if err := os.RemoveAll(c.folder(t)); err != nil {
		return fmt.Errorf("clean up: %w", err)
	}
	return nil
}

// folder is where Ostinato and Temporal keep what is of one trial.
func (c *cluster) folder(t trial) string { return filepath.Join(c.dir, t.namespace()) }

func (c *cluster) stopOstinato() error {
	if c.ostinato == nil {
		return nil
	}
	err := c.ostinato.Stop()
	c.ostinato = nil
	return err
}

// stop stops everything that was started.
func (c *cluster) stop() error {
	failures := []error{c.stopOstinato()}
	if c.kwok != nil {
		failures = append(failures, c.kwok.Stop())
	}
	if c.plane != nil {
		failures = append(failures, c.plane.Stop())
	}
	return errors.Join(failures...)
}

// processes returns those that run now.
func (c *cluster) processes() []*process.Process {
	all := slices.Concat(c.plane.Processes(), c.kwok.Processes())
	if c.ostinato != nil {
		all = append(all, c.ostinato.Processes()...)
	}
	return all
}

// alive returns an error when a process ended by itself.
func (c *cluster) alive() error {
	for _, p := range c.processes() {
		select {
		case <-p.Done():
			return p.Failure(fmt.Errorf("%s (pid %d) ended in the middle of the measurement", p.Name(), p.PID()))
		default:
		}
	}
	return nil
}

// calls returns the Temporal calls of worker and bridge so far, nil in a column without them.
func (c *cluster) calls(ctx context.Context) (counts, error) {
	return c.own(ctx, []string{temporalRequests, temporalLongRequests}, temporalKey)
}

// requests returns the requests of worker and bridge to the API server so far, nil in a column without them.
func (c *cluster) requests(ctx context.Context) (counts, error) {
	return c.own(ctx, []string{clientRequests}, clientKey)
}

func (c *cluster) own(ctx context.Context, names []string, key func(string, map[string]string) string) (counts, error) {
	if c.ostinato == nil {
		return nil, nil
	}
	total := counts{}
	for _, p := range c.ostinato.Processes() {
		kind := numbered.ReplaceAllString(p.Name(), "")
		if kind != "worker" && kind != "bridge" {
			continue
		}
		counted, err := ownCounters(ctx, c.ostinato.MetricsAddress(p.Name()), names, key)
		if err != nil {
			return nil, err
		}
		for key, count := range counted {
			total[kind+" "+key] += count
		}
	}
	return total, nil
}

// quietCores is how many of the machine's cores may be in use where it counts as quiet.
const quietCores = 0.25

// quiet waits until the whole machine is hardly used for three seconds, so that neither the clean-up of one scenario nor
// another program is measured with the next. After the patience it goes on, and says so: the tables show what other
// programs took.
func (c *cluster) quiet(ctx context.Context, patience time.Duration) error {
	deadline := time.Now().Add(patience)
	calm := 0
	before, err := machineBusy()
	if err != nil {
		return err
	}
	for calm < 3 {
		if err := pause(ctx, time.Second); err != nil {
			return fmt.Errorf("wait for a quiet machine: %w", err)
		}
		now, err := machineBusy()
		if err != nil {
			return err
		}
		if used := now - before; used < quietCores {
			calm++
		} else if calm = 0; time.Now().After(deadline) {
			fmt.Fprintf(c.log, "bench: %.1f cores are still in use after %s; going on\n", used, patience)
			return nil
		}
		before = now
	}
	return nil
}

// pause waits for a time or until the context ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
