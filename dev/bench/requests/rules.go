package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/dev/devstack/toolchain"
	"ostinato.dev/ostinato/internal/k8s"
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// served is how long the API server has to take a CRD.
const served = 5 * time.Second

// rules are writes of a CronJob's status with all rules of the CRD (x-kubernetes-validations) and without some.
func rules(ctx context.Context, s *server) ([]form, error) {
	client, err := dynamic.NewForConfig(s.plane.RESTConfig())
	if err != nil {
		return nil, err
	}
	root, err := toolchain.RepositoryRoot()
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(root, "deploy", "crd", "batch.ostinato.dev_cronjobs.yaml"))
	if err != nil {
		return nil, fmt.Errorf("read the CRD: %w", err)
	}
	crd, err := without(text, func(string) bool { return false })
	if err != nil {
		return nil, err
	}
	if _, err := client.Resource(definitions).Create(ctx, crd, metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("create the CRD: %w", err)
	}
	w := statusWriter{s: s}
	var forms []form
	for _, variant := range []struct {
		name string
		drop func(path string) bool
	}{
		{"all rules", func(string) bool { return false }},
		{"no rules", func(string) bool { return true }},
		{"none in the template", func(path string) bool { return strings.Contains(path, "/jobTemplate") }},
		{"none on the Job's spec itself", func(path string) bool { return strings.HasSuffix(path, "/jobTemplate/properties/spec") }},
		{"none on the Pod's spec itself", func(path string) bool { return strings.HasSuffix(path, "/template/properties/spec") }},
	} {
		forms = append(forms, form{
			name: variant.name,
			prepare: func(ctx context.Context, _, count int) error {
				next, err := without(text, variant.drop)
				if err != nil {
					return err
				}
				// The API server writes the CRD's status meanwhile.
				err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
					current, err := client.Resource(definitions).Get(ctx, next.GetName(), metav1.GetOptions{})
					if err != nil {
						return err
					}
					next.SetResourceVersion(current.GetResourceVersion())
					_, err = client.Resource(definitions).Update(ctx, next, metav1.UpdateOptions{})
					return err
				})
				if err != nil {
					return fmt.Errorf("update the CRD: %w", err)
				}
				time.Sleep(served)
				return w.prepare(ctx, count)
			},
			request: w.write,
		})
	}
	return forms, nil
}

// without returns the CRD without the rules of the nodes whose path is to be dropped.
func without(text []byte, drop func(path string) bool) (*unstructured.Unstructured, error) {
	var crd unstructured.Unstructured
	if err := yaml.Unmarshal(text, &crd.Object); err != nil {
		return nil, fmt.Errorf("read the CRD: %w", err)
	}
	var walk func(node any, path string)
	walk = func(node any, path string) {
		switch node := node.(type) {
		case map[string]any:
			if drop(path) {
				delete(node, "x-kubernetes-validations")
			}
			for name, child := range node {
				walk(child, path+"/"+name)
			}
		case []any:
			for _, child := range node {
				walk(child, path)
			}
		}
	}
	walk(crd.Object, "")
	return &crd, nil
}

// statusWriter writes statuses of CronJobs as a worker does.
type statusWriter struct {
	s        *server
	cronJobs []*ostinatov1.CronJob
}

// prepare makes the CronJobs that are missing, and writes each status once.
func (w *statusWriter) prepare(ctx context.Context, count int) error {
	for len(w.cronJobs) < count {
		created, err := w.s.CronJobs.CronJobs(namespace).Create(ctx, &ostinatov1.CronJob{
			TypeMeta:   typeMeta(),
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("cronjob-%d", len(w.cronJobs))},
			Spec: ostinatov1.CronJobSpec{
				Schedule:    "0 0 1 1 *",
				JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: podSpec()}}},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		w.cronJobs = append(w.cronJobs, created)
	}
	return each(ctx, count, w.write)
}

// write writes the status that a CronJob has after the start of a run.
func (w *statusWriter) write(ctx context.Context, number int) (err error) {
	known := w.cronJobs[number]
	status := known.Status.DeepCopy()
	status.LastScheduleTime = ptr.To(known.CreationTimestamp)
	status.Active = []corev1.ObjectReference{{APIVersion: "batch/v1", Kind: "Job", Namespace: namespace, Name: "job", UID: types.UID("after-" + known.ResourceVersion)}}
	w.cronJobs[number], err = w.s.CronJobs.CronJobs(namespace).UpdateStatus(ctx, &ostinatov1.CronJob{
		TypeMeta:   typeMeta(),
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: known.Name, UID: known.UID, ResourceVersion: known.ResourceVersion},
		Status:     *status,
	}, metav1.UpdateOptions{FieldManager: k8s.CronJobFieldManager})
	return err
}

func typeMeta() metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: ostinatov1.GroupVersion.String(), Kind: ostinatov1.CronJobKind.Kind}
}
