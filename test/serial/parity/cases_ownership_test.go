package parity

import (
	"context"
	"fmt"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/dev/harness"
)

// bySelector is a Job with a selector of its own; what its Pods are named by is
// its label, too, because the cases find Pods by it.
func bySelector(name string, options ...harness.JobOption) testCase {
	selector := map[string]string{"app": name, batchv1.JobNameLabel: name}
	return testCase{name: name, spec: endless(append([]harness.JobOption{harness.ManualSelector(selector)}, options...)...)}
}

// ownershipCases are about selectors, and Pods that become a Job's or are no longer.
var ownershipCases = []testCase{
	bySelector("selector-of-its-own").in(running(1).then(succeed(onePod)), finished(batchv1.JobComplete)),
	bySelector("adopts-a-running-pod").prepared(pods(1, endless(), corev1.PodRunning)).in(
		running(1).and(made(1), allOwn).then(succeed(onePod)), finished(batchv1.JobComplete)),
	bySelector("adopts-and-makes-the-rest", harness.Parallelism(3), harness.Completions(3)).prepared(pods(1, endless(), corev1.PodRunning)).in(
		running(3).and(made(3), allOwn).then(succeed(eachPod)), finished(batchv1.JobComplete)),
	bySelector("adopts-more-than-it-wants", harness.Parallelism(1)).prepared(pods(3, endless(), corev1.PodRunning)).in(
		running(1).and(made(3), allOwn).then(succeed(eachPod)), finished(batchv1.JobComplete)),
	bySelector("adopts-what-has-succeeded").prepared(pods(1, harness.JobSpec(), corev1.PodSucceeded)).in(
		finished(batchv1.JobComplete).and(made(1), allOwn)),
	bySelector("adopts-too-much-success", harness.Completions(1)).prepared(pods(2, harness.JobSpec(), corev1.PodSucceeded)).in(
		finished(batchv1.JobComplete).and(made(2), allOwn)),
	bySelector("adopts-what-has-failed").prepared(pods(1, harness.JobSpec(harness.ExitCode(1)), corev1.PodFailed)).in(
		counted(1, 0).and(made(1), allOwn), running(1).then(succeed(onePod)), finished(batchv1.JobComplete)),
	bySelector("adopts-nothing-of-others").prepared(ownedPod).in(
		state("1 of 2 is its own", counts(1, 1, 0), made(2), unfinishedAre(2, corev1.PodRunning))),
	bySelector("adopts-nothing-while-suspended", harness.Suspended()).prepared(pods(1, endless(), corev1.PodRunning)).in(
		suspendedNow().then(suspend(false)), running(1).and(allOwn)),

	newCase("adopts-a-copy", endless(),
		running(1).then(aSecondLater, copyPods(onePod, func(pod *corev1.Pod) { pod.OwnerReferences, pod.Finalizers = nil, nil })),
		running(1).and(made(2), allOwn).then(succeed(onePod)),
		finished(batchv1.JobComplete)),
	// Meanwhile the built-in controller, which sees a Pod of nobody, may take the finalizer
	// off. The Pod counts all the same.
	newCase("adopts-its-own-again", endless(),
		running(1).then(patchPods(onePod, `{"metadata":{"ownerReferences":null}}`)),
		running(1).and(made(1), allOwn).then(succeed(onePod)),
		finished(batchv1.JobComplete)),
	newCase("lets-a-pod-go", endless(),
		running(1).then(patchPods(onePod, `{"metadata":{"labels":{"batch.kubernetes.io/controller-uid":null}}}`)),
		state("1 running, 1 let go", counts(1, 1, 0), unfinishedAre(2, corev1.PodRunning), made(2), letGo(1)).then(succeed(controlled)),
		finished(batchv1.JobComplete).and(letGo(1))),
	newCase("lets-a-pod-go-and-takes-it-back", endless(),
		running(1).then(patchPods(onePod, `{"metadata":{"labels":{"batch.kubernetes.io/controller-uid":null}}}`)),
		state("1 running, 1 let go", counts(1, 1, 0), unfinishedAre(2, corev1.PodRunning), made(2), letGo(1)).then(labelAgain),
		running(1).and(allOwn, made(2)).then(succeed(onePod)),
		finished(batchv1.JobComplete)),
	newCase("indexed-lets-a-pod-go", endless(harness.Indexed(2)),
		running(2).then(patchPods(index(1), `{"metadata":{"labels":{"batch.kubernetes.io/controller-uid":"another"}}}`)),
		state("2 running, 1 let go", counts(2, 2, 0), unfinishedAre(3, corev1.PodRunning), made(3), letGo(1)).then(succeed(controlled)),
		finished(batchv1.JobComplete).and(letGo(1))),
}

// in gives the case its steps.
func (c testCase) in(steps ...step) testCase {
	c.steps = steps
	return c
}

// pods creates Pods that nobody owns, with the labels that the Job will select,
// and waits until they are in the phase.
func pods(count int, like batchv1.JobSpec, phase corev1.PodPhase) func(*testing.T, *ground, string) {
	return func(t *testing.T, on *ground, name string) {
		t.Helper()
		for range count {
			on.createPod(t, name, like, nil)
		}
		harness.Eventually(t, patience, func(ctx context.Context) error {
			return stack.PodsAre(ctx, on.namespace, name, phase, count)
		})
	}
}

// ownedPod creates a Pod like pods does that has a controller.
func ownedPod(t *testing.T, on *ground, name string) {
	t.Helper()
	owner, err := stack.Kubernetes.CoreV1().ConfigMaps(on.namespace).Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	on.createPod(t, name, endless(), []metav1.OwnerReference{*metav1.NewControllerRef(owner, corev1.SchemeGroupVersion.WithKind("ConfigMap"))})
	harness.Eventually(t, patience, func(ctx context.Context) error {
		return stack.PodsAre(ctx, on.namespace, name, corev1.PodRunning, 1)
	})
}

func (g *ground) createPod(t *testing.T, job string, like batchv1.JobSpec, owners []metav1.OwnerReference) {
	t.Helper()
	_, err := stack.Kubernetes.CoreV1().Pods(g.namespace).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: job + "-", Labels: map[string]string{"app": job, batchv1.JobNameLabel: job},
			Annotations: like.Template.Annotations, OwnerReferences: owners,
		},
		Spec: like.Template.Spec,
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// controlled picks the Job's own Pods that have not ended.
func controlled(s subject) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, pod := range s.unfinished() {
		if metav1.IsControlledBy(pod, s.job) {
			pods = append(pods, pod)
		}
	}
	return pods
}

// letGo checks that so many Pods have neither controller nor finalizer.
func letGo(count int) check {
	return func(s subject) error {
		free := 0
		for _, pod := range s.pods {
			if metav1.GetControllerOf(pod) == nil && !harness.Tracked(pod) {
				free++
			}
		}
		if free != count {
			return fmt.Errorf("%d Pods were let go", free)
		}
		return nil
	}
}

// uncontrolled picks the Pods that are not the Job's and have not ended.
func uncontrolled(s subject) []*corev1.Pod {
	return slices.DeleteFunc(s.unfinished(), func(pod *corev1.Pod) bool { return metav1.IsControlledBy(pod, s.job) })
}

// labelAgain gives the Pods that were let go the label by which the Job selects. It may delete another for them at once.
func labelAgain(ctx context.Context, s subject) error {
	return patchPods(uncontrolled, fmt.Sprintf(`{"metadata":{"labels":{"batch.kubernetes.io/controller-uid":%q}}}`, s.job.UID))(ctx, s)
}
