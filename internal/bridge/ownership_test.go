package bridge

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/config"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
)

// all takes Jobs over.
var all = ownership{takeOver: config.TakeOver{Jobs: true}}

func probeIn(namespace string) func(*batchv1.Job) {
	return func(j *batchv1.Job) {
		j.Namespace = namespace
		metav1.SetMetaDataLabel(&j.ObjectMeta, probeLabel, "jobs")
	}
}

func TestWhoseJobItIs(t *testing.T) {
	for _, test := range []struct {
		name               string
		job                *batchv1.Job
		marked, takingOver bool
		external           string
	}{
		{name: "marked as ours", job: standalone(), marked: true, takingOver: true},
		{name: "unmarked", job: standalone(foreign), takingOver: true},
		{name: "marked as the built-in controller's", job: standalone(managedBy(batchv1.JobControllerName)), takingOver: true},
		{name: "of a native CronJob", job: standalone(foreign, ofNativeCronJob), takingOver: true},
		{name: "another's", job: standalone(managedBy("kueue.x-k8s.io/multikueue")), external: "kueue.x-k8s.io/multikueue"},
		{name: "a probe of a bridge", job: standalone(foreign, probeIn(ProbeNamespace))},
		{name: "somebody else's Job with the probe's label", job: standalone(foreign, probeIn("shop")), takingOver: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, side := range []struct {
				owner ownership
				want  bool
			}{{ownership{}, test.marked}, {all, test.takingOver}} {
				assert.Equal(t, side.want, side.owner.ours(test.job), "%+v", side.owner)
				trimmed, err := side.owner.trimJob(test.job)
				require.NoError(t, err)
				assert.Equal(t, side.want, side.owner.ours(trimmed.(*batchv1.Job)), "trimmed, %+v", side.owner)
				name, ok := claim.External(trimmed.(*batchv1.Job))
				assert.Equal(t, test.external, name)
				assert.Equal(t, test.external != "", ok)
			}
		})
	}
}

func TestDecideJobTakenOver(t *testing.T) {
	known := jobMemory{uid: "j1", spec: job.SpecOf(standalone(foreign))}
	old := jobMemory{uid: "old", spec: job.SpecOf(standalone(foreign))}
	byUs, byBuiltIn := statusBy(k8s.JobFieldManager, 2), statusBy(builtInManager, 1)
	for _, test := range []struct {
		name   string
		object *batchv1.Job
		memory jobMemory
		sweep  bool
		now    int
		want   decision
	}{
		{name: "new: start, and insist", object: standalone(foreign), want: decision{action: ensure, insist: true}},
		{name: "of a native CronJob: start at once, since no workflow of ours does", object: standalone(foreign, ofNativeCronJob), want: decision{action: ensure, insist: true}},
		{name: "begun by the built-in controller: start, and insist", object: standalone(foreign, running, byBuiltIn), want: decision{action: ensure, insist: true, stale: after(2)}},
		{name: "begun by the built-in controller, edited: send", object: standalone(foreign, running, byBuiltIn, edited), want: decision{action: send, stale: after(2)}},
		{name: "begun there, gone on with here: nothing", object: standalone(foreign, running, byBuiltIn, byUs), want: decision{action: leave, taken: true}},
		{name: "begun here, gone on with there: a workflow from before is out of date", object: standalone(foreign, running, byUs, statusBy(builtInManager, 3)),
			want: decision{action: ensure, insist: true, stale: after(4)}},
		{name: "within a second nobody knows who was last: the same", object: standalone(foreign, running, byUs, statusBy(builtInManager, 2)),
			want: decision{action: ensure, insist: true, stale: after(3)}},
		{name: "known, and the built-in controller fights for it: nothing", object: standalone(foreign, running, byUs, statusBy(builtInManager, 3)), memory: known, want: decision{action: leave}},
		{name: "known: nothing", object: standalone(foreign, running, byUs), memory: known, want: decision{action: leave}},
		{name: "known, in the sweep: start", object: standalone(foreign, running, byUs), memory: known, sweep: true, want: decision{action: ensure}},
		{name: "known and edited: send", object: standalone(foreign, running, edited), memory: known, want: decision{action: send}},
		{name: "known and to be deleted: send", object: standalone(foreign, running, func(j *batchv1.Job) { j.DeletionTimestamp = at(5) }), memory: known, want: decision{action: send}},
		{name: "re-created: send", object: standalone(foreign), memory: old, want: decision{action: send}},
		{name: "finished: nothing", object: standalone(foreign, complete, byBuiltIn), want: decision{action: leave}},
		{name: "another's: nothing", object: standalone(managedBy("other.example/controller")), want: decision{action: leave}},
		{name: "a probe: nothing", object: standalone(foreign, probeIn(ProbeNamespace), suspended, byBuiltIn), want: decision{action: leave}},
		{name: "a run of ours that names the built-in controller: leave it to the CronJob's workflow",
			object: run("r1", managedBy(batchv1.JobControllerName)), now: 1, want: decision{action: leave, again: 59 * time.Second}},
	} {
		t.Run(test.name, func(t *testing.T) {
			trimmed, err := all.trimJob(test.object)
			require.NoError(t, err)
			assert.Equal(t, test.want, decideJob(all, trimmed.(*batchv1.Job), test.memory, test.sweep, after(test.now)))
		})
	}
}

