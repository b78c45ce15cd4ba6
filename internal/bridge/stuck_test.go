package bridge

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/schedule"
)

// podOf builds a Pod of the Job that was made with it and has a node.
func podOf(job *batchv1.Job, name string, edits ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: job.Namespace, Name: name, UID: types.UID(name), CreationTimestamp: *at(0),
			Labels:          map[string]string{batchv1.ControllerUidLabel: string(job.UID)},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))},
		},
		Spec:   corev1.PodSpec{NodeName: "node"},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
	for _, edit := range edits {
		edit(pod)
	}
	return pod
}

func waitsFor(reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		state := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: "main", State: state})
	}
}

func runs(p *corev1.Pod) {
	p.Status.Phase = corev1.PodRunning
	state := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: *at(3)}}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: state}}
}

func initializes(p *corev1.Pod) {
	state := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: *at(3)}}
	p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "prepare", State: state}}
	waitsFor("PodInitializing", "")(p)
}

func podCondition(kind corev1.PodConditionType, status corev1.ConditionStatus, reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: kind, Status: status, Reason: reason, Message: message})
	}
}

func unscheduled(p *corev1.Pod) {
	p.Spec.NodeName = ""
	podCondition(corev1.PodScheduled, corev1.ConditionFalse, "Unschedulable", "0/1 nodes are available: 1 Insufficient memory.")(p)
}

func ended(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }

// warned is a Warning Event that happened first and last at these seconds.
func warned(about types.UID, reason, message string, first, last int) corev1.Event {
	return corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: reason}, InvolvedObject: corev1.ObjectReference{UID: about},
		Type: corev1.EventTypeWarning, Reason: reason, Message: message, FirstTimestamp: *at(first), LastTimestamp: *at(last),
	}
}

