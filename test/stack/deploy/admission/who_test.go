package admission

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"ostinato.dev/ostinato/dev/devstack/await"
	"ostinato.dev/ostinato/dev/devstack/toolchain"
	"ostinato.dev/ostinato/internal/names"
)

const worker = "system:serviceaccount:ostinato-system:ostinato-worker"

// as is the client of another user, who may do everything.
func as(t *testing.T, user string) dynamic.Interface {
	t.Helper()
	config := rest.CopyConfig(configuration)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:masters"}}
	other, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return other
}

// installWho brings the policies of the component, and takes them away at the end.
func installWho(t *testing.T) {
	t.Helper()
	root, err := toolchain.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "deploy", "components", "who", "admission-policy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
		var object unstructured.Unstructured
		if err := yaml.Unmarshal(document, &object); err != nil {
			t.Fatal(err)
		}
		resource := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingadmissionpolicies"}
		if object.GetKind() == "MutatingAdmissionPolicyBinding" {
			resource.Resource = "mutatingadmissionpolicybindings"
		}
		if _, err := client.Resource(resource).Create(t.Context(), &object, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}); err != nil {
			t.Fatalf("the API server does not take %s %s: %v", object.GetKind(), object.GetName(), err)
		}
		t.Cleanup(func() {
			if err := client.Resource(resource).Delete(context.Background(), object.GetName(), metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), servedWithin)
	defer cancel()
	err = await.Success(ctx, pollInterval, func(ctx context.Context) error {
		dryRun := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
		cronJob, err := as(t, "ada").Resource(ours).Namespace("default").Create(ctx, suspended("probe"), dryRun)
		if err != nil {
			return err
		}
		job, err := as(t, "ada").Resource(jobs).Namespace("default").Create(ctx, ofCronJob("probe"), dryRun)
		if err != nil {
			return err
		}
		if cronJob.GetAnnotations()[names.SuspendUserAnnotation] == "" || job.GetAnnotations()[names.RunUserAnnotation] == "" {
			return fmt.Errorf("the policies are not in force")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func suspended(name string) *unstructured.Unstructured {
	cronJob := named(manifest(ours, nightlySpec()), name)
	_ = unstructured.SetNestedField(cronJob.Object, true, "spec", "suspend")
	return cronJob
}

func named(object *unstructured.Unstructured, name string) *unstructured.Unstructured {
	object.SetName(name)
	return object
}

func nightlySpec() map[string]any {
	return map[string]any{
		"schedule":    "0 2 * * *",
		"jobTemplate": map[string]any{"spec": map[string]any{"template": podTemplate()}},
	}
}

func podTemplate() map[string]any {
	return map[string]any{"spec": map[string]any{
		"restartPolicy": "Never", "containers": []any{map[string]any{"name": "main", "image": "busybox"}},
	}}
}

// ofCronJob is a Job that somebody makes for a CronJob.
func ofCronJob(name string) *unstructured.Unstructured {
	job := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "batch/v1", "kind": "Job",
		"metadata": map[string]any{"name": name, "namespace": "default"},
		"spec":     map[string]any{"template": podTemplate()},
	}}
	controller := true
	job.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: "batch.ostinato.dev/v1", Kind: "CronJob", Name: "nightly", UID: "uid-of-nightly", Controller: &controller,
	}})
	return job
}

