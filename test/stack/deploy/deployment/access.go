package deployment

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"ostinato.dev/ostinato/dev/devstack"
	"ostinato.dev/ostinato/internal/k8s"
)

// Client returns a client that is a service account of the system namespace.
func Client(ctx context.Context, stack *devstack.Stack, account string) (kubernetes.Interface, error) {
	clients, err := Clients(ctx, stack, account)
	if err != nil {
		return nil, err
	}
	return clients.Kubernetes, nil
}

// Clients returns all clients that are the service account.
func Clients(ctx context.Context, stack *devstack.Stack, account string) (*k8s.Clients, error) {
	path, err := stack.ControlPlane.KubeconfigForServiceAccount(ctx, SystemNamespace, account)
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig of %s: %w", account, err)
	}
	config.QPS = -1
	return k8s.NewClients(config)
}

// May asks the API server whether the client may do something in a namespace, and
// why. The request is a verb and a resource with its group and subresource where
// it has them: "patch jobs.batch/status".
func May(ctx context.Context, client kubernetes.Interface, namespace, request string) (allowed bool, reason string, err error) {
	verb, resource, _ := strings.Cut(request, " ")
	resource, subresource, _ := strings.Cut(resource, "/")
	resource, group, _ := strings.Cut(resource, ".")
	review, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: verb, Group: group, Resource: resource, Subresource: subresource,
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, "", fmt.Errorf("ask whether %q is allowed in namespace %q: %w", request, namespace, err)
	}
	return review.Status.Allowed, review.Status.Reason, nil
}
