package admission

import (
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// An object of the time before a rule can still be suspended, and its status written; an
// edit of what is wrong has to mend it.
func TestAnOldObjectIsNotHeldUp(t *testing.T) {
	definition, err := definition()
	if err != nil {
		t.Fatal(err)
	}
	// Of another name, so that the rules of the other tests stay in force.
	group := "before-" + strconv.FormatInt(time.Now().UnixNano(), 36) + ".ostinato.dev"
	lenient := renamed(definition, group)
	withoutRules(lenient.Object)
	if err := serve(t.Context(), lenient); err != nil {
		t.Fatal(err)
	}
	kind := ours
	kind.Group = group
	old := manifest(kind, row{spec: `schedule: "61 * * * *"`, pod: `restartPolicy: Always`}.manifest(t))
	if _, err := client.Resource(kind).Namespace("default").Create(t.Context(), old, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	probe := old.DeepCopy()
	probe.SetName("probe")
	if err := replace(t.Context(), renamed(definition, group), probe); err != nil {
		t.Fatal(err)
	}
	patch := func(data string, subresources ...string) error {
		_, err := client.Resource(kind).Namespace("default").Patch(t.Context(), "nightly", types.MergePatchType, []byte(data), metav1.PatchOptions{}, subresources...)
		return err
	}
	for what, err := range map[string]error{
		"suspend": patch(`{"spec": {"suspend": true}}`),
		"status":  patch(`{"status": {"observedGeneration": 1}}`, "status"),
		"label":   patch(`{"metadata": {"labels": {"a": "b"}}}`),
		"Job":     patch(`{"spec": {"jobTemplate": {"spec": {"backoffLimit": 2}}}}`),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := patch(`{"spec": {"schedule": "62 * * * *"}}`); err == nil || !strings.Contains(err.Error(), "the minute") {
		t.Errorf("another bad schedule: %v", err)
	}
	if err := patch(`{"spec": {"schedule": "1 * * * *", "jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "Never"}}}}}}`); err != nil {
		t.Errorf("mended: %v", err)
	}
}
