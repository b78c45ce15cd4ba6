package access

import (
	"context"
	"fmt"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/temporalserver/authority"
	"ostinato.dev/ostinato/test/stack/access/door"
	"ostinato.dev/ostinato/test/stack/deploy/deployment"
)

// bindEverywhere binds a user or group to a ClusterRole.
func bindEverywhere(t *testing.T, kind, subject, role string) {
	t.Helper()
	_, err := stack.Kubernetes.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: strings.ReplaceAll("test-"+subject+"-"+role, ":", "-")},
		Subjects:   []rbacv1.Subject{{Kind: kind, Name: subject, APIGroup: rbacv1.GroupName}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
	}, metav1.CreateOptions{})
	door.Tolerate(t, err)
}

// requestAs asks a signer for a certificate as a user, and whether the API server admits that; nothing is kept.
func requestAs(ctx context.Context, user rest.ImpersonationConfig, signer string) error {
	own, err := authority.NewRequest()
	if err != nil {
		return err
	}
	config := rest.CopyConfig(stack.Stack.ControlPlane.RESTConfig())
	config.Impersonate = user
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	_, err = api.CertificatesV1().CertificateSigningRequests().Create(ctx, &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: own.Certificate, SignerName: signer,
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
		},
	}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// Everyone is bound to ClusterRole ostinato-temporal-user here, as an administrator may do who thinks of people alone.
func TestTheRoleIsForOneSignerAndNoOtherRightIsLess(t *testing.T) {
	const (
		apiServers = certificatesv1.KubeAPIServerClientSignerName
		others     = "example.com/vault"
		everyone   = "system:authenticated"
	)
	bindEverywhere(t, "Group", everyone, "ostinato-temporal-user")
	_, err := stack.Kubernetes.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "requester"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{certificatesv1.GroupName}, Resources: []string{"certificatesigningrequests"}, Verbs: []string{"create"}}},
	}, metav1.CreateOptions{})
	door.Tolerate(t, err)
	bindEverywhere(t, "User", "requester", "requester")
	bindEverywhere(t, "User", "root", "cluster-admin")
	bindEverywhere(t, "User", "system:serviceaccount:cert-manager:cert-manager", "requester")
	bindEverywhere(t, "Group", "system:bootstrappers", "system:node-bootstrapper")
	bindEverywhere(t, "Group", "system:nodes", "system:node")

	person := rest.ImpersonationConfig{UserName: "person", Groups: []string{everyone}}
	// The role counts at once, the policy when the API server has seen it.
	harness.Eventually(t, harness.Slack, func(ctx context.Context) error {
		err := requestAs(ctx, person, apiServers)
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "for the signer ostinato.dev/temporal alone") {
			return fmt.Errorf("a person asks another signer: %w", err)
		}
		return nil
	})
	harness.Eventually(t, harness.Slack, func(ctx context.Context) error {
		return deployment.WellTyped(ctx, stack.Kubernetes, "ostinato-temporal-user")
	})
	for _, test := range []struct {
		user    string
		groups  []string
		signer  string
		refused bool
	}{
		{"person", nil, names.TemporalSigner, false},
		{"person", nil, others, true},
		{"person", nil, certificatesv1.KubeAPIServerClientKubeletSignerName, true},
		{"system:serviceaccount:shop:robot", []string{"system:serviceaccounts"}, others, true},
		{"requester", nil, apiServers, false},
		{"requester", nil, names.TemporalSigner, false},
		{"root", nil, apiServers, false},
		{"break-glass", []string{"system:masters"}, apiServers, false},
		{"system:serviceaccount:cert-manager:cert-manager", []string{"system:serviceaccounts"}, others, false},
		{"system:bootstrap:abcdef", []string{"system:bootstrappers"}, certificatesv1.KubeAPIServerClientKubeletSignerName, false},
		{"system:node:one", []string{"system:nodes"}, certificatesv1.KubeAPIServerClientKubeletSignerName, false},
		{"system:node:one", []string{"system:nodes"}, certificatesv1.KubeletServingSignerName, false},
	} {
		err := requestAs(t.Context(), rest.ImpersonationConfig{UserName: test.user, Groups: append(test.groups, everyone)}, test.signer)
		// Whether the content is right for a signer of Kubernetes' own other admission plugins and validation say.
		refused := err != nil && strings.Contains(err.Error(), "ostinato")
		if refused != test.refused || err != nil && !refused && !apierrors.IsInvalid(err) {
			t.Errorf("%s asks %s: %v, want refused: %t", test.user, test.signer, err, test.refused)
		}
	}
}
