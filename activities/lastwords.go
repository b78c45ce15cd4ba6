package activities

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
)

// lastWordsTimeout bounds the look at the Pods of a Job that is gone.
const lastWordsTimeout = 5 * time.Second

// lastWords describes the newest Pods that are ended with a Job that is gone or is being deleted, and reads the ends of
// their logs. For garbage collection to delete them it waits a moment. It never fails: what can't be read in time is
// missing.
func (a *Activities) lastWords(ctx context.Context, owner claim.Owner) (ended []job.PodFact, logs []job.PodLog) {
	ctx, cancel := context.WithTimeout(ctx, lastWordsTimeout)
	defer cancel()
	var pods []*corev1.Pod
	for looks := 1; ; looks++ {
		found, awaited, err := a.endedWith(ctx, owner)
		if err != nil {
			break
		}
		pods = found
		if !awaited || looks == deleteLooks || !waits(ctx, deleteLook) {
			break
		}
	}
	logs, _ = gather(pods, func(pod *corev1.Pod) (job.PodLog, error) {
		log := job.PodLog{UID: string(pod.UID), Missing: a.noLog()}
		if log.Missing == "" {
			log.Lines, log.Missing = a.logOf(ctx, owner.Job, pod)
		}
		return log, nil
	})
	for _, pod := range pods {
		ended = append(ended, k8s.PodFact(pod))
	}
	return ended, logs
}

// endedWith returns the newest Pods of a Job that is gone or is being deleted which have failed or can run, and were
// not counted; awaited says that one of them is yet to be deleted. The built-in controller may have taken their
// finalizer, as of every Pod whose Job is gone.
func (a *Activities) endedWith(ctx context.Context, owner claim.Owner) (pods []*corev1.Pod, awaited bool, err error) {
	collected := owner.Job == nil || deletesPods(owner.Job)
	selector := labelled(string(owner.UID))
	err = k8s.EachPod(ctx, a.Kubernetes, owner.Namespace, selector, podPage, func(pod *corev1.Pod) error {
		controlled := claim.IsControlledBy(pod, owner.Name, owner.UID)
		ours := claim.Decide(pod, owner) == claim.Release || claim.Watched(pod) && controlled
		if !ours || pod.Status.Phase == corev1.PodSucceeded || claim.Ended(pod) && !claim.Tracked(pod) {
			return nil
		}
		awaited = awaited || collected && controlled && !isEvidence(owner.Job, pod)
		pods = append(pods, pod)
		slices.SortStableFunc(pods, func(a, b *corev1.Pod) int {
			return b.CreationTimestamp.Compare(a.CreationTimestamp.Time)
		})
		pods = pods[:min(len(pods), job.MaxEnded)]
		return nil
	})
	return pods, awaited, err
}