func TestWhenARunIsStuckAndByWhat(t *testing.T) {
	begun := func(edits ...func(*batchv1.Job)) *batchv1.Job {
		return run("j1", append([]func(*batchv1.Job){running, func(j *batchv1.Job) { j.Status.Active = 1 }}, edits...)...)
	}
	none := begun(func(j *batchv1.Job) { j.Status.Active = 0 })
	retries := begun(func(j *batchv1.Job) { j.Status.Active, j.Status.Failed = 0, 1 })
	creating := waitsFor("ContainerCreating", "")
	sandbox := podCondition(corev1.PodReadyToStartContainers, corev1.ConditionTrue, "", "")
	missing := `CreateContainerConfigError: configmap "x" not found`
	config := waitsFor("CreateContainerConfigError", `configmap "x" not found`)
	for name, test := range map[string]struct {
		job      *batchv1.Job
		pods     []*corev1.Pod
		warnings []corev1.Event
		after    time.Duration
		// stuck is when it is, in seconds; 0 for never.
		stuck         int
		reason, words string
	}{
		"a ConfigMap is missing": {begun(), []*corev1.Pod{podOf(begun(), "a", config)}, nil, 0, 120, "ConfigError", missing},
		"an image can't be pulled": {
			begun(), []*corev1.Pod{podOf(begun(), "a", waitsFor("ImagePullBackOff", "not found"))}, nil, 0, 120, "ImagePull", "ImagePullBackOff: not found",
		},
		"spec.stuckAfterSeconds is 10": {begun(), []*corev1.Pod{podOf(begun(), "a", config)}, nil, 10 * time.Second, 10, "ConfigError", missing},
		"no node takes it": {
			begun(), []*corev1.Pod{podOf(begun(), "a", unscheduled)}, nil, 0, 300, "Unschedulable",
			"Unschedulable: 0/1 nodes are available: 1 Insufficient memory.",
		},
		"it pulls": {begun(), []*corev1.Pod{podOf(begun(), "a", creating, sandbox)}, nil, 0, 900, slowReason, "ContainerCreating"},
		"it pulls, after a volume took a while": {
			begun(), []*corev1.Pod{podOf(begun(), "a", creating, sandbox)}, []corev1.Event{warned("a", "FailedMount", "not yet", 40, 40)}, 0,
			900, slowReason, "ContainerCreating",
		},
		"it is created": {begun(), []*corev1.Pod{podOf(begun(), "a", creating)}, nil, 0, 900, slowReason, "ContainerCreating"},
		"a Secret is missing for a volume": {
			begun(), []*corev1.Pod{podOf(begun(), "a", creating)},
			[]corev1.Event{warned("a", "FailedMount", "old", 1, 2), warned("a", "FailedMount", `secret "y" not found`, 1, 63)}, 0,
			120, "ConfigError", `FailedMount: secret "y" not found`,
		},
		"a Secret came late, and it is created": {
			begun(), []*corev1.Pod{podOf(begun(), "a", creating)}, []corev1.Event{warned("a", "FailedMount", `secret "y" not found`, 1, 8)}, 0,
			900, slowReason, "ContainerCreating",
		},
		"no Pod can be created": {
			none, nil, []corev1.Event{warned("j1", "FailedCreate", "no ServiceAccount", 1, 80)}, 0, 121, "FailedCreate", "FailedCreate: no ServiceAccount",
		},
		"no Pod is created, and nothing says why": {none, nil, nil, 0, 901, slowReason, noPodWords},
		"a Warning about a Job without a Pod that is no reason": {
			none, nil, []corev1.Event{warned("j1", "TooManySucceededPods", "", 1, 80)}, 0, 901, slowReason, noPodWords,
		},
		"it is in back-off": {retries, nil, nil, 0, 0, "", ""},
		"no Pod can be created after a failure": {
			retries, nil, []corev1.Event{warned("j1", "FailedCreate", "quota", 200, 590)}, 0, 320, "FailedCreate", "FailedCreate: quota",
		},
		"no Pod can be created after a failure, and an Event has the newer form": {
			retries, nil, []corev1.Event{{
				InvolvedObject: corev1.ObjectReference{UID: "j1"}, Reason: "FailedCreate", Message: "quota",
				EventTime: metav1.NewMicroTime(after(200)), Series: &corev1.EventSeries{LastObservedTime: metav1.NewMicroTime(after(590))},
			}}, 0, 320, "FailedCreate", "FailedCreate: quota",
		},
		"a Pod has ended and is to be counted": {begun(), []*corev1.Pod{podOf(begun(), "a", ended)}, nil, 0, 0, "", ""},
		"the Pods are not seen":                {begun(), nil, nil, 0, 0, "", ""},
		"it runs and is not ready":             {begun(), []*corev1.Pod{podOf(begun(), "a", runs)}, nil, 0, 0, "", ""},
		"an init container runs":               {begun(), []*corev1.Pod{podOf(begun(), "a", initializes)}, nil, 0, 0, "", ""},
		"one of two runs":                      {begun(), []*corev1.Pod{podOf(begun(), "a", config), podOf(begun(), "b", runs)}, nil, 0, 0, "", ""},
		"one of two has a failure to name": {
			begun(), []*corev1.Pod{podOf(begun(), "a", creating, sandbox), podOf(begun(), "b", config)}, nil, 0, 120, "ConfigError", missing,
		},
		"the second attempt is stuck": {
			begun(), []*corev1.Pod{podOf(begun(), "a", ended), podOf(begun(), "b", config, func(p *corev1.Pod) { p.CreationTimestamp = *at(600) })},
			nil, 0, 720, "ConfigError", missing,
		},
		"the first is being deleted": {
			begun(), []*corev1.Pod{podOf(begun(), "a", config, func(p *corev1.Pod) { p.DeletionTimestamp = at(5) })}, nil, 0, 0, "", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			seen := view{job: test.job, pods: test.pods, after: test.after}
			stuck, reason, words := 0, "", ""
			for second := 1; second < 1200 && stuck == 0; second++ {
				if !mayBeStuck(test.job, test.after, after(second)) {
					continue
				}
				seen.read, seen.warnings = false, nil
				held, ask, again := seen.judge(after(second))
				if ask {
					assert.Nil(t, held)
					seen.read = true
					for _, one := range test.warnings {
						if !one.LastTimestamp.After(after(second)) || second > 60 {
							seen.warnings = append(seen.warnings, one)
						}
					}
					held, ask, again = seen.judge(after(second))
					assert.False(t, ask)
				}
				assert.Positive(t, again, "at %d", second)
				if held != nil {
					stuck, reason, words = second, held.reason, held.words
				}
			}
			assert.Equal(t, []any{test.stuck, test.reason, test.words}, []any{stuck, reason, words})
		})
	}
}

