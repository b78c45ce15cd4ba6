package job

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"
)

// MatchedRule returns the first rule of spec.successPolicy that the completed indexes meet
// (parity 2.14). The policy may have more than a megabyte, so it stays in the Kubernetes object.
func MatchedRule(job *batchv1.Job, completed Indexes) (index int32, ok bool) {
	if job.Spec.SuccessPolicy == nil || completed.IsZero() {
		return 0, false
	}
	for i, rule := range job.Spec.SuccessPolicy.Rules {
		if satisfies(completed, rule, ptr.Deref(job.Spec.Completions, 0)) {
			return int32(i), true
		}
	}
	return 0, false
}

func satisfies(completed Indexes, rule batchv1.SuccessPolicyRule, completions int32) bool {
	if rule.SucceededIndexes == nil {
		return rule.SucceededCount != nil && completed.Len() >= *rule.SucceededCount
	}
	wanted := ParseIndexes(*rule.SucceededIndexes).Below(completions)
	if wanted.IsZero() {
		return false
	}
	succeeded := wanted.Common(completed)
	return succeeded == wanted.Len() || rule.SucceededCount != nil && succeeded >= *rule.SucceededCount
}

// Judged says for which indexes spec.successPolicy was evaluated, and with what result.
// Completed indexes are only ever added while completions stays as it is, so that their number names them; what is
// said of indexes that were made up, or were all dropped, is forgotten.
type Judged struct {
	Completed   int32 `json:"completed"`
	Completions int32 `json:"completions"`
	// Rule is the rule that was met; nil for none.
	Rule *int32 `json:"rule,omitempty"`
}

// successPolicy decides that enough indexes succeeded by a rule of spec.successPolicy.
// Where that is not known the plan asks: it is carried out only if no rule is met.
func (p *pass) successPolicy() *Verdict {
	if !p.spec.HasSuccessPolicy || p.state.Completed.IsZero() {
		p.state.Judged = Judged{}
		return nil
	}
	now, known := Judged{Completed: p.state.Completed.Len(), Completions: p.completions()}, p.state.Judged
	switch {
	case known.Completed != now.Completed, known.Completions != now.Completions:
		p.state.Judged, p.plan.Judge = now, p.state.Completed
		return nil
	case known.Rule == nil:
		return nil
	}
	return &Verdict{batchv1.JobSuccessCriteriaMet, batchv1.JobReasonSuccessPolicy, fmt.Sprintf("Matched rules at index %d", *known.Rule)}
}

// Matched returns the State after nothing of a Plan was carried out, since Judge meets this rule of spec.successPolicy.
func (p Plan) Matched(rule int32) State {
	state := p.before
	state.Judged = p.Next.Judged
	state.Judged.Rule = &rule
	return state
}
