package deploy

import (
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/dev/devstack/toolchain"
	"ostinato.dev/ostinato/dev/harness"
)

// filler sets every field to a value that is not its zero value.
type filler struct {
	// values makes every value another one.
	values int
}

func (f *filler) fill(value reflect.Value) {
	switch special := value.Addr().Interface().(type) {
	case *metav1.ObjectMeta:
		// The metadata of a template that means something (parity 1.1), as the CRD keeps it.
		*special = metav1.ObjectMeta{
			Labels:      map[string]string{"label": "kept"},
			Annotations: map[string]string{"example.com/annotation": "kept"},
			Finalizers:  []string{"example.com/kept"},
		}
		return
	case *metav1.Time:
		*special = metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
		return
	case *resource.Quantity:
		*special = resource.MustParse("100m")
		return
	case *intstr.IntOrString:
		*special = intstr.FromString("50%")
		return
	}
	switch value.Kind() {
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
		f.fill(value.Elem())
	case reflect.Struct:
		for i := range value.NumField() {
			if value.Type().Field(i).IsExported() {
				f.fill(value.Field(i))
			}
		}
	case reflect.Slice:
		if value.Type().Elem().Kind() == reflect.Uint8 {
			value.SetBytes([]byte("bytes"))
			return
		}
		length := 2
		if value.Type().Elem() == reflect.TypeFor[schedulingv1alpha3.TopologyConstraint]() {
			length = 1 // more are not allowed
		}
		value.Set(reflect.MakeSlice(value.Type(), length, length))
		for i := range length {
			f.fill(value.Index(i))
		}
	case reflect.Map:
		key, element := reflect.New(value.Type().Key()).Elem(), reflect.New(value.Type().Elem()).Elem()
		f.fill(key)
		f.fill(element)
		value.Set(reflect.MakeMap(value.Type()))
		value.SetMapIndex(key, element)
	case reflect.String:
		f.values++
		value.SetString(fmt.Sprintf("value-%d", f.values))
	case reflect.Bool:
		value.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		f.values++
		value.SetInt(int64(f.values))
	}
}

// Every field of batch/v1 CronJobSpec, down to the last of the Pod template,
// comes back as it was written, but for the selector, which none may have.
func TestEveryFieldSurvives(t *testing.T) {
	var full batchv1.CronJobSpec
	new(filler).fill(reflect.ValueOf(&full).Elem())
	full.Schedule, full.TimeZone, full.ConcurrencyPolicy = harness.Yearly, ptr.To("Europe/Paris"), batchv1.ForbidConcurrent
	admissible(&full.JobTemplate.Spec)

	data, err := yaml.Marshal(full)
	if err != nil {
		t.Fatal(err)
	}
	namespace := stack.Namespace(t)
	cronJob := &ostinatov1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "full"}}
	if err := yaml.UnmarshalStrict(data, &cronJob.Spec); err != nil {
		t.Fatalf("our CronJobSpec lacks a field: %v", err)
	}
	stack.CreateCronJob(t, cronJob)
	read, err := stack.CronJob(t.Context(), namespace, "full")
	if err != nil {
		t.Fatal(err)
	}
	assertSameJSON(t, full, read.Spec)
}

// admissible makes a Job with a value in every field one that is not refused.
func admissible(job *batchv1.JobSpec) {
	job.Selector, job.ManualSelector = nil, new(bool)
	job.Completions, job.MaxFailedIndexes = ptr.To(int32(5)), ptr.To(int32(4))
	job.CompletionMode, job.PodReplacementPolicy = ptr.To(batchv1.IndexedCompletion), ptr.To(batchv1.Failed)
	job.ManagedBy = ptr.To("example.com/value")
	job.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	for i := range job.PodFailurePolicy.Rules {
		rule := &job.PodFailurePolicy.Rules[i]
		rule.Action = batchv1.PodFailurePolicyActionFailIndex
		if i == 0 {
			rule.OnExitCodes = nil
			for j := range rule.OnPodConditions {
				rule.OnPodConditions[j].Status = corev1.ConditionFalse
			}
			continue
		}
		rule.OnPodConditions = nil
		rule.OnExitCodes.ContainerName = &job.Template.Spec.Containers[0].Name
		rule.OnExitCodes.Operator = batchv1.PodFailurePolicyOnExitCodesOpNotIn
	}
	for i := range job.SuccessPolicy.Rules {
		job.SuccessPolicy.Rules[i].SucceededIndexes = ptr.To("0-4")
		job.SuccessPolicy.Rules[i].SucceededCount = ptr.To(int32(3))
	}
}

func assertSameJSON(t *testing.T, want, got any) {
	t.Helper()
	wanted, err := yaml.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	gotten, err := yaml.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	assert.Equal(t, string(wanted), string(gotten))
}

// The CRD fits kubectl's client-side apply, which keeps a copy of it in an annotation.
func TestClientSideApplyOfTheCRD(t *testing.T) {
	root, err := toolchain.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	kept, err := stack.Stack.Kubectl(t.Context(), "apply", "--dry-run=server", "-f", filepath.Join(root, "deploy", "crd", "batch.ostinato.dev_cronjobs.yaml"),
		"--output=jsonpath={.metadata.annotations.kubectl\\.kubernetes\\.io/last-applied-configuration}")
	if err != nil {
		t.Fatal(err)
	}
	// The API server's limit of all annotations of an object together.
	const limit = 256 << 10
	if !strings.Contains(kept, "openAPIV3Schema") || len(kept) > limit*3/4 {
		t.Errorf("the CRD takes %d of %d bytes of annotations: there is to be room for more fields", len(kept), limit)
	}
}

// kubectl get shows what it shows of a batch/v1 CronJob, how the last run ended and the next time; -o wide shows the policy and what waits.
func TestPrinterColumns(t *testing.T) {
	namespace := stack.Namespace(t)
	stack.AddCronJob(t, harness.NewCronJob(namespace, "shown", harness.Yearly, harness.JobSpec(), func(cronJob *ostinatov1.CronJob) {
		cronJob.Spec.ConcurrencyPolicy, cronJob.Spec.QueueLimit = ostinatov1.QueueConcurrent, ptr.To[int32](7)
	}))
	narrow := []string{"NAME", "SCHEDULE", "TIMEZONE", "SUSPEND", "ACTIVE", "LAST", "RUN", "RESULT", "NEXT", "AGE"}
	for flag, columns := range map[string][]string{
		"--output=":     narrow,
		"--output=wide": append(slices.Clone(narrow), "POLICY", "QUEUE", "BACKLOG", "FAILURES"),
	} {
		harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
			output, err := stack.Stack.Kubectl(ctx, "get", "cronjobs.batch.ostinato.dev", "--namespace", namespace, flag)
			if err != nil {
				return err
			}
			head, rows, _ := strings.Cut(output, "\n")
			if !slices.Equal(strings.Fields(head), columns) || !tableHas(rows, "shown", "false", "-01-01T00:00:00Z") ||
				flag == "--output=wide" && !tableHas(rows, "Queue", "7") {
				return fmt.Errorf("kubectl get %s shows\n%s", flag, output)
			}
			return nil
		})
	}
}
