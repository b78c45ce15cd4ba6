package job

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
)

// successPolicy decides that enough indexes succeeded by a rule of
// spec.successPolicy; the first rule that matches wins (parity 2.14).
func (p *pass) successPolicy() *Verdict {
	if p.spec.SuccessPolicy == nil || p.state.Completed.IsZero() {
		return nil
	}
	for i, rule := range p.spec.SuccessPolicy.Rules {
		if p.matches(rule) {
			return &Verdict{batchv1.JobSuccessCriteriaMet, batchv1.JobReasonSuccessPolicy, fmt.Sprintf("Matched rules at index %d", i)}
		}
	}
	return nil
}

func (p *pass) matches(rule batchv1.SuccessPolicyRule) bool {
	if rule.SucceededIndexes == nil {
		return rule.SucceededCount != nil && p.state.Completed.Len() >= *rule.SucceededCount
	}
	wanted := ParseIndexes(*rule.SucceededIndexes).Below(p.completions())
	if wanted.IsZero() {
		return false
	}
	succeeded := wanted.Common(p.state.Completed)
	return succeeded == wanted.Len() || rule.SucceededCount != nil && succeeded >= *rule.SucceededCount
}
