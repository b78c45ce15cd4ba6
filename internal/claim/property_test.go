package claim_test

import (
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/names"
)

// anyPod draws a Pod that has something of every kind of Pod there is.
func anyPod(t *rapid.T) *corev1.Pod {
	some := func(label string, values ...string) string { return rapid.SampledFrom(values).Draw(t, label) }
	drawn := pod().in(some("namespace", namespace, "elsewhere")).named(some("pod", "a", names.Pod(jobName, jobUID, 1)))
	drawn.Status.Phase = corev1.PodPhase(some("phase", "Pending", "Running", "Succeeded", "Failed"))
	drawn.OwnerReferences = nil
	if rapid.Bool().Draw(t, "owned") {
		reference := controller(some("version", "batch/v1", "apps/v1"), some("kind", "Job", "ReplicaSet"), some("owner", jobName, "other"), some("ownerUID", jobUID, "other-uid"))
		reference.Controller = ptr.To(rapid.Bool().Draw(t, "controller"))
		drawn = drawn.of(reference)
	}
	if rapid.Bool().Draw(t, "released") {
		drawn = drawn.untracked()
	}
	if rapid.Bool().Draw(t, "deleting") {
		drawn = drawn.deleting()
	}
	drawn.Labels = map[string]string{}
	for _, label := range []struct{ key, value, other string }{
		{batchv1.JobNameLabel, jobName, "other"}, {batchv1.ControllerUidLabel, jobUID, "other-uid"},
		{names.WatchBucketLabel, names.WatchBucket(jobUID), "17"}, {"app", "hello", "other"},
	} {
		if value := some(label.key, "", label.value, label.other); value != "" {
			drawn.Labels[label.key] = value
		}
	}
	return drawn.Pod
}

func anyOwner(t *rapid.T) claim.Owner {
	owner := living()
	owner.Job.Spec.ManagedBy = rapid.SampledFrom([]*string{nil, ptr.To(names.JobController), ptr.To("example.com/other")}).Draw(t, "managedBy")
	if rapid.Bool().Draw(t, "manual") {
		owner = owner.manual()
	}
	if rapid.Bool().Draw(t, "job deleting") {
		owner = owner.deleting()
	}
	if rapid.Bool().Draw(t, "job finished") {
		owner = owner.finished()
	}
	if rapid.Bool().Draw(t, "job gone") {
		owner.Job = nil
		owner.Name = rapid.SampledFrom([]string{jobName, "made-up", ""}).Draw(t, "job name")
		owner.UID = rapid.SampledFrom([]types.UID{jobUID, ""}).Draw(t, "job UID")
	}
	owner.TakeOver, owner.Unattended = rapid.Bool().Draw(t, "take over"), rapid.Bool().Draw(t, "unattended")
	return owner.Owner
}

// carryOut writes to the Pod what the verdict asks for.
func carryOut(verdict claim.Verdict, pod *corev1.Pod, owner claim.Owner) *corev1.Pod {
	pod = pod.DeepCopy()
	label := func() { pod.Labels[names.WatchBucketLabel] = names.WatchBucket(string(owner.UID)) }
	release := func() {
		pod.Finalizers = []string{"example.com/archive"}
		if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			delete(pod.Labels, names.WatchBucketLabel)
		}
	}
	switch verdict {
	case claim.Label:
		label()
	case claim.Adopt:
		label()
		pod.Finalizers = []string{names.TrackingFinalizer}
		pod.OwnerReferences = []metav1.OwnerReference{controller("batch/v1", "Job", owner.Name, string(owner.UID))}
	case claim.Disown:
		release()
		pod.OwnerReferences = nil
	case claim.Release:
		release()
	}
	return pod
}

func TestEveryVerdictIsAllowedAndSettlesThePod(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pod, owner := anyPod(t), anyOwner(t)
		verdict := claim.Decide(pod, owner)
		controlled := claim.IsControlledBy(pod, owner.Name, owner.UID)
		living := owner.Job != nil && owner.Job.DeletionTimestamp == nil && claim.Finished(owner.Job) == nil
		_, watched := pod.Labels[names.WatchBucketLabel]
		name, uid := claim.Labelled(pod)
		for rule, broken := range map[string]bool{
			"only Foreign in another namespace":                verdict != claim.Foreign && pod.Namespace != namespace,
			"only Foreign of another's Job":                    verdict != claim.Foreign && owner.Job != nil && !claim.Ours(owner.Job, owner.TakeOver),
			"only Foreign of another controller":               verdict != claim.Foreign && claim.IsControlled(pod) && !controlled,
			"Keep, Label and Disown only what it controls":     slices.Contains([]claim.Verdict{claim.Keep, claim.Label, claim.Disown}, verdict) && (!controlled || owner.Job == nil),
			"Adopt only what nobody controls":                  verdict == claim.Adopt && claim.IsControlled(pod),
			"Adopt only by a living Job":                       verdict == claim.Adopt && !living,
			"Disown only by a living Job":                      verdict == claim.Disown && !living,
			"never adopt what is being deleted":                verdict == claim.Adopt && pod.DeletionTimestamp != nil,
			"Release nothing that a living Job controls":       verdict == claim.Release && controlled && living,
			"Release of a Job that is gone only what names it": verdict == claim.Release && owner.Job == nil && !controlled && (uid != owner.UID || name != "" && name != owner.Name),
			"Release of a Job that is gone only what was ours": verdict == claim.Release && owner.Job == nil && !watched && !owner.TakeOver,
		} {
			if broken {
				t.Fatalf("%v, against the rule: %s", verdict, rule)
			}
		}
		if again := claim.Decide(carryOut(verdict, pod, owner), owner); again != claim.Keep && again != claim.Foreign {
			t.Fatalf("%v, and when that is done %v", verdict, again)
		}
	})
}

// PodWatch does not read a Pod that is left alone.
func TestWhatIsLeftAloneIsNobodys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pod := anyPod(t)
		pod.OwnerReferences, pod.Finalizers, pod.Status.Phase = nil, nil, corev1.PodRunning
		delete(pod.Labels, batchv1.JobNameLabel)
		delete(pod.Labels, batchv1.ControllerUidLabel)
		if !claim.IsLeftAlone(pod) {
			t.Fatalf("%+v may be a Job's", pod.ObjectMeta)
		}
		if verdict := claim.Decide(pod, claim.Claimant(pod, nil, rapid.Bool().Draw(t, "take over"))); verdict != claim.Foreign {
			t.Fatalf("the verdict on %+v is %v", pod.ObjectMeta, verdict)
		}
	})
}
