package k8s_test

import (
	"encoding/json"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
)

// secret is what no fact may repeat.
const secret = "the password is swordfish"

func (p podBuilder) annotated(key, value string) podBuilder {
	p.Annotations = map[string]string{key: value}
	return p
}

// Whichever message of a Pod has the secret, its fact has it only where the Pod's
// annotation lets it, from a whole Pod and from one that the informer has trimmed;
// what Kubernetes says in words of its own is there either way.
func TestMessagesOfAPodObeyItsEvidenceAnnotation(t *testing.T) {
	ended := func(message string) corev1.ContainerStatus {
		status := terminated("a", 3, 5)
		status.State.Terminated.Message = message
		return status
	}
	restarted := corev1.ContainerStatus{Name: "a", RestartCount: 1, LastTerminationState: ended(secret).State}
	evicted := func() podBuilder {
		evicted := pod(corev1.PodFailed)
		evicted.Status.Reason, evicted.Status.Message = "Evicted", secret
		return evicted
	}
	for name, test := range map[string]struct {
		pod  func() podBuilder
		says string
	}{
		"termination message":     {func() podBuilder { return pod(corev1.PodFailed).container(ended(secret)) }, "Error"},
		"of an init container":    {func() podBuilder { return pod(corev1.PodFailed).initContainer(ended(secret)) }, "Error"},
		"of an earlier container": {func() podBuilder { return pod(corev1.PodRunning).container(restarted) }, "Error"},
		"of a container that ended while another runs": {func() podBuilder {
			return pod(corev1.PodRunning).running("b", 0).container(ended(secret))
		}, "Error"},
		"the Pod's own": {evicted, "Evicted"},
		"of a waiting container": {func() podBuilder {
			return pod(corev1.PodPending).on("node").container(waiting("a", "CreateContainerConfigError", secret))
		}, "CreateContainerConfigError"},
		"of a waiting container that failed before": {func() podBuilder {
			status := waiting("a", "RunContainerError", secret)
			status.LastTerminationState = ended(secret).State
			return pod(corev1.PodPending).on("node").container(status)
		}, "Error"},
		"the scheduler's": {func() podBuilder {
			return pod(corev1.PodPending).condition(corev1.PodScheduled, corev1.ConditionFalse, "Unschedulable", secret)
		}, "Unschedulable"},
	} {
		t.Run(name, func(t *testing.T) {
			for annotation, keeps := range map[string]bool{"full": true, "reason": false, "nothing": false} {
				for _, trim := range []bool{false, true} {
					fact, whole := factOf(t, test.pod().annotated(names.EvidenceAnnotation, annotation).Pod, trim)
					if strings.Contains(fact, secret) != keeps {
						t.Errorf("annotation %q, trimmed %v: %s", annotation, trim, fact)
					}
					if !strings.Contains(fact, test.says) {
						t.Errorf("annotation %q, trimmed %v: %q is missing in %s", annotation, trim, test.says, fact)
					}
					if whole.ExitCode != k8s.PodFact(test.pod().Pod).ExitCode {
						t.Errorf("annotation %q, trimmed %v: exit code %d", annotation, trim, whole.ExitCode)
					}
				}
			}
			fact, _ := factOf(t, test.pod().Pod, false)
			if !strings.Contains(fact, secret) {
				t.Errorf("without an annotation: %s", fact)
			}
		})
	}
}

func factOf(t *testing.T, whole *corev1.Pod, trim bool) (string, job.PodFact) {
	t.Helper()
	if trim {
		trimmed, err := k8s.TrimPod(whole)
		if err != nil {
			t.Fatal(err)
		}
		whole = trimmed.(*corev1.Pod)
	}
	before := whole.DeepCopy()
	fact := k8s.PodFact(whole)
	if whole.String() != before.String() {
		t.Error("PodFact changed the Pod")
	}
	text, err := json.Marshal(fact)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), fact
}

// A Pod is rendered with the strictest of what its template and its Job say.
func TestRenderedPodsCarryTheStrictestEvidence(t *testing.T) {
	for name, test := range map[string]struct{ job, template, want string }{
		"nobody says anything":            {"", "", ""},
		"the Job asks for less":           {"reason", "", "reason"},
		"the template asks for less":      {"", "reason", "reason"},
		"the Job can't ask for more":      {"full", "reason", "reason"},
		"the template can't ask for more": {"reason", "full", "reason"},
		"both keep everything":            {"full", "full", "full"},
		"everything is the default":       {"full", "", ""},
		"a word that is none":             {"none", "full", "reason"},
	} {
		t.Run(name, func(t *testing.T) {
			owner := helloJob("hello-1")
			if test.job != "" {
				owner.Annotations = map[string]string{names.EvidenceAnnotation: test.job}
			}
			if test.template != "" {
				owner.Spec.Template.Annotations[names.EvidenceAnnotation] = test.template
			}
			before := owner.DeepCopy()
			for _, create := range []job.Create{{Name: "hello-1-abcde"}, {Name: "hello-1-3-abcde", Index: ptr.To(int32(3))}} {
				rendered := k8s.RenderPod(owner, create)
				if got := rendered.Annotations[names.EvidenceAnnotation]; got != test.want {
					t.Errorf("annotation %q, want %q", got, test.want)
				}
				if rendered.Annotations["note"] != "kept" || create.Index != nil && rendered.Annotations[batchv1.JobCompletionIndexAnnotation] != "3" {
					t.Errorf("annotations %v", rendered.Annotations)
				}
			}
			if owner.String() != before.String() {
				t.Error("RenderPod changed the Job")
			}
		})
	}
}
