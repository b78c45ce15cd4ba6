package activities

import (
	"context"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
)

// refuseOverlooked says why the creates would make another Pod of an index that has one
// which ended and of which the plan does not know. The API server's watch cache may not
// have heard of a release yet, so only what it says a second time, live, counts.
func (a *Activities) refuseOverlooked(ctx context.Context, owner *batchv1.Job, creates []job.Create) (refusal string, err error) {
	if !slices.ContainsFunc(creates, func(create job.Create) bool { return create.Index != nil }) {
		return "", nil
	}
	for _, version := range []string{"0", ""} {
		pods, err := a.endedPods(ctx, owner, version)
		if err != nil {
			return "", err
		}
		if refusal = job.Overlooked(creates, pods); refusal == "" {
			return "", nil
		}
	}
	return refusal, nil
}

// endedPods returns the Job's Pods that ended and were not released: a release takes the
// label away too, so that they are few, however many Pods the Job had.
func (a *Activities) endedPods(ctx context.Context, owner *batchv1.Job, version string) ([]job.PodFact, error) {
	selector, err := claim.Selector(owner)
	if err != nil {
		return nil, invalidRequest(err)
	}
	labelled, err := labels.NewRequirement(names.WatchBucketLabel, selection.Exists, nil)
	if err != nil {
		return nil, invalidRequest(err)
	}
	pods, err := a.Kubernetes.CoreV1().Pods(owner.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: selector.Add(*labelled).String(),
		FieldSelector: "status.phase!=" + string(corev1.PodPending) + ",status.phase!=" + string(corev1.PodRunning) +
			",status.phase!=" + string(corev1.PodUnknown),
		ResourceVersion: version,
	})
	if err != nil {
		return nil, outage(err, "list Pods of Job %s/%s that ended", owner.Namespace, owner.Name)
	}
	var ended []job.PodFact
	for i := range pods.Items {
		if pod := &pods.Items[i]; claim.Decide(pod, a.owner(owner)).Own() {
			ended = append(ended, k8s.PodFact(pod))
		}
	}
	return ended, nil
}
