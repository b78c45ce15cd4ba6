package schedule

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/times"
)

// ConditionTypes are those that a plan writes to CronJobs, in their order.
var ConditionTypes = []string{
	ostinatov1.ConditionScheduleValid, ostinatov1.ConditionSuspended, ostinatov1.ConditionTemplateValid,
	ostinatov1.ConditionLastRunSucceeded, ostinatov1.ConditionReady, ostinatov1.ConditionStalled,
}

// unusableReasons are those of a Problem.
var unusableReasons = []string{string(times.UnparseableSchedule), string(times.UnknownTimeZone), string(times.NeverFires)}

// ConditionReasonsOf are the reasons of each condition that a plan writes.
var ConditionReasonsOf = map[string][]string{
	ostinatov1.ConditionScheduleValid:    slices.Concat([]string{conditionReasonScheduleParsed}, unusableReasons),
	ostinatov1.ConditionSuspended:        {conditionReasonSuspended, conditionReasonPaused, conditionReasonNotSuspended},
	ostinatov1.ConditionTemplateValid:    {conditionReasonTemplateTaken, conditionReasonTemplateRefused},
	ostinatov1.ConditionLastRunSucceeded: {string(ledger.Complete), string(ledger.Failed)},
	ostinatov1.ConditionReady: slices.Concat([]string{conditionReasonScheduled, conditionReasonSuspended, conditionReasonPaused},
		unusableReasons, []string{conditionReasonInvalidTemplate, conditionReasonContested, ledger.ReasonDeleting}),
	ostinatov1.ConditionStalled: slices.Concat([]string{conditionReasonNotStalled}, unusableReasons,
		[]string{conditionReasonInvalidTemplate, conditionReasonContested}),
}

// ConditionReasons are all of them.
var ConditionReasons = slices.Compact(slices.Sorted(slices.Values(slices.Concat(slices.Collect(maps.Values(ConditionReasonsOf))...))))

// Reasons of conditions that neither a Problem nor a ledger.Result gives.
const (
	conditionReasonScheduleParsed = "ScheduleParsed"
	conditionReasonSuspended      = "Suspended"
	conditionReasonNotSuspended   = "NotSuspended"
	// conditionReasonPaused is that of Suspended where failures have brought it about.
	conditionReasonPaused = "PausedAfterFailures"
	// These two are those of TemplateValid.
	conditionReasonTemplateTaken   = "JobAccepted"
	conditionReasonTemplateRefused = "JobRefused"
	// These are those of Ready and Stalled.
	conditionReasonScheduled       = "Scheduled"
	conditionReasonInvalidTemplate = "InvalidTemplate"
	conditionReasonNotStalled      = "NotStalled"
	// conditionReasonContested is theirs while others write the status.
	conditionReasonContested = event.StatusContested
)

// setConditions brings the conditions up to date.
func (p *pass) setConditions() {
	// What others have written to the object's status is left to them.
	conditions := slices.DeleteFunc(slices.Clone(p.state.Conditions), func(condition metav1.Condition) bool {
		return !slices.Contains(ConditionTypes, condition.Type) || !slices.Contains(ConditionReasons, condition.Reason)
	})
	valid := condition(ostinatov1.ConditionScheduleValid, true, conditionReasonScheduleParsed, "")
	if problem := p.state.Calendar.Problem; problem != nil {
		valid = condition(ostinatov1.ConditionScheduleValid, false, string(problem.Reason), problem.Message)
	}
	suspended := condition(ostinatov1.ConditionSuspended, p.spec.Suspend, conditionReasonNotSuspended, "")
	switch {
	case p.spec.Suspend && p.state.PausedWhy != "":
		suspended.Reason, suspended.Message = conditionReasonPaused, p.state.PausedWhy
	case p.spec.Suspend:
		suspended.Reason = conditionReasonSuspended
	}
	fresh := []metav1.Condition{valid, suspended}
	if succeeded, known := p.state.lastRunSucceeded(); known {
		fresh = append(fresh, succeeded)
	}
	conditions = with(conditions, p.spec.Generation, p.now, fresh...)
	p.state.Conditions = with(conditions, p.spec.Generation, p.now, readiness(conditions, p.spec.Deleting, p.state.contested(p.now))...)
}

