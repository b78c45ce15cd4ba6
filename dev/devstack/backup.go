package devstack

import (
	"context"
	"errors"

	"ostinato.dev/ostinato/dev/devstack/process"
)

// BackUpTemporal keeps the data of the embedded Temporal server in a folder, as RestoreTemporal takes it. The server is killed
// for that and started again, which takes seconds.
func (s *Stack) BackUpTemporal(ctx context.Context, folder string) error {
	return s.WithoutTemporal(ctx, func(data string) error { return process.ReplaceFolder(folder, data) })
}

// RestoreTemporal puts back what BackUpTemporal kept. Workers and bridges go on, as they would beside a server that
// another person restores.
func (s *Stack) RestoreTemporal(ctx context.Context, folder string) error {
	return s.WithoutTemporal(ctx, func(data string) error { return process.ReplaceFolder(data, folder) })
}

// WithoutTemporal kills the embedded Temporal server, does something with the folder of its data, and starts it again whatever
// came of that.
func (s *Stack) WithoutTemporal(ctx context.Context, do func(data string) error) error {
	embedded, ok := s.temporal.(*embeddedTemporal)
	if !ok || s.options.TemporalInMemory {
		return errors.New("only the embedded Temporal server on files has a folder to keep")
	}
	if err := embedded.Kill(); err != nil {
		return err
	}
	return errors.Join(do(embedded.dataFolder()), embedded.Start(ctx))
}

// RestoreEtcd puts back what BackUpEtcd of the control plane kept. It kills every process with a cache of the API server
// before, and starts as many after: the caches know later revisions, and would ignore the events of the new ones.
func (s *Stack) RestoreEtcd(ctx context.Context, folder string) error {
	if s.ControlPlane == nil || s.node == nil {
		return errors.New("only the stack's own etcd and node can be put back")
	}
	workers, bridges := len(s.workers), len(s.bridges)
	for len(s.workers) > 0 {
		if err := s.KillWorker(0); err != nil {
			return err
		}
	}
	for len(s.bridges) > 0 {
		if err := s.KillBridge(0); err != nil {
			return err
		}
	}
	if err := s.node.Stop(); err != nil {
		return err
	}
	s.node = nil
	if err := s.ControlPlane.RestoreEtcd(ctx, folder); err != nil {
		return err
	}
	if err := s.startNode(ctx); err != nil {
		return err
	}
	for range workers {
		if err := s.StartWorker(ctx); err != nil {
			return err
		}
	}
	for range bridges {
		if err := s.StartBridge(ctx); err != nil {
			return err
		}
	}
	return nil
}