func TestWritesOfTheBuiltInControllerAreSeen(t *testing.T) {
	builtIn := func(seconds int) *batchv1.Job { return standalone(foreign, statusBy(builtInManager, seconds)) }
	assert.False(t, builtInWrote(standalone(foreign), standalone(foreign)))
	assert.False(t, builtInWrote(builtIn(3), builtIn(3)), "it wrote before")
	assert.False(t, builtInWrote(standalone(foreign), standalone(foreign, statusBy("kubectl-edit", 3))), "somebody else wrote")
	assert.True(t, builtInWrote(standalone(foreign), builtIn(3)))
	assert.True(t, builtInWrote(builtIn(3), builtIn(4)))
}

func TestTrimmedJobTakenOver(t *testing.T) {
	template := func(j *batchv1.Job) {
		metav1.SetMetaDataAnnotation(&j.Spec.Template.ObjectMeta, names.BackoffCapAnnotation, "30")
		metav1.SetMetaDataAnnotation(&j.Spec.Template.ObjectMeta, "token", "secret")
	}
	full := standalone(foreign, template, running, setting(names.PendingDeadlineAnnotation, "600"), setting("token", "secret"), statusBy(builtInManager, 3))
	full.ManagedFields = append(full.ManagedFields, metav1.ManagedFieldsEntry{Manager: "kubectl", Time: at(1)})
	trimmed, err := all.trimJob(full)
	require.NoError(t, err)
	j := trimmed.(*batchv1.Job)
	assert.Equal(t, job.SpecOf(full), job.SpecOf(j), "trimming must not change what decides")
	assert.Equal(t, map[string]string{names.PendingDeadlineAnnotation: "600"}, j.Annotations)
	assert.Equal(t, corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{names.BackoffCapAnnotation: "30"}},
		Spec:       corev1.PodSpec{RestartPolicy: corev1.RestartPolicyOnFailure},
	}, j.Spec.Template)
	assert.Equal(t, []metav1.ManagedFieldsEntry{{Manager: builtInManager, Subresource: "status", Time: at(3)}}, j.ManagedFields)

	trimmed, err = all.trimJob(standalone(managedBy("other.example/controller"), complete))
	require.NoError(t, err)
	j = trimmed.(*batchv1.Job)
	assert.Empty(t, j.Spec.Template)
	assert.Empty(t, j.Status, "the status of another controller's Job decides nothing")
}
