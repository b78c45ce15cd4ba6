package deploy

import (
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// accountClient returns a client that is the service account.
func accountClient(t *testing.T, account string) kubernetes.Interface {
	t.Helper()
	path, err := stack.Stack.ControlPlane.KubeconfigForServiceAccount(t.Context(), systemNamespace, account)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// Neither process may do what it does not need.
func TestAccountsMayNotDoMore(t *testing.T) {
	type request struct{ verb, group, resource, subresource string }
	both := []request{
		{"get", "", "secrets", ""}, {"list", "", "secrets", ""}, {"watch", "", "secrets", ""},
		{"get", "", "configmaps", ""}, {"update", "", "configmaps", ""},
		{"create", "", "pods", "exec"}, {"create", "", "pods", "attach"}, {"create", "", "pods", "portforward"}, {"update", "", "pods", "ephemeralcontainers"},
		{"create", "", "serviceaccounts", "token"}, {"impersonate", "", "users", ""}, {"impersonate", "", "serviceaccounts", ""},
		{"create", "rbac.authorization.k8s.io", "clusterrolebindings", ""}, {"escalate", "rbac.authorization.k8s.io", "clusterroles", ""},
		{"bind", "rbac.authorization.k8s.io", "clusterroles", ""}, {"create", "rbac.authorization.k8s.io", "rolebindings", ""},
		{"create", "apps", "deployments", ""}, {"create", "apps", "daemonsets", ""},
		{"delete", "", "namespaces", ""}, {"update", "", "nodes", ""}, {"get", "", "nodes", "proxy"},
		{"create", "batch.ostinato.dev", "cronjobs", ""}, {"delete", "batch.ostinato.dev", "cronjobs", ""},
		{"deletecollection", "", "pods", ""}, {"deletecollection", "batch", "jobs", ""},
		{"update", "apiextensions.k8s.io", "customresourcedefinitions", ""},
		{"create", "admissionregistration.k8s.io", "mutatingwebhookconfigurations", ""},
	}
	bridge := []request{
		{"create", "", "pods", ""}, {"delete", "", "pods", ""}, {"patch", "", "pods", ""},
		{"create", "batch", "jobs", ""}, {"delete", "batch", "jobs", ""}, {"update", "batch", "jobs", "status"}, {"patch", "batch", "jobs", "status"},
		{"patch", "batch.ostinato.dev", "cronjobs", ""},
	}
	worker := []request{{"create", "coordination.k8s.io", "leases", ""}, {"update", "coordination.k8s.io", "leases", ""}}
	for account, requests := range map[string][]request{
		bridgeAccount: append(bridge, both...),
		workerAccount: append(worker, both...),
	} {
		client := accountClient(t, account)
		for _, request := range requests {
			review, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), &authorizationv1.SelfSubjectAccessReview{
				Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
					Namespace: "default", Verb: request.verb, Group: request.group, Resource: request.resource, Subresource: request.subresource,
				}},
			}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if review.Status.Allowed {
				t.Errorf("%s may %s %s/%s of group %q: %s", account, request.verb, request.resource, request.subresource, request.group, review.Status.Reason)
			}
		}
	}
}

// The API server refuses them a Secret in any namespace, their own included.
func TestAccountsCanNotReadSecrets(t *testing.T) {
	for _, account := range []string{workerAccount, bridgeAccount} {
		client := accountClient(t, account)
		for _, namespace := range []string{"default", "kube-system", systemNamespace, metav1.NamespaceAll} {
			if _, err := client.CoreV1().Secrets(namespace).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
				t.Errorf("%s lists Secrets of namespace %q: %v", account, namespace, err)
			}
		}
	}
}
