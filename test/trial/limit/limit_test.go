//go:build linux && trial

// Package limit measures how many runs a minute the embedded Temporal carries: a trial (make trial-limit).
package limit

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/dev/devstack"
	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/claim"
)

// cronJobs are due in each minute, together.
const cronJobs = 300

var stack *harness.Harness

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, devstack.Options{}, func(h *harness.Harness) { stack = h }))
}

// TestTheLimitOfTheEmbeddedTemporal gives Temporal a share of one core, so that it and nothing else is what runs wait for, and measures how
// fast it gets through the runs of a minute. If the rates of all shares are alike per core, so is that of a whole one.
func TestTheLimitOfTheEmbeddedTemporal(t *testing.T) {
	temporal := temporalProcess(t)
	group := newGroup(t, temporal)
	namespace := stack.Namespace(t)
	book := &ends{at: map[types.UID]time.Time{}}
	stack.FollowJobs(t, namespace, book.see)
	for n := range cronJobs {
		stack.CreateCronJob(t, &ostinatov1.CronJob{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("due-%03d", n)},
			Spec: ostinatov1.CronJobSpec{Schedule: "* * * * *", JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{
				Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
					RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: "busybox:1.28"}},
				}},
			}}},
		})
	}
	for _, percent := range []int{10, 15, 20, 30, 40} {
		group.give(t, percent)
		for range 2 {
			begin := time.Now().Truncate(time.Minute).Add(time.Minute)
			time.Sleep(time.Until(begin))
			used := group.used(t)
			harness.Eventually(t, 4*harness.Bulk, func(context.Context) error {
				if ended := len(book.since(begin)); ended < cronJobs {
					return fmt.Errorf("%d of %d runs have ended", ended, cronJobs)
				}
				return nil
			})
			all := book.since(begin)
			tenth, last := all[cronJobs/10], all[cronJobs*9/10]
			rate := float64(cronJobs*8/10) / last.Sub(tenth).Minutes()
			spent := group.used(t) - used
			t.Logf("%d %% of a core: %.0f runs a minute, %.0f for a whole core; all ended after %.1f s; Temporal took %.1f ms a run, and was busy for %.0f %% of its share",
				percent, rate, rate*100/float64(percent), all[len(all)-1].Sub(begin).Seconds(), spent.Seconds()*1000/cronJobs,
				100*spent.Seconds()/(all[len(all)-1].Sub(begin).Seconds()*float64(percent)/100))
		}
	}
}

// ends are when Jobs were seen to have ended.
type ends struct {
	mutex sync.Mutex
	at    map[types.UID]time.Time
}

func (e *ends) see(job *batchv1.Job, gone bool) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if _, known := e.at[job.UID]; !known && !gone && claim.Finished(job) != nil {
		e.at[job.UID] = time.Now()
	}
}

// since returns the ends after a time, in order.
func (e *ends) since(begin time.Time) (all []time.Time) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	for _, at := range e.at {
		if at.After(begin) {
			all = append(all, at)
		}
	}
	slices.SortFunc(all, time.Time.Compare)
	return all
}

func temporalProcess(t *testing.T) int {
	t.Helper()
	for _, one := range stack.Stack.Processes() {
		if one.Name() == "temporal" {
			return one.PID()
		}
	}
	t.Fatal("no process of Temporal")
	return 0
}

// group is a cgroup (version 1) with Temporal alone.
type group struct{ quota, account string }

func newGroup(t *testing.T, pid int) group {
	t.Helper()
	name := fmt.Sprintf("ostinato-limit-%d", os.Getpid())
	g := group{filepath.Join("/sys/fs/cgroup/cpu", name), filepath.Join("/sys/fs/cgroup/cpuacct", name)}
	for _, path := range []string{g.quota, g.account} {
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Remove(path) })
		parent := filepath.Join(filepath.Dir(path), "cgroup.procs")
		t.Cleanup(func() { _ = os.WriteFile(parent, []byte(strconv.Itoa(pid)), 0) })
		if err := os.WriteFile(filepath.Join(path, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

// give bounds the processor time by a share of one core.
func (g group) give(t *testing.T, percent int) {
	t.Helper()
	quota := strconv.Itoa(percent * 1000) // of a period of 100,000 µs
	if err := os.WriteFile(filepath.Join(g.quota, "cpu.cfs_quota_us"), []byte(quota), 0); err != nil {
		t.Fatal(err)
	}
}

// used is the processor time so far.
func (g group) used(t *testing.T) time.Duration {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(g.account, "cpuacct.usage"))
	if err != nil {
		t.Fatal(err)
	}
	used, err := time.ParseDuration(strings.TrimSpace(string(data)) + "ns")
	if err != nil {
		t.Fatal(err)
	}
	return used
}
