package deploy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/test/stack/deploy/deployment"
)

// hands are what somebody has who got the worker's token, in a namespace with
// objects of every kind of owner.
type hands struct {
	namespace string
	worker    kubernetes.Interface
	cronJobs  k8s.CronJobsGetter
	// ours and second are Jobs of Ostinato, others one of the built-in controller; all
	// are suspended.
	ours, second, others *batchv1.Job
	cronJob              *ostinatov1.CronJob
	native               *batchv1.CronJob
	replicaSet           *appsv1.ReplicaSet
	// bare is a Pod that nobody controls, with labels and finalizers; replica one of the
	// ReplicaSet.
	bare, replica *corev1.Pod
}

var (
	jobKind           = batchv1.SchemeGroupVersion.WithKind("Job")
	nativeCronJobKind = batchv1.SchemeGroupVersion.WithKind("CronJob")
	replicaSetKind    = appsv1.SchemeGroupVersion.WithKind("ReplicaSet")
)

// newHands waits until the policies are in force.
func newHands(t *testing.T) *hands {
	t.Helper()
	clients, err := deployment.Clients(t.Context(), stack.Stack, deployment.WorkerAccount)
	if err != nil {
		t.Fatal(err)
	}
	h := &hands{namespace: stack.Namespace(t), worker: clients.Kubernetes, cronJobs: clients.CronJobs}
	h.ours = stack.CreateJob(t, h.namespace, "ours", harness.JobSpec(suspended))
	h.second = stack.CreateJob(t, h.namespace, "second", harness.JobSpec(suspended))
	h.others, err = stack.Kubernetes.BatchV1().Jobs(h.namespace).Create(t.Context(),
		&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "others"}, Spec: harness.JobSpec(suspended)}, metav1.CreateOptions{})
	fatal(t, err)
	h.cronJob = stack.CreateCronJob(t, harness.NewCronJob(h.namespace, "hello", harness.Yearly, harness.JobSpec()))
	h.native, err = stack.Kubernetes.BatchV1().CronJobs(h.namespace).Create(t.Context(), &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Name: "native"},
		Spec:       batchv1.CronJobSpec{Schedule: harness.Yearly, JobTemplate: batchv1.JobTemplateSpec{Spec: harness.JobSpec()}},
	}, metav1.CreateOptions{})
	fatal(t, err)
	bare := h.pod("bare")
	bare.Labels = map[string]string{"app": "bare", names.WatchBucketLabel: "1"}
	bare.Finalizers = []string{names.TrackingFinalizer, "example.com/archive"}
	h.bare, err = stack.Kubernetes.CoreV1().Pods(h.namespace).Create(t.Context(), bare, metav1.CreateOptions{})
	fatal(t, err)
	t.Cleanup(func() {
		_, err := stack.Kubernetes.CoreV1().Pods(h.namespace).Patch(context.Background(), "bare", types.MergePatchType,
			[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		if err != nil {
			t.Errorf("let the Pod go: %v", err)
		}
	})
	h.startReplica(t)
	// Then their workflows have listed Pods, and touch none that come later.
	for _, job := range []*batchv1.Job{h.ours, h.second} {
		harness.Eventually(t, harness.Slack, func(ctx context.Context) error {
			return stack.JobHas(ctx, h.namespace, job.Name, batchv1.JobSuspended)
		})
	}
	harness.Eventually(t, harness.Slack, func(ctx context.Context) error {
		if err := h.createPod(ctx); !apierrors.IsForbidden(err) {
			return fmt.Errorf("the admission policy is not in force: %w", err)
		}
		return nil
	})
	return h
}

func suspended(spec *batchv1.JobSpec) {
	spec.Suspend = ptr.To(true)
}

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// startReplica has the ReplicaSet controller make a Pod.
func (h *hands) startReplica(t *testing.T) {
	t.Helper()
	labels := map[string]string{"app": "server"}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: h.pod("").Spec}
	template.Spec.RestartPolicy = corev1.RestartPolicyAlways
	var err error
	h.replicaSet, err = stack.Kubernetes.AppsV1().ReplicaSets(h.namespace).Create(t.Context(), &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: "server"},
		Spec:       appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template},
	}, metav1.CreateOptions{})
	fatal(t, err)
	harness.Eventually(t, harness.Slack, func(ctx context.Context) error {
		pods, err := stack.Kubernetes.CoreV1().Pods(h.namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=server"})
		if err == nil && len(pods.Items) == 0 {
			err = errors.New("the ReplicaSet has no Pod")
		}
		if err == nil {
			h.replica = &pods.Items[0]
		}
		return err
	})
}

