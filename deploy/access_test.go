package deploy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"ostinato.dev/ostinato/internal/bridge"
)

// Where worker and bridge are, and where the bridge makes its probe.
const (
	system = "ostinato-system"
	probe  = "ostinato-probe"
)

// rights are all that the manifests give, by who gets it and in which file's folder.
// A namespaced installation gives those of rbac folders by namespace.
var rights = map[string]struct {
	folder, kind string
	account      string
	namespace    string
	rules        []string
}{
	"ostinato-worker": {folder: "rbac", kind: "ClusterRole", account: "ostinato-worker", rules: []string{
		"get,patch cronjobs.batch.ostinato.dev",
		"update,patch cronjobs/status.batch.ostinato.dev",
		"update cronjobs/finalizers.batch.ostinato.dev",
		"get,list,watch,create,delete,patch jobs.batch",
		"update,patch jobs/status.batch",
		"update jobs/finalizers.batch",
		"get,list,watch,create,delete,patch pods",
		"get namespaces",
		"create,patch events",
	}},
	"ostinato-worker-logs": {folder: "rbac", kind: "ClusterRole", account: "ostinato-worker", rules: []string{"get pods/log"}},
	"ostinato-bridge": {folder: "rbac", kind: "ClusterRole", account: "ostinato-bridge", rules: []string{
		"get,list,watch cronjobs.batch.ostinato.dev",
		"patch cronjobs/status.batch.ostinato.dev",
		"get,list,watch cronjobs,jobs.batch",
		"list pods",
		"create,patch,list events",
	}},
	"ostinato-bridge-lease": {folder: "base", kind: "Role", account: "ostinato-bridge", rules: []string{
		"create leases.coordination.k8s.io",
		"get,update leases.coordination.k8s.io [ostinato-bridge]",
		"create events",
	}},
	"ostinato-worker-takeover": {folder: "components/takeover-jobs/rbac", kind: "ClusterRole", account: "ostinato-worker", rules: []string{"take-over jobs.batch"}},
	"ostinato-bridge-probe": {
		folder: "components/takeover-jobs", kind: "Role", account: "ostinato-bridge", namespace: probe, rules: []string{"get,list,create,delete jobs.batch"},
	},
	"ostinato-worker-takeover-cronjobs": {folder: "components/takeover-cronjobs/rbac", kind: "ClusterRole", account: "ostinato-worker", rules: []string{
		"get,patch,take-over cronjobs.batch", "patch cronjobs/status.batch", "update cronjobs/finalizers.batch",
	}},
	"ostinato-bridge-probe-cronjobs": {
		folder: "components/takeover-cronjobs/shared", kind: "Role", account: "ostinato-bridge", namespace: probe,
		rules: []string{"get,list,create,delete cronjobs.batch", "patch cronjobs/status.batch"},
	},
	"ostinato-metrics-authentication": {folder: "components/metrics-authentication", kind: "ClusterRole", account: "ostinato-bridge,ostinato-worker", rules: []string{
		"create tokenreviews.authentication.k8s.io",
		"create subjectaccessreviews.authorization.k8s.io",
	}},
	// For people and for Prometheus; nobody of ours gets them.
	"ostinato-metrics-reader": {folder: "components/metrics-authentication", kind: "ClusterRole", rules: []string{"get /metrics"}},
	"ostinato-cronjobs-edit": {folder: "base", kind: "ClusterRole", rules: []string{
		"get,list,watch,create,update,patch,delete,deletecollection cronjobs.batch.ostinato.dev", "get cronjobs/status.batch.ostinato.dev",
	}},
	"ostinato-cronjobs-view": {folder: "base", kind: "ClusterRole", rules: []string{"get,list,watch cronjobs,cronjobs/status.batch.ostinato.dev"}},
}

// role is a Role or ClusterRole; binding one that binds it.
type (
	role    = rbacv1.Role
	binding = rbacv1.RoleBinding
)