// condition returns a condition that is True or False.
func condition(kind string, is bool, reason, message string) metav1.Condition {
	condition := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: message}
	if is {
		condition.Status = metav1.ConditionTrue
	}
	return condition
}

// with returns the conditions with some replaced. The transition time of one changes only with its status.
func with(conditions []metav1.Condition, generation int64, now time.Time, fresh ...metav1.Condition) []metav1.Condition {
	conditions = slices.Clone(conditions)
	for _, condition := range fresh {
		condition.ObservedGeneration, condition.LastTransitionTime = generation, metav1.NewTime(now.UTC().Truncate(time.Second))
		if known := find(conditions, condition.Type); known.Status == condition.Status {
			condition.LastTransitionTime = known.LastTransitionTime
		}
		conditions = slices.DeleteFunc(conditions, func(other metav1.Condition) bool { return other.Type == condition.Type })
		conditions = append(conditions, condition)
	}
	slices.SortStableFunc(conditions, func(a, b metav1.Condition) int {
		return slices.Index(ConditionTypes, a.Type) - slices.Index(ConditionTypes, b.Type)
	})
	return conditions
}

// find returns the condition of a type; the zero Condition where there is none.
func find(conditions []metav1.Condition, kind string) metav1.Condition {
	return ptr.Deref(meta.FindStatusCondition(conditions, kind), metav1.Condition{})
}

// lastRunSucceeded says how the last run ended. It is unknown if its row has left the ledger: the condition then stays.
func (s State) lastRunSucceeded() (succeeded metav1.Condition, known bool) {
	last := s.lastEnded(ledger.Complete, ledger.Failed)
	message := ""
	if last.Result == ledger.Failed {
		message = "Job " + last.Job + " has failed"
		if last.ResultReason != "" {
			message += ": " + last.ResultReason
		}
		if last.Stopped != "" {
			message += " " + last.Stopped
		}
		if s.ConsecutiveFailures > 1 {
			message += fmt.Sprintf("; %d runs in a row have failed", s.ConsecutiveFailures)
		}
	}
	return condition(ostinatov1.ConditionLastRunSucceeded, last.Result == ledger.Complete, string(last.Result), message), last.Result != ""
}

// readiness returns Ready and Stalled, which follow from the other conditions. Failed runs change neither.
func readiness(conditions []metav1.Condition, deleting, contested bool) []metav1.Condition {
	stalled := condition(ostinatov1.ConditionStalled, false, conditionReasonNotStalled, "")
	valid, template := find(conditions, ostinatov1.ConditionScheduleValid), find(conditions, ostinatov1.ConditionTemplateValid)
	switch {
	case valid.Status != metav1.ConditionTrue:
		stalled = condition(ostinatov1.ConditionStalled, true, valid.Reason, valid.Message)
	case template.Status == metav1.ConditionFalse:
		stalled = condition(ostinatov1.ConditionStalled, true, conditionReasonInvalidTemplate, template.Message)
	case contested:
		stalled = condition(ostinatov1.ConditionStalled, true, conditionReasonContested, contestedMessage)
	}
	ready, suspended := condition(ostinatov1.ConditionReady, true, conditionReasonScheduled, ""), firstOf(conditions, isSuspended)
	switch {
	case deleting:
		ready = condition(ostinatov1.ConditionReady, false, ledger.ReasonDeleting, "")
	case stalled.Status == metav1.ConditionTrue:
		ready = condition(ostinatov1.ConditionReady, false, stalled.Reason, stalled.Message)
	case suspended != nil:
		ready.Reason = suspended.Reason
	}
	return []metav1.Condition{ready, stalled}
}

// Ready returns the condition Ready that follows from a CronJob's other conditions, without times.
func Ready(cronJob *ostinatov1.CronJob) metav1.Condition {
	conditions := cronJob.Status.Conditions
	contested := find(conditions, ostinatov1.ConditionStalled).Reason == conditionReasonContested
	return readiness(conditions, cronJob.DeletionTimestamp != nil, contested)[0]
}

