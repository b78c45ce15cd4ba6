package chaos

import (
	"context"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/dev/devstack/process"
	"ostinato.dev/ostinato/dev/harness"
)

// blow is what is done at a time: down is how long what is killed stays down.
type blow struct {
	at      time.Time
	what    string
	victims []int
	down    time.Duration
}

// planBlows draws what is killed when. In each minute everything is.
func (c *chaos) planBlows() []blow {
	var blows []blow
	for _, minute := range c.times {
		for n, what := range []string{"worker", "bridge", "temporal", "kube-apiserver", "pods", "worker", "pods"} {
			within := 30 * time.Second
			if n > 4 {
				within = time.Minute
			}
			blow := blow{at: minute.Add(time.Duration(c.random.Int64N(int64(within)))), what: what}
			blow.down = time.Duration(c.random.Int64N(int64(3 * time.Second)))
			for range deletions {
				blow.victims = append(blow.victims, c.random.IntN(1<<20))
			}
			blows = append(blows, blow)
		}
	}
	slices.SortFunc(blows, func(a, b blow) int { return a.at.Compare(b.at) })
	return blows
}

// strike kills something and starts it again.
func (c *chaos) strike(t *testing.T, blow blow) {
	t.Helper()
	restartBridge(t)
	c.kills[blow.what]++
	began := time.Now()
	down := func(killed error) {
		t.Helper()
		do(t, killed)
		until(t, began.Add(blow.down))
	}
	switch blow.what {
	case "worker":
		down(stack.Stack.KillWorker(blow.victims[0] % workers))
		do(t, stack.Stack.StartWorker(t.Context()))
	case "bridge":
		down(stack.Stack.KillBridge(0))
		do(t, stack.Stack.StartBridge(t.Context()))
	case "temporal":
		down(stack.Stack.KillTemporal())
		do(t, stack.Stack.StartTemporal(t.Context()))
	case "kube-apiserver":
		down(killAPIServer())
		do(t, stack.Stack.ControlPlane.StartAPIServer(t.Context()))
	case "pods":
		c.deletePods(t, blow.victims)
	}
	t.Logf("%6.1f s: %s, for %s", began.Sub(c.first).Seconds(), blow.what, time.Since(began).Round(100*time.Millisecond))
}

func killAPIServer() error {
	for _, member := range stack.Stack.ControlPlane.Processes() {
		if member.Name() == "kube-apiserver" {
			if err := member.Kill(); err != nil {
				return err
			}
		}
	}
	return stack.Stack.ControlPlane.StopAPIServer()
}

// deletePods deletes some of the Pods that there are.
func (c *chaos) deletePods(t *testing.T, victims []int) {
	t.Helper()
	var pods []corev1.Pod
	harness.Eventually(t, harness.AfterOutage, func(ctx context.Context) (err error) {
		pods, err = stack.Pods(ctx, c.namespace)
		return err
	})
	pods = slices.DeleteFunc(pods, func(pod corev1.Pod) bool {
		return pod.Status.Phase != corev1.PodRunning && pod.Status.Phase != corev1.PodPending
	})
	for _, victim := range victims {
		if len(pods) == 0 {
			return
		}
		name := pods[victim%len(pods)].Name
		err := stack.Kubernetes.CoreV1().Pods(c.namespace).Delete(t.Context(), name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		c.kills["a Pod"]++
	}
}

// restartBridge does what the kubelet does when the bridge ended, which it does by itself when it could not renew its lease.
func restartBridge(t *testing.T) {
	t.Helper()
	do(t, stack.ReviveBridge(t.Context()))
}

// survivors fails the test when a worker has ended by itself.
func survivors(t *testing.T) {
	t.Helper()
	survive(t, stack.Workers())
}

func survive(t *testing.T, members []*process.Process) {
	t.Helper()
	for _, member := range members {
		select {
		case <-member.Done():
			t.Errorf("%s did not survive: %v", member.Name(), member.Err())
		default:
		}
	}
}

func do(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// until waits for a point in time.
func until(t *testing.T, at time.Time) {
	t.Helper()
	select {
	case <-time.After(time.Until(at)):
	case <-t.Context().Done():
		t.Fatal("the test was stopped")
	}
}