// The component who names whoever has changed spec.suspend, and nobody can write the name himself.
func TestWhoHasSuspendedIsStamped(t *testing.T) {
	installWho(t)
	created, err := as(t, "ada").Resource(ours).Namespace("default").Create(t.Context(), suspended("stamped"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Resource(ours).Namespace("default").Delete(context.Background(), "stamped", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	if got := created.GetAnnotations()[names.SuspendUserAnnotation]; got != "ada" {
		t.Errorf("who creates it suspended is %q, want ada", got)
	}
	forged := `"metadata":{"annotations":{"` + names.SuspendUserAnnotation + `":"mallory"}}`
	for _, step := range []struct {
		what, user, patch, want string
	}{
		{"a resume", "bob", `{"spec":{"suspend":false}}`, "bob"},
		{"an edit of something else", "eve", `{"spec":{"schedule":"0 3 * * *"}}`, "bob"},
		{"a name that somebody writes himself", "eve", `{` + forged + `}`, "bob"},
		{"a name that somebody takes off", "eve", `{"metadata":{"annotations":null}}`, "bob"},
		{"a suspension with a name of his own", "eve", `{"spec":{"suspend":true},` + forged + `}`, "eve"},
		{"a suspension of what is suspended", "bob", `{"spec":{"suspend":true}}`, "eve"},
		{"a resume by the worker, for a signal", worker, `{"spec":{"suspend":false}}`, ""},
		{"a suspension by the worker, which says a name", worker, `{"spec":{"suspend":true},` + forged + `}`, ""},
	} {
		patched, err := as(t, step.user).Resource(ours).Namespace("default").Patch(t.Context(), "stamped", types.MergePatchType, []byte(step.patch), metav1.PatchOptions{})
		if err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
		if got := patched.GetAnnotations()[names.SuspendUserAnnotation]; got != step.want {
			t.Errorf("after %s by %s the name is %q, want %q", step.what, step.user, got, step.want)
		}
	}
}

func TestWhoHasMadeAJobForACronJobIsStamped(t *testing.T) {
	installWho(t)
	forge := func(job *unstructured.Unstructured) *unstructured.Unstructured {
		job.SetAnnotations(map[string]string{names.RunUserAnnotation: "mallory", "other": "kept"})
		return job
	}
	alone := ofCronJob("of-nobody")
	alone.SetOwnerReferences(nil)
	for what, test := range map[string]struct {
		user string
		job  *unstructured.Unstructured
		want string
	}{
		"a Job by hand":                      {"ada", ofCronJob("by-hand"), "ada"},
		"one with a name of his own":         {"ada", forge(ofCronJob("forged")), "ada"},
		"one that the worker makes":          {worker, ofCronJob("scheduled"), ""},
		"one of no CronJob":                  {"ada", alone, ""},
		"one that the worker gives a name":   {worker, forge(ofCronJob("named")), ""},
		"one of no CronJob that has a name ": {"ada", forge(named(alone.DeepCopy(), "alone")), ""},
	} {
		made, err := as(t, test.user).Resource(jobs).Namespace("default").Create(t.Context(), test.job, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if got := made.GetAnnotations()[names.RunUserAnnotation]; got != test.want {
			t.Errorf("%s: the name is %q, want %q", what, got, test.want)
		}
	}
}

// Who has stopped a Job is stamped on it, and no one can write the name himself.
func TestWhoHasStoppedAJobIsStamped(t *testing.T) {
	installWho(t)
	annotated := func(pairs ...string) string {
		var all []string
		for n := 0; n < len(pairs); n += 2 {
			all = append(all, fmt.Sprintf("%q:%s", pairs[n], pairs[n+1]))
		}
		return `{"metadata":{"annotations":{` + strings.Join(all, ",") + `}}}`
	}
	job := ofCronJob("to-stop")
	job.SetOwnerReferences(nil)
	if _, err := as(t, "ada").Resource(jobs).Namespace("default").Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Resource(jobs).Namespace("default").Delete(context.Background(), "to-stop", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	for _, step := range []struct {
		what, user, patch, want string
	}{
		{"an edit of something else", "eve", annotated("other", `"x"`), ""},
		{"a name that somebody writes himself", "eve", annotated(names.StopUserAnnotation, `"mallory"`), ""},
		{"a stop", "bob", annotated(names.StopAnnotation, `"it hangs"`), "bob"},
		{"the same stop", "eve", annotated(names.StopAnnotation, `"it hangs"`), "bob"},
		{"another name of the stop", "eve", annotated(names.StopUserAnnotation, `"mallory"`), "bob"},
		{"another stop with a name of his own", "eve", annotated(names.StopAnnotation, `""`, names.StopUserAnnotation, `"mallory"`), "eve"},
		{"a stop that is taken back", "bob", annotated(names.StopAnnotation, "null"), "bob"},
		{"a stop by the worker, for a signal", worker, annotated(names.StopAnnotation, `"by signal"`, names.StopUserAnnotation, `"mallory"`), ""},
	} {
		patched, err := as(t, step.user).Resource(jobs).Namespace("default").Patch(t.Context(), "to-stop", types.MergePatchType, []byte(step.patch), metav1.PatchOptions{})
		if err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
		if got := patched.GetAnnotations()[names.StopUserAnnotation]; got != step.want {
			t.Errorf("after %s by %s the name is %q, want %q", step.what, step.user, got, step.want)
		}
	}
}
