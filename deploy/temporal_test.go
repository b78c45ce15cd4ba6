package deploy_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

const temporalAccess = "components/temporal-access"

// The policy knows the role by its right, which is for the empty name, and lets by what it can't judge: a kubelet without a certificate is worse
// than a request that its signer does not approve.
func TestTheRoleOfPeopleIsForOneSigner(t *testing.T) {
	var rules []rbacv1.PolicyRule
	for _, role := range all[role](t, temporalAccess, "ClusterRole") {
		if role.Name == "ostinato-temporal-user" {
			rules = role.Rules
		}
	}
	requests := []string{"certificatesigningrequests"}
	assert.Equal(t, []rbacv1.PolicyRule{
		{Verbs: []string{"create"}, APIGroups: []string{"certificates.k8s.io"}, Resources: requests, ResourceNames: []string{""}},
		{Verbs: []string{"get"}, APIGroups: []string{"certificates.k8s.io"}, Resources: requests},
	}, rules)

	policies := all[admissionregistrationv1.ValidatingAdmissionPolicy](t, temporalAccess, "ValidatingAdmissionPolicy")
	require.Len(t, policies, 1)
	policy := policies[0]
	assert.Equal(t, admissionregistrationv1.Ignore, *policy.Spec.FailurePolicy)
	require.Len(t, policy.Spec.MatchConditions, 1)
	assert.Equal(t, `object.spec.signerName != "ostinato.dev/temporal"`, policy.Spec.MatchConditions[0].Expression)
	bindings := all[admissionregistrationv1.ValidatingAdmissionPolicyBinding](t, temporalAccess, "ValidatingAdmissionPolicyBinding")
	require.Len(t, bindings, 1)
	assert.Equal(t, policy.Name, bindings[0].Spec.PolicyName)
	assert.Equal(t, []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}, bindings[0].Spec.ValidationActions)
}
