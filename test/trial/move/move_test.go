//go:build trial

// Package move moves many CronJobs from kube-controller-manager to Ostinato and back with the ostinato command, while their
// runs are due: a trial (make trial-move), since it fills ten minutes.
package move

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/dev/devstack"
	"ostinato.dev/ostinato/dev/devstack/controlplane"
	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/names"
)

var stack *harness.Harness

func TestMain(m *testing.M) {
	options := devstack.Options{
		// With its default of 20 requests a second, kube-controller-manager would need a minute for the runs of one.
		ControllerManager: controlplane.ControllerManagerOptions{QPS: 500, Burst: 1000},
	}
	os.Exit(harness.Main(m, options, func(h *harness.Harness) { stack = h }))
}

const (
	cronJobs = 200
	// createdAtATime is how many CronJobs are created at a time.
	createdAtATime = 16
	// allMoved bounds a move of all of them: the Jobs of a minute, the runs that are active, and the next minute's.
	allMoved = 3*harness.NextMinute + harness.Bulk
)

// Two hundred minutely CronJobs go there and back, and there for good, while they run: no minute is missed, and none has two
// Jobs.
func TestManyCronJobsMoveThereAndBack(t *testing.T) {
	namespace := stack.Namespace(t)
	record := record(t, namespace)
	create(t, namespace)
	all := func(count int) {
		t.Helper()
		harness.Eventually(t, harness.NextMinute+harness.Bulk, func(context.Context) error {
			for n := range cronJobs {
				if got := len(record.of(name(n))); got < count {
					return fmt.Errorf("%s has %d runs, want %d", name(n), got, count)
				}
			}
			return nil
		})
	}
	most := func() (most int) {
		for n := range cronJobs {
			most = max(most, len(record.of(name(n))))
		}
		return most
	}
	all(1)
	move := commandFor(t, namespace)
	for _, arguments := range [][]string{{}, {"--undo"}, {"--delete"}} {
		began := time.Now()
		output := move(append([]string{"move", "--all", "--yes", "--timeout", allMoved.String()}, arguments...)...)
		t.Logf("%s: move %s took %s", began.Format(time.TimeOnly), strings.Join(arguments, " "), time.Since(began).Round(time.Second))
		if got := strings.Count(output, " moved; the one of "); got != cronJobs {
			t.Fatalf("%d were moved:\n%s", got, output)
		}
		all(most() + 1)
		for n := range cronJobs {
			everyMinute(t, record, name(n))
		}
	}
}

func name(n int) string { return fmt.Sprintf("moved-%03d", n) }

// create creates the CronJobs, half of them under Forbid.
func create(t *testing.T, namespace string) {
	t.Helper()
	var group errgroup.Group
	group.SetLimit(createdAtATime)
	for n := range cronJobs {
		policy := batchv1.AllowConcurrent
		if n%2 == 0 {
			policy = batchv1.ForbidConcurrent
		}
		spec := harness.JobSpec(harness.RunSeconds(1 + n%5))
		spec.ManagedBy = nil
		group.Go(func() error {
			_, err := stack.Kubernetes.BatchV1().CronJobs(namespace).Create(t.Context(), &batchv1.CronJob{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name(n)},
				Spec: batchv1.CronJobSpec{
					Schedule: harness.Minutely, ConcurrencyPolicy: policy, JobTemplate: batchv1.JobTemplateSpec{Spec: spec},
					SuccessfulJobsHistoryLimit: ptr.To[int32](2),
				},
			}, metav1.CreateOptions{})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// commandFor builds the ostinato command, and returns what runs it and returns what it printed.
func commandFor(t *testing.T, namespace string) func(arguments ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "ostinato")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "ostinato.dev/ostinato/cmd/ostinato")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build cmd/ostinato: %v\n%s", err, output)
	}
	return func(arguments ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), program, append([]string{"--namespace", namespace}, arguments...)...)
		command.Env = append(os.Environ(), "KUBECONFIG="+stack.Stack.KubeconfigPath())
		var printed bytes.Buffer
		command.Stdout, command.Stderr = &printed, &printed
		var exit *exec.ExitError
		if err := command.Run(); errors.As(err, &exit) {
			t.Fatalf("ostinato %s: exit code %d\n%s", strings.Join(arguments, " "), exit.ExitCode(), printed.String())
		} else if err != nil {
			t.Fatal(err)
		}
		return printed.String()
	}
}

// runs are the UIDs of all Jobs that were ever seen, by CronJob and time. A Job is known by its name: one whose CronJob was
// deleted has no controller any more.
type runs struct {
	mutex sync.Mutex
	seen  map[string]map[time.Time]map[types.UID]bool
}

func record(t *testing.T, namespace string) *runs {
	t.Helper()
	r := &runs{seen: map[string]map[time.Time]map[types.UID]bool{}}
	stack.FollowJobs(t, namespace, func(job *batchv1.Job, _ bool) {
		at, err := time.Parse(time.RFC3339, job.Annotations[names.ScheduledTimestampAnnotation])
		cronJob := job.Name[:max(strings.LastIndex(job.Name, "-"), 0)]
		if err != nil {
			return
		}
		r.mutex.Lock()
		defer r.mutex.Unlock()
		if r.seen[cronJob] == nil {
			r.seen[cronJob] = map[time.Time]map[types.UID]bool{}
		}
		if r.seen[cronJob][at.UTC()] == nil {
			r.seen[cronJob][at.UTC()] = map[types.UID]bool{}
		}
		r.seen[cronJob][at.UTC()][job.UID] = true
	})
	return r
}

// of returns how many Jobs each time of a CronJob has had.
func (r *runs) of(cronJob string) map[time.Time]int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	counts := map[time.Time]int{}
	for at, jobs := range r.seen[cronJob] {
		counts[at] = len(jobs)
	}
	return counts
}

// everyMinute fails the test where a minute between the first run and the last has none, or two.
func everyMinute(t *testing.T, record *runs, cronJob string) {
	t.Helper()
	scheduled := record.of(cronJob)
	times := slices.SortedFunc(maps.Keys(scheduled), time.Time.Compare)
	for at := times[0]; !at.After(times[len(times)-1]); at = at.Add(time.Minute) {
		if scheduled[at] != 1 {
			t.Errorf("%d runs of %s at %s, want one", scheduled[at], cronJob, at.Format(time.TimeOnly))
		}
	}
}