func (h *hands) pod(name string, owners ...metav1.OwnerReference) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: name, OwnerReferences: owners},
		Spec:       corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: "busybox:1.28"}}},
	}
}

// What is asked for is not done, but admitted or refused.
var dryRun = []string{metav1.DryRunAll}

func (h *hands) createPod(ctx context.Context, owners ...metav1.OwnerReference) error {
	_, err := h.worker.CoreV1().Pods(h.namespace).Create(ctx, h.pod("made-by-hand", owners...), metav1.CreateOptions{DryRun: dryRun})
	return err
}

func (h *hands) deletePod(ctx context.Context, pod *corev1.Pod) error {
	return h.worker.CoreV1().Pods(h.namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{DryRun: dryRun})
}

func (h *hands) patchPod(ctx context.Context, pod *corev1.Pod, patch string) error {
	_, err := h.worker.CoreV1().Pods(h.namespace).Patch(ctx, pod.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{DryRun: dryRun})
	return err
}

func (h *hands) setImage(ctx context.Context, pod *corev1.Pod) error {
	_, err := h.worker.CoreV1().Pods(h.namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType,
		[]byte(`{"spec":{"containers":[{"name":"main","image":"another"}]}}`), metav1.PatchOptions{DryRun: dryRun})
	return err
}

func (h *hands) createJob(ctx context.Context, owners ...metav1.OwnerReference) error {
	_, err := h.worker.BatchV1().Jobs(h.namespace).Create(ctx,
		&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "made-by-hand", OwnerReferences: owners}, Spec: harness.JobSpec()}, metav1.CreateOptions{DryRun: dryRun})
	return err
}

func (h *hands) deleteJob(ctx context.Context, name string) error {
	return h.worker.BatchV1().Jobs(h.namespace).Delete(ctx, name, metav1.DeleteOptions{DryRun: dryRun})
}

func (h *hands) patchJob(ctx context.Context, job *batchv1.Job, patch string, subresources ...string) error {
	_, err := h.worker.BatchV1().Jobs(h.namespace).Patch(ctx, job.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{DryRun: dryRun}, subresources...)
	return err
}

func (h *hands) patchCronJob(ctx context.Context, patch string) error {
	_, err := h.cronJobs.CronJobs(h.namespace).Patch(ctx, h.cronJob.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{DryRun: dryRun})
	return err
}

// ownerReferences is a merge patch that makes the owner the only one.
func ownerReferences(owner metav1.OwnerReference) string {
	return fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":%q,"kind":%q,"name":%q,"uid":%q,"controller":true}]}}`,
		owner.APIVersion, owner.Kind, owner.Name, owner.UID)
}

const (
	onlyPodsOfJobs     = "only Pods that a Job controls"
	noPodToAnother     = "hands no Pod from one Job to another"
	onlyMetadata       = "only the metadata of a Pod"
	onlyJobsOfCronJobs = "only Jobs that a CronJob of batch.ostinato.dev controls"
	onlyManagedJobs    = "only Jobs whose spec.managedBy is ostinato.dev/job-controller"
	noTemplateOrOwner  = "neither the template nor the owner of a Job"
	noScheduleTemplate = "neither the schedule nor the template of a CronJob"
)

