package k8s_test

import (
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
)

// ownedPod is a Pod of the hello Job with another owner and another finalizer.
func ownedPod() *corev1.Pod {
	owned := pod(corev1.PodRunning)
	owned.Labels = map[string]string{
		"app": "hello", batchv1.ControllerUidLabel: "job-uid", names.WatchBucketLabel: names.WatchBucket("job-uid"),
	}
	owned.Finalizers = append(owned.Finalizers, "example.com/archive")
	owned.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: "other", UID: "other-uid"},
		*metav1.NewControllerRef(helloJob("hello-1"), batchv1.SchemeGroupVersion.WithKind("Job")),
	}
	return owned.Pod
}

func storedPod(t *testing.T, client *fake.Clientset) *corev1.Pod {
	t.Helper()
	stored, err := client.CoreV1().Pods("default").Get(t.Context(), "hello-1-abcde", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

func TestAdoptPod(t *testing.T) {
	orphan := ownedPod()
	orphan.Finalizers = []string{"example.com/archive"}
	orphan.OwnerReferences = orphan.OwnerReferences[:1]
	orphan.Labels = map[string]string{"app": "hello"}
	client := fake.NewClientset(orphan)
	adopted, err := k8s.CarryOut(t.Context(), client, claim.Adopt, claim.Of(helloJob("hello-1"), false), orphan)
	if err != nil || adopted == nil {
		t.Fatalf("adopted %v, error %v", adopted, err)
	}
	name, uid, ok := claim.JobOf(adopted)
	if !ok || name != "hello-1" || uid != "job-uid" || len(adopted.OwnerReferences) != 2 {
		t.Errorf("owners %v", adopted.OwnerReferences)
	}
	if reference := metav1.GetControllerOf(adopted); reference == nil || !*reference.BlockOwnerDeletion {
		t.Errorf("controller %v", reference)
	}
	if !claim.Tracked(adopted) || !slices.Contains(adopted.Finalizers, "example.com/archive") {
		t.Errorf("finalizers %v", adopted.Finalizers)
	}
	if adopted.Labels["app"] != "hello" || adopted.Labels[names.WatchBucketLabel] != names.WatchBucket("job-uid") {
		t.Errorf("labels %v", adopted.Labels)
	}
}

func TestDisownPod(t *testing.T) {
	for phase, seen := range map[corev1.PodPhase]bool{corev1.PodRunning: true, corev1.PodSucceeded: false} {
		t.Run(string(phase), func(t *testing.T) {
			owned := ownedPod()
			owned.Status.Phase = phase
			client := fake.NewClientset(owned)
			if _, err := k8s.CarryOut(t.Context(), client, claim.Disown, claim.Of(helloJob("hello-1"), false), owned); err != nil {
				t.Fatal(err)
			}
			stored := storedPod(t, client)
			if len(stored.OwnerReferences) != 1 || stored.OwnerReferences[0].UID != "other-uid" {
				t.Errorf("owners %v", stored.OwnerReferences)
			}
			if !slices.Equal(stored.Finalizers, []string{"example.com/archive"}) {
				t.Errorf("finalizers %v", stored.Finalizers)
			}
			if _, ok := stored.Labels[names.WatchBucketLabel]; ok != seen || stored.Labels["app"] != "hello" {
				t.Errorf("labels %v", stored.Labels)
			}
		})
	}
}

func TestWhoMadeAPod(t *testing.T) {
	entry := func(manager, subresource, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Subresource: subresource, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	const spec, meta = `{"f:metadata":{},"f:spec":{"f:containers":{}}}`, `{"f:metadata":{}}`
	tests := map[string]struct {
		entries   []metav1.ManagedFieldsEntry
		elsewhere bool
	}{
		"nobody knows":              {nil, false},
		"Ostinato":                  {[]metav1.ManagedFieldsEntry{entry("kubelet", "status", spec), entry(k8s.JobFieldManager, "", spec)}, false},
		"Ostinato, edited by hand":  {[]metav1.ManagedFieldsEntry{entry("kubectl-edit", "", spec), entry(k8s.JobFieldManager, "", spec)}, false},
		"the built-in controller":   {[]metav1.ManagedFieldsEntry{entry("kube-controller-manager", "", spec)}, true},
		"a person, adopted by us":   {[]metav1.ManagedFieldsEntry{entry("kubectl-create", "", spec), entry(k8s.JobFieldManager, "", meta)}, true},
		"others wrote the metadata": {[]metav1.ManagedFieldsEntry{entry("kubectl-label", "", meta)}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			made := ownedPod()
			made.ManagedFields = test.entries
			trimmed, err := k8s.TrimPod(made)
			if err != nil {
				t.Fatal(err)
			}
			if whole, small := k8s.MadeElsewhere(made), k8s.MadeElsewhere(trimmed.(*corev1.Pod)); whole != test.elsewhere || small != whole {
				t.Errorf("made elsewhere: %v, by the trimmed Pod %v", whole, small)
			}
		})
	}
}

func TestReleaseTakesTheLabelOffAPodThatEnded(t *testing.T) {
	for name, ended := range map[string]bool{"it can still run": false, "it ended": true} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset(ownedPod())
			for range 2 {
				if released, err := k8s.ReleasePod(t.Context(), client, "default", "hello-1-abcde", "pod-uid", ended); err != nil || !released {
					t.Fatalf("released %v, error %v", released, err)
				}
			}
			stored := storedPod(t, client)
			if _, labelled := stored.Labels[names.WatchBucketLabel]; labelled == ended {
				t.Errorf("labels %v", stored.Labels)
			}
			if !slices.Equal(stored.Finalizers, []string{"example.com/archive"}) || len(stored.OwnerReferences) != 2 {
				t.Errorf("finalizers %v, owners %v", stored.Finalizers, stored.OwnerReferences)
			}
		})
	}
}

func TestClaimsOnAPodThatIsGoneOrTaken(t *testing.T) {
	tests := map[string]error{
		"gone":     apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "x"),
		"replaced": apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "x", nil),
		"taken":    apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "x", nil),
	}
	for name, refused := range tests {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset(ownedPod())
			client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, refused })
			for _, verdict := range []claim.Verdict{claim.Adopt, claim.Label, claim.Disown} {
				if stored, err := k8s.CarryOut(t.Context(), client, verdict, claim.Of(helloJob("hello-1"), false), ownedPod()); err != nil || stored != nil {
					t.Errorf("%v: stored %v, error %v", verdict, stored, err)
				}
			}
		})
	}
}