// runStuck is the condition RunStuck as it is stored.
func (w *world) runStuck() metav1.Condition {
	return ptr.Deref(meta.FindStatusCondition(w.cronJobs.Stored("shop", "report").Status.Conditions, ostinatov1.ConditionRunStuck), metav1.Condition{})
}

// waitUntil steps the clock until it is so.
func (w *world) waitUntil(so func() bool, what string) {
	w.t.Helper()
	w.eventually(func() bool {
		w.clock.Step(watchdogPeriod / 4)
		return so()
	}, what)
}

func TestARunThatIsStuckIsToldOnce(t *testing.T) {
	job := run("j1", running, func(j *batchv1.Job) { j.Status.Active = 1 })
	config := waitsFor("CreateContainerConfigError", `configmap "x" not found`)
	w := newWorld(t, cronJob(taken, nextRun(100_000), active("j1")), job, podOf(job, "a", config)).lead()
	w.waitUntil(func() bool { return w.runStuck().Status == metav1.ConditionTrue }, "the condition is True")
	assert.Equal(t, "ConfigError", w.runStuck().Reason)
	assert.Equal(t, `Job report-j1, since 2026-01-02T03:04:00Z: CreateContainerConfigError: configmap "x" not found`, w.runStuck().Message)
	assert.GreaterOrEqual(t, w.clock.Since(start), 2*time.Minute)
	said := <-w.events.Events
	assert.True(t, strings.HasPrefix(said, "Warning RunStuck No container has started for 2m"), said)
	assert.Contains(t, said, `configmap "x" not found`)
	w.waitUntil(func() bool { return w.measured("ostinato_bridge_stuck_jobs", "shop") == 1 }, "it is counted")

	until := w.clock.Now().Add(10 * time.Minute)
	w.waitUntil(func() bool { return w.clock.Now().After(until) }, "ten minutes pass")
	assert.Empty(t, w.events.Events, "it is said once")

	w.putJob(run("j1", running, func(j *batchv1.Job) { j.Status.Active, j.Status.Ready = 1, ptr.To[int32](1) }))
	w.waitUntil(func() bool { return w.runStuck().Status == metav1.ConditionFalse }, "the condition is False")
	assert.Equal(t, notStuckReason, w.runStuck().Reason)
	w.waitUntil(func() bool { return w.measured("ostinato_bridge_stuck_jobs", "shop") == 0 }, "none is counted")
}

// TestANewLeaderKeepsWhatItHasNotLookedAt: it tells nothing twice, and takes back what is over.
func TestANewLeaderKeepsWhatItHasNotLookedAt(t *testing.T) {
	said := func(message string) func(*ostinatov1.CronJob) {
		return func(c *ostinatov1.CronJob) {
			meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{
				Type: ostinatov1.ConditionRunStuck, Status: metav1.ConditionTrue, Reason: "ConfigError", Message: message, LastTransitionTime: *at(1),
			})
		}
	}
	job := run("j1", running, func(j *batchv1.Job) { j.Status.Active = 1 })
	gone := func(c *ostinatov1.CronJob) { c.Name, c.UID = "gone", "c2" }
	w := newWorld(t, cronJob(taken, nextRun(100_000), active("j1"), said("Job report-j1, since 2026-01-02T03:04:00Z: x")),
		cronJob(gone, taken, nextRun(100_000), said("Job gone-j2, since 2026-01-02T03:04:00Z: x")),
		job, podOf(job, "a", waitsFor("CreateContainerConfigError", "x")))
	w.clock.SetTime(after(600))
	w.lead()
	w.waitUntil(func() bool {
		return meta.IsStatusConditionFalse(w.cronJobs.Stored("shop", "gone").Status.Conditions, ostinatov1.ConditionRunStuck)
	}, "what is over is taken back")
	w.waitUntil(func() bool { return strings.Contains(w.runStuck().Message, "CreateContainerConfigError") }, "it is looked at")
	assert.Equal(t, after(1), w.runStuck().LastTransitionTime.UTC(), "it was so all the time")
	assert.Empty(t, w.events.Events)
}