// Whoever has the worker's token can do with it what the worker does, and no more.
func TestWhatTheWorkersTokenCanDoByHand(t *testing.T) {
	h := newHands(t)
	of := func(owner metav1.Object, kind schema.GroupVersionKind) metav1.OwnerReference {
		reference := *metav1.NewControllerRef(owner, kind)
		// Another admission plugin asks for a right on the owner where this is set.
		reference.BlockOwnerDeletion = nil
		return reference
	}
	notControlling := of(h.ours, jobKind)
	notControlling.Controller = nil
	later := of(h.ours, jobKind)
	later.APIVersion = "batch.example.com/v1"
	podOfOurs, podOfSecond := h.ownedPod(t, "of-ours", of(h.ours, jobKind)), h.ownedPod(t, "of-second", of(h.second, jobKind))

	for name, test := range map[string]struct {
		act func(context.Context) error
		// refused is what the policy says; empty: admitted.
		refused string
	}{
		"create a Pod":          {func(ctx context.Context) error { return h.createPod(ctx) }, onlyPodsOfJobs},
		"create a Pod of a Job": {func(ctx context.Context) error { return h.createPod(ctx, of(h.ours, jobKind)) }, ""},
		"create a Pod that a Job owns without control": {func(ctx context.Context) error { return h.createPod(ctx, notControlling) }, onlyPodsOfJobs},
		"create a Pod of a ReplicaSet":                 {func(ctx context.Context) error { return h.createPod(ctx, of(h.replicaSet, replicaSetKind)) }, onlyPodsOfJobs},
		"create a Pod of a Job of another API group":   {func(ctx context.Context) error { return h.createPod(ctx, later) }, onlyPodsOfJobs},
		"create a Pod of a CronJob":                    {func(ctx context.Context) error { return h.createPod(ctx, of(h.cronJob, ostinatov1.CronJobKind)) }, onlyPodsOfJobs},
		"delete a Pod that nobody controls":            {func(ctx context.Context) error { return h.deletePod(ctx, h.bare) }, onlyPodsOfJobs},
		"delete a Pod of a ReplicaSet":                 {func(ctx context.Context) error { return h.deletePod(ctx, h.replica) }, onlyPodsOfJobs},
		"delete a Pod of a Job":                        {func(ctx context.Context) error { return h.deletePod(ctx, podOfOurs) }, ""},
		"label a Pod that nobody controls":             {func(ctx context.Context) error { return h.patchPod(ctx, h.bare, `{"metadata":{"labels":{"a":"b"}}}`) }, onlyPodsOfJobs},
		"label a Pod of a ReplicaSet": {func(ctx context.Context) error {
			return h.patchPod(ctx, h.replica, `{"metadata":{"labels":{"a":"b"}}}`)
		}, onlyPodsOfJobs},
		"label a Pod of a Job": {func(ctx context.Context) error {
			return h.patchPod(ctx, podOfOurs, `{"metadata":{"labels":{"a":"b"}}}`)
		}, ""},
		"let a Pod go": {func(ctx context.Context) error {
			return h.patchPod(ctx, h.bare, `{"metadata":{"finalizers":["example.com/archive"],"labels":{"ostinato.dev/watch-bucket":null}}}`)
		}, ""},
		"take another label from a Pod that is let go": {func(ctx context.Context) error {
			return h.patchPod(ctx, h.bare, `{"metadata":{"finalizers":["example.com/archive"],"labels":{"app":null}}}`)
		}, onlyPodsOfJobs},
		"take another finalizer from a Pod that is let go": {func(ctx context.Context) error { return h.patchPod(ctx, h.bare, `{"metadata":{"finalizers":[]}}`) }, onlyPodsOfJobs},
		"change our label of a Pod that nobody controls": {func(ctx context.Context) error {
			return h.patchPod(ctx, h.bare, `{"metadata":{"labels":{"ostinato.dev/watch-bucket":"2"}}}`)
		}, onlyPodsOfJobs},
		"annotate a Pod that is let go": {func(ctx context.Context) error {
			return h.patchPod(ctx, h.bare, `{"metadata":{"finalizers":["example.com/archive"],"annotations":{"a":"b"}}}`)
		}, onlyPodsOfJobs},
		"adopt a Pod": {func(ctx context.Context) error { return h.patchPod(ctx, h.bare, ownerReferences(of(h.ours, jobKind))) }, ""},
		"disown a Pod": {func(ctx context.Context) error {
			return h.patchPod(ctx, podOfOurs, `{"metadata":{"ownerReferences":null}}`)
		}, ""},
		"take a Pod from a ReplicaSet": {func(ctx context.Context) error {
			return h.patchPod(ctx, h.replica, ownerReferences(of(h.ours, jobKind)))
		}, onlyPodsOfJobs},
		"take a Pod from another Job": {func(ctx context.Context) error {
			return h.patchPod(ctx, podOfSecond, ownerReferences(of(h.ours, jobKind)))
		}, noPodToAnother},
		"set the image of a Pod of a Job": {func(ctx context.Context) error {
			return h.setImage(ctx, podOfOurs)
		}, onlyMetadata},
		"create a Job":                                    {func(ctx context.Context) error { return h.createJob(ctx) }, onlyJobsOfCronJobs},
		"create a Job of our CronJob":                     {func(ctx context.Context) error { return h.createJob(ctx, of(h.cronJob, ostinatov1.CronJobKind)) }, ""},
		"create a Job of a native CronJob":                {func(ctx context.Context) error { return h.createJob(ctx, of(h.native, nativeCronJobKind)) }, onlyJobsOfCronJobs},
		"delete a Job of nobody's":                        {func(ctx context.Context) error { return h.deleteJob(ctx, h.ours.Name) }, onlyJobsOfCronJobs},
		"suspend a Job of Ostinato's":                     {func(ctx context.Context) error { return h.patchJob(ctx, h.ours, `{"spec":{"suspend":false}}`) }, ""},
		"suspend a Job of the built-in controller":        {func(ctx context.Context) error { return h.patchJob(ctx, h.others, `{"spec":{"suspend":false}}`) }, onlyManagedJobs},
		"write the status of a Job of Ostinato's":         {func(ctx context.Context) error { return h.patchJob(ctx, h.ours, `{"status":{"failed":3}}`, "status") }, ""},
		"write the status of a built-in controller's Job": {func(ctx context.Context) error { return h.patchJob(ctx, h.others, `{"status":{"failed":3}}`, "status") }, onlyManagedJobs},
		"change the template of a suspended Job": {func(ctx context.Context) error {
			return h.patchJob(ctx, h.ours, `{"spec":{"template":{"spec":{"nodeSelector":{"a":"b"}}}}}`)
		}, noTemplateOrOwner},
		"make a Job a CronJob's": {func(ctx context.Context) error {
			return h.patchJob(ctx, h.ours, ownerReferences(of(h.cronJob, ostinatov1.CronJobKind)))
		}, noTemplateOrOwner},
		"suspend a CronJob": {func(ctx context.Context) error {
			return h.patchCronJob(ctx, `{"spec":{"suspend":true},"metadata":{"annotations":{"a":"b"}}}`)
		}, ""},
		"change what a CronJob runs": {func(ctx context.Context) error {
			return h.patchCronJob(ctx, `{"spec":{"jobTemplate":{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"another"}]}}}}}}`)
		}, noScheduleTemplate},
		"change when a CronJob runs": {func(ctx context.Context) error { return h.patchCronJob(ctx, `{"spec":{"schedule":"* * * * *"}}`) }, noScheduleTemplate},
	} {
		t.Run(name, func(t *testing.T) {
			err := test.act(t.Context())
			switch {
			case test.refused == "" && err != nil:
				t.Errorf("refused: %v", err)
			case test.refused != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), test.refused)):
				t.Errorf("%v, want it to be forbidden with %q", err, test.refused)
			}
		})
	}
}

// ownedPod creates a Pod that the owner controls, as an administrator.
func (h *hands) ownedPod(t *testing.T, name string, owner metav1.OwnerReference) *corev1.Pod {
	t.Helper()
	created, err := stack.Kubernetes.CoreV1().Pods(h.namespace).Create(t.Context(), h.pod(name, owner), metav1.CreateOptions{})
	fatal(t, err)
	return created
}

// Kubernetes checks the policies' expressions against the kinds they are about, and
// finds nothing to warn of.
func TestThePoliciesAreWellTyped(t *testing.T) {
	for _, name := range []string{"ostinato-worker-pods", "ostinato-worker-jobs", "ostinato-worker-cronjobs", "ostinato-bridge-cronjobs",
		"ostinato-events", "ostinato-jobs-status", "ostinato-cronjobs-status", "ostinato-native-cronjobs-status"} {
		harness.Eventually(t, harness.Slack, func(ctx context.Context) error { return deployment.WellTyped(ctx, stack.Kubernetes, name) })
	}
}
