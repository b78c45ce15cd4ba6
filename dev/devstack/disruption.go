package devstack

import (
	"context"
	"fmt"
	"slices"

	"ostinato.dev/ostinato/dev/devstack/process"
)

// KillWorker kills (SIGKILL) the worker that was started n-th, from 0. It is
// not started again: call StartWorker.
func (s *Stack) KillWorker(n int) error {
	return kill(&s.workers, n)
}

// KillBridge kills (SIGKILL) the bridge that was started n-th.
func (s *Stack) KillBridge(n int) error {
	return kill(&s.bridges, n)
}

// KillTemporal kills (SIGKILL) the Temporal server. StartTemporal starts it
// again on its data, at the same address.
func (s *Stack) KillTemporal() error {
	return s.temporal.Kill()
}

// RestartWorker stops the n-th worker as an operator would (SIGTERM, drain) and
// starts another.
func (s *Stack) RestartWorker(ctx context.Context, n int) error {
	if n >= len(s.workers) {
		return fmt.Errorf("no worker %d runs", n)
	}
	worker := s.workers[n]
	s.workers = slices.Delete(s.workers, n, n+1)
	if err := worker.Stop(stopGrace); err != nil {
		return err
	}
	return s.StartWorker(ctx)
}

func kill(group *[]*process.Process, n int) error {
	if n >= len(*group) {
		return fmt.Errorf("no process %d of %d runs", n, len(*group))
	}
	victim := (*group)[n]
	*group = slices.Delete(*group, n, n+1)
	return victim.Kill()
}