// inWords is a rule as rights has it.
func inWords(rule rbacv1.PolicyRule) string {
	if len(rule.NonResourceURLs) > 0 {
		return strings.Join(rule.Verbs, ",") + " " + strings.Join(rule.NonResourceURLs, ",")
	}
	text := strings.Join(rule.Verbs, ",") + " " + strings.Join(rule.Resources, ",")
	if group := strings.Join(rule.APIGroups, ","); group != "" {
		text += "." + group
	}
	if len(rule.ResourceNames) > 0 {
		text += fmt.Sprintf(" %v", rule.ResourceNames)
	}
	return text
}

var rightsFolders = []string{
	"base", "rbac", "components/takeover-jobs", "components/takeover-jobs/rbac",
	"components/takeover-cronjobs", "components/takeover-cronjobs/rbac", "components/takeover-cronjobs/shared", "components/takeover-all",
	"components/metrics-authentication", "components/network-policy",
}

func TestTheRightsAreThese(t *testing.T) {
	found := map[string]bool{}
	for _, folder := range rightsFolders {
		for _, kind := range []string{"Role", "ClusterRole"} {
			for _, given := range all[role](t, folder, kind) {
				want, known := rights[given.Name]
				require.True(t, known, "%s of %s is not listed", given.Name, folder)
				found[given.Name] = true
				var rules []string
				for _, rule := range given.Rules {
					rules = append(rules, inWords(rule))
				}
				assert.Equal(t, want.rules, rules, given.Name)
				assert.Equal(t, []string{want.folder, want.kind, want.namespace}, []string{folder, kind, given.Namespace}, given.Name)
			}
		}
	}
	assert.Len(t, found, len(rights), "a right that is listed is not given")
}

func TestTheRightsAreGivenToTheServiceAccounts(t *testing.T) {
	bound := map[string]bool{}
	for _, folder := range rightsFolders {
		for _, kind := range []string{"RoleBinding", "ClusterRoleBinding"} {
			for _, given := range all[binding](t, folder, kind) {
				want := rights[given.RoleRef.Name]
				bound[given.RoleRef.Name] = true
				var accounts []string
				for _, subject := range given.Subjects {
					assert.Equal(t, "ServiceAccount "+system, subject.Kind+" "+subject.Namespace, given.Name)
					accounts = append(accounts, subject.Name)
				}
				slices.Sort(accounts)
				assert.Equal(t, want.account, strings.Join(accounts, ","), given.Name)
				assert.Equal(t, []string{want.kind + "Binding", want.kind, want.namespace}, []string{kind, given.RoleRef.Kind, given.Namespace}, given.Name)
			}
		}
	}
	for name, right := range rights {
		assert.Equal(t, right.account != "", bound[name], name)
	}
}

func TestTakeOverIsOfBoth(t *testing.T) {
	for component, want := range map[string]string{"takeover-jobs": "jobs", "takeover-cronjobs": "cronjobs", "takeover-all": "cronjobs,jobs"} {
		deployments := objectsOf[appsv1.Deployment](t, "components/"+component, "Deployment")
		assert.Len(t, deployments, 2)
		for _, deployment := range deployments {
			assert.Equal(t, []corev1.EnvVar{{Name: "OSTINATO_TAKEOVER", Value: want}}, deployment.Spec.Template.Spec.Containers[0].Env, deployment.Name)
		}
	}
}

// The bridge looks for the built-in controller where it has the right to.
func TestTheProbeIsWhereTheRightIs(t *testing.T) {
	assert.Equal(t, probe, bridge.ProbeNamespace)
	for _, component := range []string{"takeover-jobs", "takeover-cronjobs"} {
		namespaces := objectsOf[corev1.Namespace](t, "components/"+component, "Namespace")
		require.Len(t, namespaces, 1)
		assert.Equal(t, probe, namespaces[0].Name)
		assert.Equal(t, "restricted", namespaces[0].Labels["pod-security.kubernetes.io/enforce"])
	}
}

