package job_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/job"
)

// maxSpec is the most that the Spec of a Job takes in an input, a signal or an answer: a
// podFailurePolicy as large as the API server takes it, of names that hardly compress.
const maxSpec = 128 << 10

// largestJob has policies as large as the API server takes them.
func largestJob() *batchv1.Job {
	random := rand.New(rand.NewPCG(1, 2))
	text := func(length int) string {
		name := make([]byte, length)
		for i := range name {
			name[i] = "abcdefghijklmnopqrstuvwxyz0123456789"[random.IntN(36)]
		}
		return string(name)
	}
	object := &batchv1.Job{}
	object.Spec.SuccessPolicy, object.Spec.PodFailurePolicy = &batchv1.SuccessPolicy{}, &batchv1.PodFailurePolicy{}
	for range 20 {
		object.Spec.SuccessPolicy.Rules = append(object.Spec.SuccessPolicy.Rules,
			batchv1.SuccessPolicyRule{SucceededIndexes: pointer(strings.Repeat("1", 64<<10))})
		rule := batchv1.PodFailurePolicyRule{Action: batchv1.PodFailurePolicyActionIgnore}
		for range 20 {
			kind := text(253) + "/" + text(63)
			rule.OnPodConditions = append(rule.OnPodConditions, batchv1.PodFailurePolicyOnPodConditionsPattern{
				Type: corev1.PodConditionType(kind), Status: corev1.ConditionTrue,
			})
		}
		object.Spec.PodFailurePolicy.Rules = append(object.Spec.PodFailurePolicy.Rules, rule)
	}
	return object
}

func TestTheSpecOfTheLargestJobIsSmall(t *testing.T) {
	object := largestJob()
	spec := job.SpecOf(object)
	data, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > maxSpec {
		t.Errorf("the Spec takes %d bytes, want %d at most", len(data), maxSpec)
	}
	var back job.Spec
	if err := json.Unmarshal(data, &back); err != nil || back.Digest() != spec.Digest() {
		t.Errorf("what is read is another Spec, error %v", err)
	}
}
