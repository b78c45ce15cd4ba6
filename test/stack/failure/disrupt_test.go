package failure

import (
	"context"
	"slices"
	"testing"
	"time"

	"ostinato.dev/ostinato/dev/devstack/process"
	"ostinato.dev/ostinato/dev/harness"
)

// wholeAgain bounds the start of whatever a test has left stopped.
const wholeAgain = 2 * time.Minute

// disrupts makes sure that a test which breaks the stack leaves it whole for the
// next, even when it fails half way.
func disrupts(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), wholeAgain)
		defer cancel()
		if err := stack.Stack.ControlPlane.StartAPIServer(ctx); err != nil {
			t.Error(err)
		}
		running := func(name string) bool {
			return slices.ContainsFunc(stack.Stack.Processes(), func(p *process.Process) bool { return p.Name() == name })
		}
		if !running("temporal") {
			if err := stack.Stack.StartTemporal(ctx); err != nil {
				t.Error(err)
			}
		}
		if len(stack.Workers()) == 0 {
			if err := stack.Stack.StartWorker(ctx); err != nil {
				t.Error(err)
			}
		}
		if err := restartBridge(ctx); err != nil {
			t.Error(err)
		}
	})
}

// restartBridge does what the kubelet does when the bridge ended, which it does
// by itself when it could not renew its lease.
func restartBridge(ctx context.Context) error {
	for n, bridge := range stack.Bridges() {
		select {
		case <-bridge.Done():
			if err := stack.Stack.KillBridge(n); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return stack.Stack.StartBridge(ctx)
}

func killWorker(t *testing.T, n int) {
	t.Helper()
	if err := stack.Stack.KillWorker(n); err != nil {
		t.Fatal(err)
	}
}

func startWorker(t *testing.T) {
	t.Helper()
	if err := stack.Stack.StartWorker(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func killBridge(t *testing.T) {
	t.Helper()
	if err := stack.Stack.KillBridge(0); err != nil {
		t.Fatal(err)
	}
}

func startBridge(t *testing.T) {
	t.Helper()
	if err := stack.Stack.StartBridge(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func killTemporal(t *testing.T) {
	t.Helper()
	if err := stack.Stack.KillTemporal(); err != nil {
		t.Fatal(err)
	}
}

func startTemporal(t *testing.T) {
	t.Helper()
	if err := stack.Stack.StartTemporal(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// survivors fails the test when one of the processes did not live through an outage.
func survivors(t *testing.T, processes []*process.Process) {
	t.Helper()
	for _, member := range processes {
		select {
		case <-member.Done():
			t.Errorf("%s did not survive: %v", member.Name(), member.Err())
		default:
		}
	}
}

// until waits for a point in time.
func until(t *testing.T, at time.Time) {
	t.Helper()
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
		t.Fatal("the test was stopped")
	}
}

// minuteAfter returns the next full minute that is at least so far away.
func minuteAfter(least time.Duration) time.Time {
	return time.Now().Add(least).Truncate(time.Minute).Add(time.Minute)
}

// asSoonAs waits for a condition that is looked at every millisecond, to act in
// the very middle of what made it true.
func asSoonAs(t *testing.T, what string, condition func() bool) {
	t.Helper()
	if !harness.AsSoonAs(t, harness.Recovery, condition) {
		t.Fatalf("%s: not within %s", what, harness.Recovery)
	}
}