func TestFlowsAreOfTheServiceAccounts(t *testing.T) {
	accounts := map[string]bool{}
	for _, account := range objects[corev1.ServiceAccount](t, "ServiceAccount") {
		accounts[account.Name] = true
	}
	schema := objects[flowcontrolv1.FlowSchema](t, "FlowSchema")[0]
	require.Len(t, schema.Spec.Rules[0].Subjects, len(accounts))
	for _, subject := range schema.Spec.Rules[0].Subjects {
		assert.True(t, accounts[subject.ServiceAccount.Name] && subject.ServiceAccount.Namespace == system, "%v", subject)
	}
}

// Every policy is of one service account, or of both, in force, and refuses what it can't judge.
func TestThePoliciesAreInForce(t *testing.T) {
	const both = ""
	want := map[string]string{
		"ostinato-events": both, "ostinato-jobs-status": both, "ostinato-cronjobs-status": both, "ostinato-native-cronjobs-status": both,
		"ostinato-worker-pods": "ostinato-worker", "ostinato-worker-jobs": "ostinato-worker", "ostinato-worker-cronjobs": "ostinato-worker",
		"ostinato-bridge-cronjobs": "ostinato-bridge",
	}
	bound := map[string]bool{}
	for _, binding := range objectsOf[admissionregistrationv1.ValidatingAdmissionPolicyBinding](t, "base", "ValidatingAdmissionPolicyBinding") {
		assert.Equal(t, []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}, binding.Spec.ValidationActions, binding.Name)
		assert.Nil(t, binding.Spec.MatchResources, binding.Name)
		bound[binding.Spec.PolicyName] = true
	}
	policies := objectsOf[admissionregistrationv1.ValidatingAdmissionPolicy](t, "base", "ValidatingAdmissionPolicy")
	assert.Len(t, policies, len(want))
	for _, policy := range policies {
		assert.True(t, bound[policy.Name], policy.Name)
		assert.Equal(t, admissionregistrationv1.Fail, *policy.Spec.FailurePolicy, policy.Name)
		require.Len(t, policy.Spec.MatchConditions, 1, policy.Name)
		account, known := want[policy.Name]
		assert.True(t, known, policy.Name)
		matched := fmt.Sprintf("request.userInfo.username == %q", "system:serviceaccount:"+system+":"+account)
		if account == both {
			matched = fmt.Sprintf("request.userInfo.username in [%q, %q]", "system:serviceaccount:"+system+":ostinato-worker", "system:serviceaccount:"+system+":ostinato-bridge")
		}
		assert.Equal(t, matched, policy.Spec.MatchConditions[0].Expression, policy.Name)
		for _, validation := range policy.Spec.Validations {
			assert.NotEmpty(t, validation.Message, policy.Name)
		}
	}
}

func TestTheNetworkPolicyIsOfBothAndOfTheirPorts(t *testing.T) {
	policies := objectsOf[networkingv1.NetworkPolicy](t, "components/network-policy", "NetworkPolicy")
	require.Len(t, policies, 1)
	policy := policies[0]
	assert.Equal(t, system, policy.Namespace)
	assert.ElementsMatch(t, []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}, policy.Spec.PolicyTypes)
	require.Len(t, policy.Spec.PodSelector.MatchExpressions, 1)
	selected := policy.Spec.PodSelector.MatchExpressions[0]
	for _, deployment := range objects[appsv1.Deployment](t, "Deployment") {
		assert.Contains(t, selected.Values, deployment.Spec.Template.Labels[selected.Key])
		var ports []string
		for _, port := range deployment.Spec.Template.Spec.Containers[0].Ports {
			ports = append(ports, port.Name)
		}
		var open []string
		for _, rule := range policy.Spec.Ingress {
			for _, port := range rule.Ports {
				open = append(open, port.Port.StrVal)
			}
		}
		assert.ElementsMatch(t, ports, open, deployment.Name)
	}
	var reached []int32
	for _, rule := range policy.Spec.Egress {
		require.NotEmpty(t, rule.Ports, "a rule without ports is for all")
		for _, port := range rule.Ports {
			reached = append(reached, port.Port.IntVal)
		}
	}
	assert.Equal(t, []int32{53, 53, 443, 6443, 7233}, reached)
}
