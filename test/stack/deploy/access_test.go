package deploy

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"ostinato.dev/ostinato/test/stack/deploy/deployment"
)

// accountClient returns a client that is the service account.
func accountClient(t *testing.T, account string) kubernetes.Interface {
	t.Helper()
	client, err := deployment.Client(t.Context(), stack.Stack, account)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// Neither process may do what it does not need.
func TestAccountsMayNotDoMore(t *testing.T) {
	both := []string{
		"get secrets", "list secrets", "watch secrets",
		"get configmaps", "update configmaps",
		"create pods/exec", "create pods/attach", "create pods/portforward", "update pods/ephemeralcontainers",
		"create serviceaccounts/token", "impersonate users", "impersonate serviceaccounts",
		"create clusterrolebindings.rbac.authorization.k8s.io", "escalate clusterroles.rbac.authorization.k8s.io",
		"bind clusterroles.rbac.authorization.k8s.io", "create rolebindings.rbac.authorization.k8s.io",
		"create deployments.apps", "create daemonsets.apps",
		"delete namespaces", "update nodes", "get nodes/proxy",
		"create cronjobs.batch.ostinato.dev", "delete cronjobs.batch.ostinato.dev",
		"deletecollection pods", "deletecollection jobs.batch",
		"update customresourcedefinitions.apiextensions.k8s.io",
		"create mutatingwebhookconfigurations.admissionregistration.k8s.io",
		"update validatingadmissionpolicies.admissionregistration.k8s.io", "delete validatingadmissionpolicybindings.admissionregistration.k8s.io",
		"create tokenreviews.authentication.k8s.io", "create subjectaccessreviews.authorization.k8s.io",
		"take-over jobs.batch",
	}
	bridge := []string{
		"create pods", "delete pods", "patch pods", "get pods/log",
		"create jobs.batch", "delete jobs.batch", "update jobs.batch/status", "patch jobs.batch/status",
		"patch cronjobs.batch.ostinato.dev",
	}
	worker := []string{"create leases.coordination.k8s.io", "update leases.coordination.k8s.io"}
	for account, requests := range map[string][]string{
		deployment.BridgeAccount: append(bridge, both...),
		deployment.WorkerAccount: append(worker, both...),
	} {
		client := accountClient(t, account)
		for _, namespace := range []string{"default", deployment.SystemNamespace} {
			for _, request := range requests {
				allowed, reason, err := deployment.May(t.Context(), client, namespace, request)
				if err != nil {
					t.Fatal(err)
				}
				if allowed {
					t.Errorf("%s may %s in %s: %s", account, request, namespace, reason)
				}
			}
		}
	}
}

// Logs of failed Pods are evidence; the right to read them can be left out.
func TestTheWorkerMayReadLogs(t *testing.T) {
	allowed, _, err := deployment.May(t.Context(), accountClient(t, deployment.WorkerAccount), "default", "get pods/log")
	if err != nil || !allowed {
		t.Errorf("the worker may not read logs: %v", err)
	}
}

// The API server refuses them a Secret in any namespace, their own included.
func TestAccountsCanNotReadSecrets(t *testing.T) {
	for _, account := range []string{deployment.WorkerAccount, deployment.BridgeAccount} {
		client := accountClient(t, account)
		for _, namespace := range []string{"default", "kube-system", deployment.SystemNamespace, metav1.NamespaceAll} {
			if _, err := client.CoreV1().Secrets(namespace).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
				t.Errorf("%s lists Secrets of namespace %q: %v", account, namespace, err)
			}
		}
	}
}
