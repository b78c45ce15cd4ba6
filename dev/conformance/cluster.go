package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"ostinato.dev/ostinato/dev/devstack"
	"ostinato.dev/ostinato/dev/devstack/controlplane"
	"ostinato.dev/ostinato/dev/devstack/node"
	"ostinato.dev/ostinato/dev/devstack/toolchain"
)

// takeOverFlag makes worker and bridge reconcile native CronJobs, and Jobs that name no controller.
const takeOverFlag = "--takeover=cronjobs,jobs"

// programs are the executables of a run.
type programs struct {
	tools   toolchain.Binaries
	busyBox string
	images  images
}

// prepare builds and fetches what is missing, which can take minutes, before anything runs.
func prepare(ctx context.Context, controller Controller, log io.Writer) (programs, error) {
	var p programs
	var err error
	names := slices.Concat(toolchain.ControlPlane, toolchain.RealNode, toolchain.Conformance)
	if controller == Ostinato {
		names = append(names, toolchain.Clients...)
	}
	if p.tools, err = toolchain.Ensure(ctx, log, names...); err != nil {
		return programs{}, err
	}
	if p.busyBox, err = toolchain.BusyBox(ctx, log); err != nil {
		return programs{}, err
	}
	if controller == Ostinato {
		if _, err := devstack.BuildPrograms(ctx, log); err != nil {
			return programs{}, err
		}
	}
	p.images, err = suiteImages(ctx, p.tools["e2e.test"])
	return p, err
}

// cluster is a control plane with a real node, and Ostinato where it is judged.
type cluster struct {
	plane *controlplane.ControlPlane
	node  *node.Real
	// ostinato is nil where the built-in controllers are judged.
	ostinato *devstack.Stack
}

// startCluster starts everything in the folder. What it started is stopped again when it fails.
func startCluster(ctx context.Context, dir string, controller Controller, p programs, log io.Writer) (*cluster, error) {
	c := &cluster{}
	if err := c.start(ctx, dir, controller, p, log); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx) // what was cut short has nothing else to say
		}
		return nil, errors.Join(err, c.stop())
	}
	return c, nil
}

func (c *cluster) start(ctx context.Context, dir string, controller Controller, p programs, log io.Writer) error {
	var err error
	c.plane, err = controlplane.Start(ctx, controlplane.Options{
		Dir: filepath.Join(dir, "kubernetes"), Binaries: p.tools, Scheduler: true, Log: log,
		ControllerManager: controllerManager(controller),
	})
	if err != nil {
		return err
	}
	c.node, err = node.StartReal(ctx, node.RealOptions{
		Dir: filepath.Join(dir, "node"), Binaries: p.tools, ControlPlane: c.plane, Log: log,
		PauseTags: p.images.pause, BusyBox: node.BusyBox{Path: p.busyBox, Tags: p.images.busyBox},
	})
	if err != nil || controller == Builtin {
		return err
	}
	c.ostinato, err = devstack.Start(ctx, devstack.Options{
		Dir: filepath.Join(dir, "ostinato"), Kubeconfig: c.plane.KubeconfigPath(), NoUI: true, Log: log,
		WorkerArgs: []string{takeOverFlag}, BridgeArgs: []string{takeOverFlag},
	})
	return err
}

// controllerManager says which of its controllers kube-controller-manager runs, at its own default limits.
func controllerManager(controller Controller) controlplane.ControllerManagerOptions {
	o := controlplane.ControllerManagerOptions{Enabled: true}
	if controller == Ostinato {
		o.Controllers = controlplane.TakeOver
	}
	return o
}

// stop stops everything that was started, in reverse order.
func (c *cluster) stop() error {
	var failures []error
	if c.ostinato != nil {
		failures = append(failures, c.ostinato.Stop())
	}
	if c.node != nil {
		failures = append(failures, c.node.Stop())
	}
	if c.plane != nil {
		failures = append(failures, c.plane.Stop())
	}
	return errors.Join(failures...)
}

// alive returns an error when a process ended by itself.
func (c *cluster) alive() error {
	all := slices.Concat(c.plane.Processes(), c.node.Processes())
	if c.ostinato != nil {
		all = append(all, c.ostinato.Processes()...)
	}
	for _, member := range all {
		select {
		case <-member.Done():
			return member.Failure(fmt.Errorf("%s (pid %d) ended in the middle of the suite", member.Name(), member.PID()))
		default:
		}
	}
	return nil
}
