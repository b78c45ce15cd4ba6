package bridge

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"ostinato.dev/ostinato/internal/k8s"
)

var jobsResource = schema.GroupResource{Group: "batch", Resource: "jobs"}

// asks runs a bridge that takes over until its probe is done, and returns how
// Run ended; a bridge that goes on to lead is told to stop.
func (w *world) asks() error {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	b := w.bridge()
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	for {
		w.clock.Step(probePeriod)
		select {
		case err := <-ended:
			return err
		case <-time.After(5 * time.Millisecond):
		}
		if b.Ready(ctx) == nil {
			cancel()
		}
	}
}

// builtIn gives every probe that is looked at the condition that the built-in
// controller gives.
func builtIn(w *world) {
	w.native.PrependReactor("get", "jobs", func(action clienttesting.Action) (bool, runtime.Object, error) {
		object, err := w.native.Tracker().Get(action.GetResource(), action.GetNamespace(), action.(clienttesting.GetAction).GetName())
		if err != nil {
			return true, nil, err
		}
		touched := object.(*batchv1.Job).DeepCopy()
		suspended(touched)
		statusBy(builtInManager, 21)(touched)
		return true, touched, nil
	})
}

func TestWhereNobodyAnswersJobsAreTakenOver(t *testing.T) {
	w := newWorld(t).takingOver()
	require.NoError(t, w.asks())
	assert.GreaterOrEqual(t, w.clock.Since(after(20)), probeWait)
	assert.Empty(t, w.jobs(ProbeNamespace), "the probe is deleted")
	assert.Contains(t, w.log.String(), "taking Jobs over")
}

func TestWhereTheBuiltInControllerAnswersTheBridgeRefuses(t *testing.T) {
	w := newWorld(t, standalone(foreign)).takingOver()
	builtIn(w)
	err := w.asks()
	require.ErrorIs(t, err, ErrBuiltInRuns)
	for _, want := range []string{"kube-controller-manager gave Job ostinato-probe/ostinato-takeover-probe-", "--controllers=*,-job-controller", "without --takeover=jobs"} {
		assert.ErrorContains(t, err, want)
	}
	assert.Empty(t, w.jobs(ProbeNamespace), "the probe is deleted")
	assert.Empty(t, w.temporal.said(), "nothing is sent")
}

func TestWithoutTakeOverNobodyIsAsked(t *testing.T) {
	w := newWorld(t)
	builtIn(w)
	w.lead()
	for _, action := range w.native.Actions() {
		assert.NotEqual(t, "create", action.GetVerb())
	}
}

func TestWhereItCanNotBeToldTheBridgeWarnsAndGoesOn(t *testing.T) {
	fails := func(verb string, err error) func(*world) {
		return func(w *world) {
			w.native.PrependReactor(verb, "jobs", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, err })
		}
	}
	for _, test := range []struct {
		name   string
		change func(*world)
		says   string
	}{
		{"not allowed", fails("create", apierrors.NewForbidden(jobsResource, "", errors.New("no right"))), "no right"},
		{"no such namespace", fails("create", apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, ProbeNamespace)), "not found"},
		{"no answer all the time", fails("create", apierrors.NewInternalError(errors.New("webhook down"))), "webhook down"},
		{"may not look", fails("get", apierrors.NewForbidden(jobsResource, "", errors.New("no right"))), "no right"},
		{"the probe is deleted", fails("get", apierrors.NewNotFound(jobsResource, "")), "was deleted"},
		{"admission hands the probe to another", func(w *world) {
			w.native.PrependReactor("create", "jobs", func(action clienttesting.Action) (bool, runtime.Object, error) {
				job := action.(clienttesting.CreateAction).GetObject().(*batchv1.Job)
				managedBy("kueue.x-k8s.io/multikueue")(job)
				return false, nil, nil
			})
		}, "kueue.x-k8s.io/multikueue"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t).takingOver()
			test.change(w)
			require.NoError(t, w.asks())
			assert.Contains(t, w.log.String(), "can't tell whether the built-in job controller runs")
			assert.Contains(t, w.log.String(), test.says)
		})
	}
}

