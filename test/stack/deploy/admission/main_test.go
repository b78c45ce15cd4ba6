// Package admission compares what an API server says to a CronJob of ours and to the
// same CronJob of batch/v1. It runs a control plane and nothing else.
package admission

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"ostinato.dev/ostinato/dev/devstack/await"
	"ostinato.dev/ostinato/dev/devstack/toolchain"
	"ostinato.dev/ostinato/test/stack/deploy/bare"
)

// servedWithin bounds the time until a CRD is served, for which a free machine needs a
// second or two.
const servedWithin = time.Minute

const pollInterval = 100 * time.Millisecond

var (
	ours   = schema.GroupVersionResource{Group: "batch.ostinato.dev", Version: "v1", Resource: "cronjobs"}
	theirs = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "cronjobs"}
	jobs   = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
	crds   = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// configuration is that of client, who may do everything.
var (
	configuration *rest.Config
	client        dynamic.Interface
)

func TestMain(m *testing.M) {
	os.Exit(bare.Main(m, func(ctx context.Context, plane bare.Plane) (err error) {
		configuration = plane.RESTConfig()
		configuration.QPS = -1
		if client, err = dynamic.NewForConfig(configuration); err != nil {
			return err
		}
		return install(ctx)
	}))
}

// install creates the CRD of the checkout and waits until it is served.
func install(ctx context.Context) error {
	definition, err := definition()
	if err != nil {
		return err
	}
	return serve(ctx, definition)
}

func definition() (*unstructured.Unstructured, error) {
	root, err := toolchain.RepositoryRoot()
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(root, "deploy", "crd", "batch.ostinato.dev_cronjobs.yaml"))
	if err != nil {
		return nil, err
	}
	definition := &unstructured.Unstructured{}
	return definition, yaml.Unmarshal(text, definition)
}

// serve creates a CRD and waits until it is served.
func serve(ctx context.Context, definition *unstructured.Unstructured) error {
	if _, err := client.Resource(crds).Create(ctx, definition, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("the API server does not take the CRD: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, servedWithin)
	defer cancel()
	return await.Success(ctx, pollInterval, func(ctx context.Context) error {
		_, err := client.Resource(kindOf(definition)).Namespace("default").List(ctx, metav1.ListOptions{})
		return err
	})
}

// replace puts a CRD in the place of one that is served and waits until it refuses the
// probe, which the one before takes.
func replace(ctx context.Context, definition, probe *unstructured.Unstructured) error {
	before, err := client.Resource(crds).Get(ctx, definition.GetName(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	definition.SetResourceVersion(before.GetResourceVersion())
	if _, err := client.Resource(crds).Update(ctx, definition, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("the API server does not take the CRD: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, servedWithin)
	defer cancel()
	return await.Success(ctx, pollInterval, func(ctx context.Context) error {
		_, err := client.Resource(kindOf(definition)).Namespace("default").Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if apierrors.IsInvalid(err) {
			return nil
		}
		return fmt.Errorf("the schema is not in force: %w", err)
	})
}

func kindOf(definition *unstructured.Unstructured) schema.GroupVersionResource {
	kind := ours
	kind.Group, _, _ = unstructured.NestedString(definition.Object, "spec", "group")
	return kind
}

// renamed is a copy of a CRD in another group.
func renamed(definition *unstructured.Unstructured, group string) *unstructured.Unstructured {
	other := definition.DeepCopy()
	other.SetName(ours.Resource + "." + group)
	_ = unstructured.SetNestedField(other.Object, group, "spec", "group")
	return other
}

// withoutRules removes what can refuse a value, of all that is below a node.
func withoutRules(node any) {
	switch node := node.(type) {
	case map[string]any:
		delete(node, "x-kubernetes-validations")
		for _, child := range node {
			withoutRules(child)
		}
	case []any:
		for _, child := range node {
			withoutRules(child)
		}
	}
}

// manifest is a CronJob of either kind.
func manifest(kind schema.GroupVersionResource, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": kind.GroupVersion().String(),
		"kind":       "CronJob",
		"metadata":   map[string]any{"name": "nightly", "namespace": "default"},
		"spec":       spec,
	}}
}
