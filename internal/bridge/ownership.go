package bridge

import (
	"cmp"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/config"
	"ostinato.dev/ostinato/internal/k8s"
)

// probeLabel marks the CronJobs and Jobs by which a bridge asks whether the built-in controllers run.
const probeLabel = "ostinato.dev/takeover-probe"

// ProbeNamespace is where a bridge makes them. It holds nothing else.
const ProbeNamespace = "ostinato-probe"

// builtInManager is the field manager of Kubernetes' own controllers.
const builtInManager = "kube-controller-manager"

// ownership says which Jobs and CronJobs of batch/v1 are Ostinato's.
type ownership struct {
	// takeOver says which are that are not marked.
	takeOver config.TakeOver
}

// ours reports whether the Job is Ostinato's to reconcile.
func (o ownership) ours(job *batchv1.Job) bool {
	return claim.Ours(job, o.takeOver.Jobs) && !o.probe(job)
}

// probe reports whether the object is a bridge's question to the cluster.
func (o ownership) probe(object metav1.Object) bool {
	_, marked := object.GetLabels()[probeLabel]
	return marked && object.GetNamespace() == ProbeNamespace
}

// cronJobOf returns the CronJob that controls the Job, where that is Ostinato's.
func (o ownership) cronJobOf(job *batchv1.Job) (claim.CronJob, bool) {
	owner, ok := claim.CronJobOf(job)
	return owner, ok && (!owner.Native || o.takeOver.CronJobs)
}

// builtInWrote reports whether Kubernetes' own controller wrote the status between two states of a Job or CronJob.
func builtInWrote(before, after metav1.Object) bool {
	was, is := statusWrite(before, builtInManager), statusWrite(after, builtInManager)
	return is != nil && (was == nil || is.Time.After(was.Time.Time))
}

// builtInWroteLast reports whether Kubernetes' own controller, rather than Ostinato, wrote the status of
// a Job or CronJob last, and before when. Times are in whole seconds; within one it counts as last.
func builtInWroteLast(object metav1.Object) (before time.Time, last bool) {
	theirs := statusWrite(object, builtInManager)
	ours := cmp.Or(statusWrite(object, k8s.JobFieldManager), statusWrite(object, k8s.CronJobFieldManager))
	if theirs == nil || ours != nil && ours.Time.After(theirs.Time.Time) {
		return time.Time{}, false
	}
	return theirs.Time.Add(time.Second), true
}

// statusWrite returns what the API server noted of the manager's last write of the status, or nil.
func statusWrite(object metav1.Object, manager string) *metav1.ManagedFieldsEntry {
	var last *metav1.ManagedFieldsEntry
	for _, entry := range object.GetManagedFields() {
		if entry.Manager == manager && isStatusWrite(entry) && (last == nil || entry.Time.After(last.Time.Time)) {
			last = &entry
		}
	}
	return last
}

// isStatusWrite leaves out entries without a time, which the API server does not make.
func isStatusWrite(entry metav1.ManagedFieldsEntry) bool {
	return entry.Subresource == "status" && entry.Time != nil
}

// statusWrites returns who wrote the status when, without which fields.
func statusWrites(entries []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	writes := slices.DeleteFunc(slices.Clone(entries), func(entry metav1.ManagedFieldsEntry) bool { return !isStatusWrite(entry) })
	for i := range writes {
		writes[i].FieldsV1 = nil
	}
	return writes
}