func TestAnAPIServerThatDoesNotAnswerIsAskedAgain(t *testing.T) {
	w := newWorld(t).takingOver()
	var tries atomic.Int32
	w.native.PrependReactor("create", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		return tries.Add(1) < 4, nil, apierrors.NewTimeoutError("busy", 1)
	})
	builtIn(w)
	require.ErrorIs(t, w.asks(), ErrBuiltInRuns)
}

func TestAnInterruptedProbeIsDeleted(t *testing.T) {
	w := newWorld(t).takingOver()
	looked := make(chan struct{}, 1000)
	w.native.PrependReactor("get", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		looked <- struct{}{}
		return false, nil, nil
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	b := w.bridge()
	go func() { ended <- b.Run(ctx) }()
	<-looked
	assert.ErrorContains(t, b.Ready(ctx), "whether the built-in controllers run")
	assert.Len(t, w.jobs(ProbeNamespace), 1)
	cancel()
	require.NoError(t, <-ended)
	assert.Empty(t, w.jobs(ProbeNamespace))
	assert.NotContains(t, w.log.String(), "can't tell")
}

func TestProbesThatAKilledBridgeLeftAreDeleted(t *testing.T) {
	probe := func(name string, created int, edits ...func(*batchv1.Job)) *batchv1.Job {
		return standalone(append([]func(*batchv1.Job){foreign, probeIn(ProbeNamespace), func(j *batchv1.Job) {
			j.Name, j.CreationTimestamp = name, *at(created)
		}}, edits...)...)
	}
	w := newWorld(t,
		probe("dead", -60), probe("of-another-bridge", 15),
		probe("not-a-probe", -60, func(j *batchv1.Job) { j.Labels = nil }),
	).takingOver()
	require.NoError(t, w.asks())
	var left []string
	for _, job := range w.jobs(ProbeNamespace) {
		left = append(left, job.Name)
	}
	assert.ElementsMatch(t, []string{"of-another-bridge", "not-a-probe"}, left)
}

func TestTheProbeAsksForNothingButACondition(t *testing.T) {
	probe := probeJob(ProbeNamespace, "probe")
	assert.True(t, *probe.Spec.Suspend)
	assert.Zero(t, *probe.Spec.Parallelism)
	assert.Nil(t, probe.Spec.ManagedBy)
	assert.True(t, all.probe(probe))
	assert.False(t, all.ours(probe))
	rival, err := jobRival(probe)
	assert.NoError(t, err)
	assert.Empty(t, rival)
}

func TestWhoGaveTheProbeAStatus(t *testing.T) {
	ready := int32(0)
	for name, test := range map[string]struct {
		touch []func(*batchv1.Job)
		want  string
	}{
		"nobody":                        {want: ""},
		"the built-in controller":       {touch: []func(*batchv1.Job){suspended, statusBy(builtInManager, 3)}, want: builtInManager},
		"one that writes ready alone":   {touch: []func(*batchv1.Job){func(j *batchv1.Job) { j.Status.Ready = &ready }, statusBy("k3s", 3)}, want: "k3s"},
		"a start time, by nobody noted": {touch: []func(*batchv1.Job){running}, want: "another controller"},
		"a worker of ours":              {touch: []func(*batchv1.Job){suspended, statusBy(k8s.JobFieldManager, 3)}, want: ""},
		"the built-in controller, then a worker of ours": {
			touch: []func(*batchv1.Job){suspended, statusBy(builtInManager, 3), statusBy(k8s.JobFieldManager, 4)}, want: builtInManager,
		},
		"several: the last": {touch: []func(*batchv1.Job){suspended, statusBy("first", 3), statusBy("second", 4),
			func(j *batchv1.Job) {
				j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{Type: batchv1.JobFailed, Status: corev1.ConditionTrue})
			}}, want: "second"},
	} {
		t.Run(name, func(t *testing.T) {
			probe := probeJob(ProbeNamespace, "probe")
			for _, touch := range test.touch {
				touch(probe)
			}
			rival, err := jobRival(probe)
			assert.NoError(t, err)
			assert.Equal(t, test.want, rival)
		})
	}
}
