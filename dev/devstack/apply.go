package devstack

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"ostinato.dev/ostinato/dev/devstack/await"
	"ostinato.dev/ostinato/dev/devstack/toolchain"
)

// fieldManager is who applies what a stack brings along.
const fieldManager = "devstack"

// bridgeNamespaces are where the bridge has its lease, as in deploy/base, and its probe,
// as in deploy/components/takeover-jobs.
var bridgeNamespaces = []string{"ostinato-system", "ostinato-probe"}

// applyCRD applies the CRD of the checkout, waits until it is served and makes
// the namespaces that the bridge needs.
func (s *Stack) applyCRD(ctx context.Context) error {
	client, err := s.kubernetes()
	if err != nil {
		return err
	}
	for _, name := range bridgeNamespaces {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create namespace %s: %w", name, err)
		}
	}
	if err := s.apply(ctx, "crd", "batch.ostinato.dev_cronjobs.yaml"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	err = await.Success(ctx, 200*time.Millisecond, func(ctx context.Context) error {
		return client.CoreV1().RESTClient().Get().AbsPath("/apis/batch.ostinato.dev/v1/cronjobs").Do(ctx).Error()
	})
	if err != nil {
		return fmt.Errorf("wait for the CronJob kind to be served: %w", err)
	}
	return nil
}

// ApplySample applies one of deploy/samples, to namespace default.
func (s *Stack) ApplySample(ctx context.Context, name string) error {
	return s.apply(ctx, "samples", name)
}

// ApplyPolicies applies the admission policies of deploy/base.
func (s *Stack) ApplyPolicies(ctx context.Context) error {
	if err := s.apply(ctx, "base", "admission-policy.yaml"); err != nil {
		return err
	}
	return s.apply(ctx, "base", "admission-bounds.yaml")
}

// apply applies the manifests of a file of the folder deploy.
func (s *Stack) apply(ctx context.Context, path ...string) error {
	root, err := toolchain.RepositoryRoot()
	if err != nil {
		return err
	}
	file := filepath.Join(append([]string{root, "deploy"}, path...)...)
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("apply manifests: %w", err)
	}
	client, err := s.kubernetes()
	if err != nil {
		return err
	}
	for _, manifest := range bytes.Split(text, []byte("\n---\n")) {
		resource, err := resourcePath(manifest)
		if err != nil {
			return fmt.Errorf("apply %s: %w", file, err)
		}
		err = client.CoreV1().RESTClient().Patch(types.ApplyYAMLPatchType).AbsPath(resource).
			Param("fieldManager", fieldManager).Param("force", "true").Body(manifest).Do(ctx).Error()
		if err != nil {
			return fmt.Errorf("apply %s: %w", file, err)
		}
	}
	return nil
}

// clusterWide are the resources of kinds that are in no namespace.
var clusterWide = map[string]string{
	"CustomResourceDefinition":         "customresourcedefinitions",
	"ValidatingAdmissionPolicy":        "validatingadmissionpolicies",
	"ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
}

// resourcePath is where the API server serves the object of a manifest: of a cluster-wide kind, or of another kind of a group in namespace
// default.
func resourcePath(manifest []byte) (string, error) {
	var object metav1.PartialObjectMetadata
	if err := yaml.Unmarshal(manifest, &object); err != nil {
		return "", err
	}
	if resource := clusterWide[object.Kind]; resource != "" {
		return fmt.Sprintf("/apis/%s/%s/%s", object.APIVersion, resource, object.Name), nil
	}
	return fmt.Sprintf("/apis/%s/namespaces/%s/%ss/%s", object.APIVersion, metav1.NamespaceDefault, strings.ToLower(object.Kind), object.Name), nil
}

// kubernetes returns a client with the administrator's access.
func (s *Stack) kubernetes() (kubernetes.Interface, error) {
	config, err := s.RESTConfig()
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client of the cluster: %w", err)
	}
	return client, nil
}
