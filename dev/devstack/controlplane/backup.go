package controlplane

import (
	"context"
	"errors"

	"ostinato.dev/ostinato/dev/devstack/process"
)

// BackUpEtcd keeps etcd's data in a folder, as RestoreEtcd takes it. etcd is killed for that and started again, which takes
// seconds; everything else goes on.
func (c *ControlPlane) BackUpEtcd(ctx context.Context, folder string) error {
	return c.withoutEtcd(ctx, func() error { return process.ReplaceFolder(folder, c.layout.etcd()) })
}

// RestoreEtcd puts back what BackUpEtcd kept, as Kubernetes wants it done: with the API server stopped, and all others that
// have a cache of it started anew, here the controller manager and the scheduler. What else has one is the caller's to start
// anew.
func (c *ControlPlane) RestoreEtcd(ctx context.Context, folder string) error {
	c.mutex.Lock()
	err := errors.Join(stop(&c.controllerManager), stop(&c.scheduler), stop(&c.apiServer))
	c.mutex.Unlock()
	if err != nil {
		return err
	}
	if err := c.withoutEtcd(ctx, func() error { return process.ReplaceFolder(c.layout.etcd(), folder) }); err != nil {
		return err
	}
	if err := c.StartAPIServer(ctx); err != nil {
		return err
	}
	if c.options.ControllerManager.Enabled {
		if err := c.StartControllerManager(ctx, c.options.ControllerManager); err != nil {
			return err
		}
	}
	if !c.options.Scheduler {
		return nil
	}
	return c.startScheduler(ctx)
}

// withoutEtcd kills etcd, does something and starts etcd again.
func (c *ControlPlane) withoutEtcd(ctx context.Context, do func() error) error {
	c.mutex.Lock()
	etcd := c.etcd
	c.etcd = nil
	c.mutex.Unlock()
	if etcd == nil {
		return errors.New("no etcd runs")
	}
	if err := etcd.Kill(); err != nil {
		return err
	}
	return errors.Join(do(), c.startEtcd(ctx))
}
