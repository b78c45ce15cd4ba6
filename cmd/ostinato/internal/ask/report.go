package ask

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
)

// ErrSecret is the error of a request that names Secrets.
var ErrSecret = errors.New("a report reads no Secrets")

// WithoutSecrets returns a configuration whose clients refuse to ask for Secrets, whatever rights the person has.
func WithoutSecrets(config *rest.Config) *rest.Config {
	secretless := rest.CopyConfig(config)
	secretless.Wrap(func(next http.RoundTripper) http.RoundTripper { return withoutSecrets{next} })
	return secretless
}

type withoutSecrets struct{ next http.RoundTripper }

func (w withoutSecrets) RoundTrip(request *http.Request) (*http.Response, error) {
	if slices.Contains(strings.Split(request.URL.Path, "/"), "secrets") {
		return nil, ErrSecret
	}
	return w.next.RoundTrip(request)
}

// programs selects the Deployments and Pods of Ostinato itself.
const programs = "app.kubernetes.io/name in (ostinato-worker,ostinato-bridge,ostinato-codecserver)"

// ServerVersion is that of the API server.
func (c *Cluster) ServerVersion() (string, error) {
	version, err := c.clients.Kubernetes.Discovery().ServerVersion()
	if err != nil {
		return "", fmt.Errorf("read the version of the API server: %w", err)
	}
	return version.String(), nil
}

// AllPods lists Pods with a label, at most limit; more says that there are others.
func (c *Cluster) AllPods(ctx context.Context, label string, limit int64) (pods []corev1.Pod, more bool, err error) {
	list, err := c.clients.Kubernetes.CoreV1().Pods(c.Namespace).List(ctx, metav1.ListOptions{LabelSelector: label, Limit: limit})
	if err != nil {
		return nil, false, fmt.Errorf("list Pods: %w", err)
	}
	return list.Items, list.Continue != "", nil
}

// Events lists Events, at most limit; more says that there are others.
func (c *Cluster) Events(ctx context.Context, limit int64) (events []corev1.Event, more bool, err error) {
	list, err := c.clients.Kubernetes.CoreV1().Events(c.Namespace).List(ctx, metav1.ListOptions{Limit: limit})
	if err != nil {
		return nil, false, fmt.Errorf("list Events: %w", err)
	}
	return list.Items, list.Continue != "", nil
}

// Deployments lists the Deployments of Ostinato in a namespace.
func (c *Cluster) Deployments(ctx context.Context, namespace string) ([]appsv1.Deployment, error) {
	list, err := c.clients.Kubernetes.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{LabelSelector: programs})
	if err != nil {
		return nil, fmt.Errorf("list Deployments of namespace %s: %w", namespace, err)
	}
	return list.Items, nil
}

// ProgramPods lists the Pods of Ostinato in a namespace.
func (c *Cluster) ProgramPods(ctx context.Context, namespace string) ([]corev1.Pod, error) {
	list, err := c.clients.Kubernetes.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: programs})
	if err != nil {
		return nil, fmt.Errorf("list Pods of namespace %s: %w", namespace, err)
	}
	return list.Items, nil
}

// Tail reads the last lines of a container's log, and no more than a number of bytes. previous is the log of the container
// that ran before.
func (c *Cluster) Tail(ctx context.Context, pod *corev1.Pod, container string, previous bool, lines, bytes int64) ([]byte, error) {
	stream, err := c.clients.Kubernetes.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{
		Container: container, Previous: previous, TailLines: ptr.To(lines), LimitBytes: ptr.To(bytes), Timestamps: true,
	}).Stream(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the log of container %s of Pod %s/%s: %w", container, pod.Namespace, pod.Name, err)
	}
	defer stream.Close()
	text, err := io.ReadAll(io.LimitReader(stream, bytes))
	if err != nil {
		return nil, fmt.Errorf("read the log of container %s of Pod %s/%s: %w", container, pod.Namespace, pod.Name, err)
	}
	return text, nil
}
