// Package claim alone says whose a Pod or a Job is. It is pure. Who reads, writes or deletes a Pod asks it first.
package claim

import (
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/internal/names"
)

// Verdict says what a Pod is to a Job, and what is to be written to it.
type Verdict string

const (
	// Foreign: the Pod is not the Job's. It is left alone.
	Foreign Verdict = "Foreign"
	// Keep: the Pod is the Job's, as it should be.
	Keep Verdict = "Keep"
	// Label: the Pod is the Job's, and lacks the label by which PodWatch sees it.
	Label Verdict = "Label"
	// Adopt: the Pod has no controller, and the Job is to become it.
	Adopt Verdict = "Adopt"
	// Disown: the Job controls the Pod, whose labels match no more. It loses the owner reference and the finalizer.
	Disown Verdict = "Disown"
	// Release: the Pod will not be counted. It loses the finalizer, and one that has ended PodWatch's label; not its
	// owner.
	Release Verdict = "Release"
)

// Own reports whether the Pod is the Job's, so that it may be read, counted, released and deleted for the Job.
func (v Verdict) Own() bool { return v == Keep || v == Label }

// Owner is what is known of the Job for which a Pod is judged.
type Owner struct {
	// Namespace, Name and UID are the Job's. Without a UID only Pods are released that have no controller and name none.
	Namespace, Name string
	UID             types.UID
	// Job is the Job as just read; nil, or one with another UID, when it is gone.
	Job *batchv1.Job
	// TakeOver says that Jobs of the built-in controller are Ostinato's too.
	TakeOver bool
	// Unattended says that no workflow counts Pods of a Job that is being deleted or has finished, as of one that is gone.
	Unattended bool
}

// Of returns the owner that a Job is, as just read.
func Of(job *batchv1.Job, takeOver bool) Owner {
	return Owner{Namespace: job.Namespace, Name: job.Name, UID: job.UID, Job: job, TakeOver: takeOver}
}

// Claimant returns the owner for which a Pod without a controller is judged. found is the Job of the name that the
// Pod's labels give, or that is known by the UID they give; nil when there is none. It counts when the Pod matches it
// or names it; otherwise the Job that the labels name is gone.
func Claimant(pod *corev1.Pod, found *batchv1.Job, takeOver bool) Owner {
	name, uid := Labelled(pod)
	if found != nil {
		if matches, err := Matches(found, pod); matches || err != nil || uid == "" || uid == found.UID {
			return Of(found, takeOver)
		}
	}
	return Owner{Namespace: pod.Namespace, Name: name, UID: uid, TakeOver: takeOver}
}

// Decide says what the Pod is to the Job. It is the rule of parity 2.13:
//
// A Job owns the Pods whose controller reference names it, by kind, name and UID, in its own namespace. Of these it disowns the
// ones whose labels do not match its selector, unless it is being deleted or has finished: then they are not counted
// any more, and are released, so that they go with the Job. A Pod without a controller that matches the selector is
// adopted, also when it has ended, unless the Pod or the Job is being deleted or the Job has finished; then it is
// released, and so is one that names the Job and does not match it. Pods of other controllers are left alone, and so
// are all Pods of a Job that is not Ostinato's.
//
// Two things go beyond the rule. A Pod that has ended without the tracking finalizer, and that Ostinato made or
// watched, was counted already, and is not adopted again. And a Job that is gone is known by what its Pods themselves
// say: their controller reference, or, where they have none, their labels; so naming another Job does not get Pods of a
// living Job released. Only Pods with PodWatch's label are, unless Jobs are taken over: others never were ours.
//
// A selector that can't be read changes nothing.
func Decide(pod *corev1.Pod, owner Owner) Verdict {
	job := owner.Job
	if job != nil && (job.UID != owner.UID || job.Name != owner.Name || job.Namespace != owner.Namespace) {
		job = nil
	}
	switch {
	case pod.Namespace != owner.Namespace:
		return Foreign
	case job == nil:
		return decideGone(pod, owner)
	case owner.UID == "", !Ours(job, owner.TakeOver):
		return Foreign
	case IsControlledBy(pod, owner.Name, owner.UID):
		return decideControlled(pod, owner, job)
	case IsControlled(pod):
		return Foreign
	}
	return decideOrphan(pod, job)
}

// decideGone judges a Pod of a Job that does not exist.
func decideGone(pod *corev1.Pod, owner Owner) Verdict {
	switch {
	case !Watched(pod) && !owner.TakeOver:
		return Foreign
	case IsControlledBy(pod, owner.Name, owner.UID):
		return released(pod)
	case IsControlled(pod):
		return Foreign
	}
	name, uid := Labelled(pod)
	if uid != owner.UID || name != owner.Name && name != "" || name == "" && !Watched(pod) {
		return Foreign
	}
	return released(pod)
}

// decideControlled judges a Pod that the Job controls.
func decideControlled(pod *corev1.Pod, owner Owner, job *batchv1.Job) Verdict {
	over := isOver(job)
	matches, err := Matches(job, pod)
	switch {
	case err != nil:
		return Keep
	case over && owner.Unattended && Tracked(pod):
		return Release
	case !matches && over:
		return released(pod)
	case !matches:
		return Disown
	case pod.Labels[names.WatchBucketLabel] == names.WatchBucket(string(job.UID)), isCounted(pod), over && owner.Unattended:
		return Keep
	}
	return Label
}

// decideOrphan judges a Pod without a controller.
func decideOrphan(pod *corev1.Pod, job *batchv1.Job) Verdict {
	matches, err := Matches(job, pod)
	switch {
	case err != nil:
		return Foreign
	case !matches:
		if name, _ := Labelled(pod); Watched(pod) && name == job.Name {
			return released(pod)
		}
		return Foreign
	case isOver(job), pod.DeletionTimestamp != nil:
		return released(pod)
	case isCounted(pod) && wasOurs(pod, job):
		return Foreign
	}
	return Adopt
}

// released is the verdict for a Pod that will not be counted: there may be nothing to take off any more.
func released(pod *corev1.Pod) Verdict {
	if Tracked(pod) || Watched(pod) && Ended(pod) {
		return Release
	}
	return Foreign
}

// isOver reports whether the Job takes in no Pods any more.
func isOver(job *batchv1.Job) bool { return job.DeletionTimestamp != nil || Finished(job) != nil }

// isCounted reports whether a Pod that is or was of a Job has been counted.
func isCounted(pod *corev1.Pod) bool { return Ended(pod) && !Tracked(pod) }

// wasOurs reports whether Ostinato made the Pod for the Job or has watched it. Others may have made a
// name that reads like Ostinato's, so it takes a write of Ostinato's too, if the Pod says who wrote.
func wasOurs(pod *corev1.Pod, job *batchv1.Job) bool {
	if Watched(pod) {
		return true
	}
	_, named := names.PodAttempt(job.Name, string(job.UID), pod.Name)
	written := len(pod.ManagedFields) == 0 || slices.ContainsFunc(pod.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool {
		return strings.HasPrefix(entry.Manager, names.FieldManagerPrefix)
	})
	return named && written
}