// TestARunThatIsSlowRaisesNoWarning: a large image takes twenty minutes.
func TestARunThatIsSlowRaisesNoWarning(t *testing.T) {
	job := run("j1", running, func(j *batchv1.Job) { j.Status.Active = 1 })
	pod := podOf(job, "a", waitsFor("ContainerCreating", ""), podCondition(corev1.PodReadyToStartContainers, corev1.ConditionTrue, "", ""))
	w := newWorld(t, cronJob(taken, nextRun(100_000), active("j1")), job, pod).lead()
	w.waitUntil(func() bool { return w.runStuck().Status == metav1.ConditionTrue }, "the condition is True")
	assert.GreaterOrEqual(t, w.clock.Since(start), 15*time.Minute)
	assert.Equal(t, slowReason, w.runStuck().Reason)
	assert.Empty(t, w.events.Events)
	assert.Zero(t, w.measured("ostinato_bridge_stuck_jobs", "shop"))
}

// TestWhatHoldsARunIsBounded: a Pod's status and an Event may say anything, of any length.
func TestWhatHoldsARunIsBounded(t *testing.T) {
	long := strings.Repeat("é", 100_000)
	job := run("j1", running, func(j *batchv1.Job) { j.Status.Active = 1 })
	for name, pod := range map[string]*corev1.Pod{
		"a container": podOf(job, "a", waitsFor("CreateContainerConfigError", long)),
		"a reason":    podOf(job, "a", waitsFor("CreateContainerConfigError", ""), func(p *corev1.Pod) { p.Status.ContainerStatuses[0].State.Waiting.Message = long }),
		"a node":      podOf(job, "a", unscheduled, func(p *corev1.Pod) { p.Status.Conditions[0].Message = long }),
		"an Event":    podOf(job, "a", waitsFor("ContainerCreating", "")),
	} {
		t.Run(name, func(t *testing.T) {
			seen := view{job: job, pods: []*corev1.Pod{pod}, warnings: []corev1.Event{warned("a", "FailedMount", long, 1, 500)}, read: true}
			held, _, _ := seen.judge(after(500))
			condition, _ := stuckCondition(cronJob(), []stuckRun{{job.Name, *held}}, after(500))
			assert.Less(t, len(condition.Message), schedule.MaxStatusText)
			assert.Contains(t, ConditionReasonsOf[ostinatov1.ConditionRunStuck], condition.Reason)
		})
	}
}

// TestTheRunOfAJobWithASelectorOfItsOwnIsStuckToo: its Pods lack the label that the API server puts on others.
func TestTheRunOfAJobWithASelectorOfItsOwnIsStuckToo(t *testing.T) {
	job := run("j1", running, func(j *batchv1.Job) {
		j.Status.Active = 1
		j.Spec.ManualSelector, j.Spec.Selector = new(true), &metav1.LabelSelector{MatchLabels: map[string]string{"app": "report"}}
	})
	pod := podOf(job, "a", waitsFor("ImagePullBackOff", "not found"), func(p *corev1.Pod) {
		p.Labels = map[string]string{"app": "report", names.WatchBucketLabel: names.WatchBucket(string(job.UID))}
	})
	w := newWorld(t, cronJob(taken, nextRun(100_000), active("j1")), job, pod).lead()
	w.waitUntil(func() bool { return w.runStuck().Status == metav1.ConditionTrue }, "the condition is True")
	assert.Equal(t, "ImagePull", w.runStuck().Reason)
}
