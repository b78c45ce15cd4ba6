package hostile

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

// secret is what Pods of others say: it may not come back from any activity.
const secret = "the-word-that-nobody-may-read"

// bystanders are objects that are none of Ostinato's. Nothing but an attack writes to
// them: no scheduler or controller has anything to do with them any more.
type bystanders struct {
	namespace string
	// pods are the Pods by what they are, in the bystanders' namespace.
	pods map[string]*corev1.Pod
	// builtIn is a Job of kube-controller-manager, another one of another controller.
	builtIn, another *batchv1.Job
	// native is a CronJob of kube-controller-manager.
	native *batchv1.CronJob
	before map[string]string
}

// newBystanders creates the bystanders in a namespace.
func newBystanders(t *testing.T, namespace string) *bystanders {
	t.Helper()
	b := &bystanders{namespace: namespace, pods: map[string]*corev1.Pod{}}
	deployment, err := stack.Kubernetes.AppsV1().Deployments(namespace).Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(int32(0)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "busybox:1.28"}}},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create a Deployment: %v", err)
	}
	b.builtIn, b.another = b.job(t, "built-in", nil), b.job(t, "another", ptr.To("example.com/controller"))
	b.native = b.cronJob(t, "yearly")
	b.runs(t, "a built-in Job's", b.builtIn)
	// Its controller looks at Pods by their ReplicaSets only, and leaves this one alone.
	b.pod(t, "a Deployment's", metav1.NewControllerRef(deployment, appsv1.SchemeGroupVersion.WithKind("Deployment")))
	b.pod(t, "another Job's", metav1.NewControllerRef(b.another, batchv1.SchemeGroupVersion.WithKind("Job")))
	b.pod(t, "nobody's", nil)
	b.before = b.versions(t)
	return b
}

// job creates a Job that is not Ostinato's.
func (b *bystanders) job(t *testing.T, name string, managedBy *string) *batchv1.Job {
	t.Helper()
	spec := harness.JobSpec(harness.RunSeconds(600))
	spec.ManagedBy = managedBy
	created, err := stack.Kubernetes.BatchV1().Jobs(b.namespace).Create(t.Context(), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create Job %s: %v", name, err)
	}
	return created
}

// cronJob creates a CronJob that is not Ostinato's, and that is not due.
func (b *bystanders) cronJob(t *testing.T, name string) *batchv1.CronJob {
	t.Helper()
	created, err := stack.Kubernetes.BatchV1().CronJobs(b.namespace).Create(t.Context(), &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       batchv1.CronJobSpec{Schedule: harness.Yearly, JobTemplate: batchv1.JobTemplateSpec{Spec: harness.JobSpec()}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create CronJob %s of batch/v1: %v", name, err)
	}
	return created
}

// runs waits for the Pod of a Job of kube-controller-manager, until there is nothing left
// to be written about it, and makes it say something.
func (b *bystanders) runs(t *testing.T, what string, owner *batchv1.Job) {
	t.Helper()
	harness.Eventually(t, begins, func(ctx context.Context) error {
		found, err := stack.Kubernetes.BatchV1().Jobs(b.namespace).Get(ctx, owner.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if found.Status.Active != 1 || found.Status.Ready == nil || *found.Status.Ready != 1 {
			return fmt.Errorf("the status of Job %s is %+v", found.Name, found.Status)
		}
		pods, err := stack.PodsOf(ctx, b.namespace, owner.Name)
		if err != nil {
			return err
		}
		pod := &pods[0]
		pod.Status.Message = secret
		b.pods[what], err = stack.Kubernetes.CoreV1().Pods(b.namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
		return err
	})
}

// pod creates a Pod that failed and says why.
func (b *bystanders) pod(t *testing.T, what string, controller *metav1.OwnerReference) {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: "bystander-", Finalizers: []string{"example.com/hold"},
			Labels: map[string]string{"said": secret},
		},
		Spec: corev1.PodSpec{
			SchedulerName: "nobody", RestartPolicy: corev1.RestartPolicyNever,
			Containers: []corev1.Container{{Name: "main", Image: "busybox:1.28"}},
		},
	}
	if controller != nil {
		pod.OwnerReferences = []metav1.OwnerReference{*controller}
		if controller.Kind == "Job" {
			// kube-controller-manager takes it off all others.
			pod.Finalizers = append(pod.Finalizers, names.TrackingFinalizer)
		}
	}
	pods := stack.Kubernetes.CoreV1().Pods(b.namespace)
	pod, err := pods.Create(t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create a Pod: %v", err)
	}
	pod.Status.Phase, pod.Status.Message, pod.Status.Reason = corev1.PodFailed, secret, "Secret"
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: 3, Message: secret, Reason: "Error"},
	}}}
	if pod, err = pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatalf("write the status of %s Pod: %v", what, err)
	}
	b.pods[what] = pod
	// The finalizer would hold up the namespace for ever.
	t.Cleanup(func() {
		patch := []byte(`{"metadata":{"finalizers":null}}`)
		if _, err := pods.Patch(context.Background(), pod.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Logf("let go of Pod %s: %v", pod.Name, err)
		}
	})
}

// versions are the UIDs and resource versions of all bystanders.
func (b *bystanders) versions(t *testing.T) map[string]string {
	t.Helper()
	versions := map[string]string{}
	note := func(kind schema.GroupResource, object metav1.Object) {
		versions[fmt.Sprintf("%s %s", kind.Resource, object.GetName())] = string(object.GetUID()) + "/" + object.GetResourceVersion()
	}
	for _, pod := range b.pods {
		found, err := stack.Kubernetes.CoreV1().Pods(b.namespace).Get(t.Context(), pod.Name, metav1.GetOptions{})
		if err != nil {
			t.Errorf("a bystander: %v", err)
			continue
		}
		note(corev1.Resource("pods"), found)
	}
	for _, job := range []*batchv1.Job{b.builtIn, b.another} {
		found, err := stack.Kubernetes.BatchV1().Jobs(b.namespace).Get(t.Context(), job.Name, metav1.GetOptions{})
		if err != nil {
			t.Errorf("a bystander: %v", err)
			continue
		}
		note(batchv1.Resource("jobs"), found)
	}
	if found, err := stack.Kubernetes.BatchV1().CronJobs(b.namespace).Get(t.Context(), b.native.Name, metav1.GetOptions{}); err != nil {
		t.Errorf("a bystander: %v", err)
	} else {
		note(batchv1.Resource("cronjobs"), found)
	}
	return versions
}

// wantUnchanged checks that nothing has written to a bystander.
func (b *bystanders) wantUnchanged(t *testing.T) {
	t.Helper()
	after := b.versions(t)
	for _, object := range slices.Sorted(maps.Keys(b.before)) {
		if after[object] != b.before[object] {
			t.Errorf("%s/%s was %s and is %s", b.namespace, object, b.before[object], after[object])
		}
	}
	b.before = after
}

func referenceTo(object metav1.Object) protocol.ObjectReference {
	return protocol.ObjectReference{Namespace: object.GetNamespace(), Name: object.GetName(), UID: string(object.GetUID())}
}

// native says of a reference that it is to a CronJob of batch/v1.
func native(reference protocol.ObjectReference) protocol.ObjectReference {
	reference.Native = true
	return reference
}
