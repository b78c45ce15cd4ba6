package admission

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// verdict is what the API server says to a manifest of either kind.
type verdict int

const (
	// taken: both kinds are taken, and so is the Job of the next run.
	taken verdict = iota
	// refused: both kinds are refused.
	refused
	// oursLater: batch/v1 refuses it. Ours is taken, and the dry run of its Job is
	// refused: condition TemplateValid tells.
	oursLater
	// oursUnscheduled: batch/v1 refuses it. Ours is taken, and condition ScheduleValid tells.
	oursUnscheduled
	// bothLater: both kinds are taken, and the Job is refused: condition TemplateValid tells.
	bothLater
	// oursOnly: ours alone is refused.
	oursOnly
)

// row is a manifest that differs from the base in one thing, and what is said to it.
type row struct {
	name string
	// spec, job and pod are merged into spec, spec.jobTemplate.spec and
	// spec.jobTemplate.spec.template.spec: YAML, null removes.
	spec, job, pod string
	want           verdict
	// says is in the message of our refusal, or of that of the Job.
	says string
	// why is the reason of a difference.
	why string
}

const base = `
schedule: "0 2 * * *"
jobTemplate:
  spec:
    template:
      spec:
        restartPolicy: OnFailure
        containers:
        - name: backup
          image: busybox
`

func TestBothKindsAreTakenAndRefusedAlike(t *testing.T) {
	seen := map[string]bool{}
	for _, rows := range [][]row{scheduleRows, restartRows, indexRows, policyRows, podRows} {
		for _, row := range rows {
			if seen[row.name] {
				t.Errorf("two rows are called %q", row.name)
			}
			seen[row.name] = true
			t.Run(row.name, func(t *testing.T) {
				t.Parallel()
				row.check(t)
			})
		}
	}
	if len(seen) < 60 {
		t.Errorf("%d rows", len(seen))
	}
}

func (r row) check(t *testing.T) {
	if different := r.want != taken && r.want != refused && r.want != bothLater; different != (r.why != "") {
		t.Error("a difference has a reason, and nothing else has one")
	}
	spec := r.manifest(t)
	ourAnswer := create(t, ours, manifest(ours, spec))
	theirAnswer := create(t, theirs, manifest(theirs, spec))

	if wanted := r.want == refused || r.want == oursOnly; (ourAnswer != nil) != wanted {
		t.Errorf("ours is refused: %t, want %t (%v)", ourAnswer != nil, wanted, ourAnswer)
	}
	if wanted := r.want == refused || r.want == oursLater || r.want == oursUnscheduled; (theirAnswer != nil) != wanted {
		t.Errorf("that of batch/v1 is refused: %t, want %t (%v)", theirAnswer != nil, wanted, theirAnswer)
	}
	answer := ourAnswer
	if ourAnswer == nil {
		answer = create(t, jobs, jobOf(spec))
		if wanted := r.want == oursLater || r.want == bothLater; (answer != nil) != wanted {
			t.Errorf("the Job is refused: %t, want %t (%v)", answer != nil, wanted, answer)
		}
	}
	switch {
	case answer == nil && r.says != "":
		t.Errorf("nothing is refused, so nothing says %q", r.says)
	case answer != nil && (r.says == "" || !strings.Contains(answer.Error(), r.says)):
		t.Errorf("the refusal does not say %q: %v", r.says, answer)
	case answer != nil:
		t.Log(answer)
	}
}

// manifest returns the spec of the CronJob.
func (r row) manifest(t *testing.T) map[string]any {
	spec := parse(t, base)
	merge(spec, parse(t, r.spec))
	if r.job != "" {
		merge(spec, map[string]any{"jobTemplate": map[string]any{"spec": parse(t, r.job)}})
	}
	if r.pod != "" {
		merge(spec, map[string]any{"jobTemplate": map[string]any{"spec": map[string]any{"template": map[string]any{"spec": parse(t, r.pod)}}}})
	}
	return spec
}

func parse(t *testing.T, text string) map[string]any {
	parsed := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &parsed); err != nil {
		t.Fatal(err)
	}
	return parsed
}

// merge is a JSON merge patch.
func merge(into, patch map[string]any) {
	for key, value := range patch {
		from, isObject := into[key].(map[string]any)
		change, isChange := value.(map[string]any)
		switch {
		case value == nil:
			delete(into, key)
		case isObject && isChange:
			merge(from, change)
		default:
			into[key] = value
		}
	}
}

// create asks the API server as kubectl does, which refuses unknown fields.
func create(t *testing.T, kind schema.GroupVersionResource, object *unstructured.Unstructured) error {
	_, err := client.Resource(kind).Namespace("default").Create(t.Context(), object, metav1.CreateOptions{
		DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict,
	})
	return err
}

// jobOf is the Job of the next run.
func jobOf(spec map[string]any) *unstructured.Unstructured {
	template, _ := spec["jobTemplate"].(map[string]any)
	metadata := map[string]any{"name": "nightly-29920988", "namespace": "default"}
	if given, ok := template["metadata"].(map[string]any); ok {
		merge(metadata, map[string]any{"labels": given["labels"], "annotations": given["annotations"]})
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": template["spec"],
	}}
}
