package bridge

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/k8s"
)

// probeLabel marks the Jobs by which a bridge asks whether the built-in job
// controller runs.
const probeLabel = "ostinato.dev/takeover-probe"

// builtInManager is the field manager of Kubernetes' own controllers.
const builtInManager = "kube-controller-manager"

// ownership says which Jobs are Ostinato's.
type ownership struct {
	// takeOverJobs: those that name the built-in controller or nobody are, too.
	takeOverJobs bool
	// probeNamespace is where Jobs with probeLabel are nobody's.
	probeNamespace string
}

// ours reports whether the Job is Ostinato's to reconcile.
func (o ownership) ours(job *batchv1.Job) bool {
	return claim.Ours(job, o.takeOverJobs) && !o.probe(job)
}

// probe reports whether the Job is a bridge's question to the cluster.
func (o ownership) probe(job *batchv1.Job) bool {
	_, marked := job.Labels[probeLabel]
	return marked && job.Namespace == o.probeNamespace
}

// builtInWrote reports whether Kubernetes' own job controller has written the
// status between two states of a Job.
func builtInWrote(before, after *batchv1.Job) bool {
	was, is := statusWrite(before, builtInManager), statusWrite(after, builtInManager)
	return is != nil && (was == nil || is.Time.After(was.Time.Time))
}

// builtInWroteLast reports whether Kubernetes' own job controller was the last of
// the two to write the Job's status, and when. Within a second it counts as last.
func builtInWroteLast(job *batchv1.Job) (at time.Time, last bool) {
	theirs, ours := statusWrite(job, builtInManager), statusWrite(job, k8s.JobFieldManager)
	if theirs == nil || ours != nil && ours.Time.After(theirs.Time.Time) {
		return time.Time{}, false
	}
	return theirs.Time.Time, true
}

// statusWrite returns what the API server noted of the manager's last write of
// the status, or nil.
func statusWrite(job *batchv1.Job, manager string) *metav1.ManagedFieldsEntry {
	var last *metav1.ManagedFieldsEntry
	for i, entry := range job.ManagedFields {
		if entry.Manager == manager && isStatusWrite(entry) && (last == nil || entry.Time.After(last.Time.Time)) {
			last = &job.ManagedFields[i]
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