// judged returns the conditions with TemplateValid by a judgement, and with what follows from it.
func judged(conditions []metav1.Condition, judgement Judgement) []metav1.Condition {
	valid := condition(ostinatov1.ConditionTemplateValid, judgement.Refusal == "", conditionReasonTemplateTaken, judgement.Refusal)
	if judgement.Refusal != "" {
		valid.Reason = conditionReasonTemplateRefused
	}
	conditions = with(conditions, judgement.Generation, judgement.At, valid)
	contested := find(conditions, ostinatov1.ConditionStalled).Reason == conditionReasonContested
	for _, condition := range readiness(conditions, false, contested) {
		if known := find(conditions, condition.Type); known.Type != "" {
			conditions = with(conditions, known.ObservedGeneration, judgement.At, condition)
		}
	}
	return conditions
}

// equalConditions compares conditions except LastRunSucceeded, which like the ledger's rows waits for the next write.
func equalConditions(a, b []metav1.Condition) bool {
	compared := func(conditions []metav1.Condition) []metav1.Condition {
		return slices.DeleteFunc(slices.Clone(conditions), func(c metav1.Condition) bool { return c.Type == ostinatov1.ConditionLastRunSucceeded })
	}
	return slices.EqualFunc(compared(a), compared(b), func(a, b metav1.Condition) bool {
		same := a.LastTransitionTime.Equal(&b.LastTransitionTime)
		a.LastTransitionTime = b.LastTransitionTime
		return same && a == b
	})
}

// Judgement is what the API server said when it was asked, without effect, for the Job of a generation's next run.
type Judgement struct {
	Generation int64     `json:"generation"`
	At         time.Time `json:"at"`
	// Refusal is its message; empty if it would take the Job.
	Refusal string `json:"refusal,omitempty"`
	// Unknown is set when it was not reached, or its answer was not about the template.
	Unknown bool `json:"unknown,omitempty"`
}

// StatusJudged returns the status with a judgement in it. It is idempotent and leaves its argument.
func StatusJudged(status ostinatov1.CronJobStatus, judgement Judgement) ostinatov1.CronJobStatus {
	if judgement.Unknown {
		return status
	}
	status.Conditions = judged(status.Conditions, judgement)
	if status.NextScheduleTime != nil {
		status.Next = nextOf(status.NextScheduleTime.Time, find(status.Conditions, ostinatov1.ConditionTemplateValid))
	}
	return status
}

// template returns the condition TemplateValid; of generation 0 if there is none.
func (s State) template() metav1.Condition {
	return find(s.Conditions, ostinatov1.ConditionTemplateValid)
}

// chooseJudge has the template judged with what else is to be done: each generation once.
func (p *pass) chooseJudge() {
	p.plan.Judge = p.plan.Start == nil && !p.spec.Deleting && p.state.template().ObservedGeneration != p.spec.Generation &&
		!p.now.Before(p.state.Judging.Until)
}

// applyJudgement takes in the judgement that a plan asked for. There is none with a refused run.
func (p *pass) applyJudgement(plan Plan, judgement *Judgement) {
	switch {
	case !plan.Judge:
	case judgement != nil && !judgement.Unknown:
		p.state.Judging = Backoff{}
		p.state.Conditions = judged(p.state.Conditions, *judgement)
	case judgement != nil, p.state.Judging.Attempts > 0:
		p.state.Judging = p.state.Judging.Next(p.now)
	}
}

// proveTemplate takes the answer to a run's create for a judgement, if it differs or is of a later generation.
func (p *pass) proveTemplate(plan Plan, refusal string) {
	// The spec that the start was planned with is that of the status; of none where there is no status.
	status := ptr.Deref(cmp.Or(plan.Status, plan.Next.Reported), ostinatov1.CronJobStatus{})
	known, generation := p.state.template(), status.ObservedGeneration
	switch {
	case known.ObservedGeneration == 0, known.ObservedGeneration > generation:
		return
	case known.ObservedGeneration == generation && (known.Status == metav1.ConditionTrue) == (refusal == ""):
		return
	}
	p.state.Conditions = judged(p.state.Conditions, Judgement{Generation: generation, At: p.now, Refusal: refusal})
}
