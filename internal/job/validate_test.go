package job_test

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/internal/job"
)

// validateStatus applies the API server's rules for a Job status update (parity
// 2.17) as far as they concern NonIndexed Jobs.
func validateStatus(old, updated batchv1.JobStatus, spec job.Spec) error {
	for _, rule := range statusRules {
		if rule.changed != nil && !rule.changed(old, updated) {
			continue
		}
		if !rule.holds(old, updated, spec) {
			return fmt.Errorf("%s: old %s, new %s", rule.name, describeStatus(old), describeStatus(updated))
		}
	}
	return nil
}

type statusRule struct {
	name string
	// changed limits the rule to updates that change the named things; nil means
	// every update.
	changed func(old, updated batchv1.JobStatus) bool
	holds   func(old, updated batchv1.JobStatus, spec job.Spec) bool
}

var statusRules = []statusRule{
	{"counters are not negative", nil, func(_, s batchv1.JobStatus, _ job.Spec) bool {
		return s.Active >= 0 && s.Succeeded >= 0 && s.Failed >= 0 && number(s.Ready) >= 0 && number(s.Terminating) >= 0
	}},
	{"not SuccessCriteriaMet with Failed or FailureTarget", nil, func(_, s batchv1.JobStatus, _ job.Spec) bool {
		return !isTrue(s, batchv1.JobSuccessCriteriaMet) || !isTrue(s, batchv1.JobFailed) && !isTrue(s, batchv1.JobFailureTarget)
	}},
	{"a verdict is not taken back", nil, func(old, s batchv1.JobStatus, _ job.Spec) bool {
		for _, kind := range []batchv1.JobConditionType{batchv1.JobFailed, batchv1.JobComplete, batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet} {
			if isTrue(old, kind) && !isTrue(s, kind) {
				return false
			}
		}
		return true
	}},
	{"failed and succeeded do not fall", nil, func(old, s batchv1.JobStatus, _ job.Spec) bool {
		return s.Failed >= old.Failed && s.Succeeded >= old.Succeeded
	}},
	{"completionTime is immutable", nil, func(old, s batchv1.JobStatus, _ job.Spec) bool {
		return old.CompletionTime == nil || s.CompletionTime.Equal(old.CompletionTime)
	}},
	{"a Complete Job does not gain SuccessCriteriaMet", nil, func(old, s batchv1.JobStatus, _ job.Spec) bool {
		return !isTrue(old, batchv1.JobComplete) || isTrue(old, batchv1.JobSuccessCriteriaMet) == isTrue(s, batchv1.JobSuccessCriteriaMet)
	}},
	{"not Complete and Failed", either(batchv1.JobComplete, batchv1.JobFailed), func(_, s batchv1.JobStatus, _ job.Spec) bool {
		return !isTrue(s, batchv1.JobComplete) || !isTrue(s, batchv1.JobFailed)
	}},
	{"not Complete with FailureTarget", either(batchv1.JobComplete, batchv1.JobFailureTarget), func(_, s batchv1.JobStatus, _ job.Spec) bool {
		return !isTrue(s, batchv1.JobComplete) || !isTrue(s, batchv1.JobFailureTarget)
	}},
	{"Failed requires FailureTarget", either(batchv1.JobFailed), func(_, s batchv1.JobStatus, _ job.Spec) bool {
		return !isTrue(s, batchv1.JobFailed) || isTrue(s, batchv1.JobFailureTarget)
	}},
	{"Complete requires SuccessCriteriaMet", either(batchv1.JobComplete, batchv1.JobSuccessCriteriaMet), func(_, s batchv1.JobStatus, _ job.Spec) bool {
		return !isTrue(s, batchv1.JobComplete) || isTrue(s, batchv1.JobSuccessCriteriaMet)
	}},
	{"finished means nothing active", finishedOr(func(s batchv1.JobStatus) any { return s.Active }), func(_, s batchv1.JobStatus, _ job.Spec) bool {
		return !finished(s) || s.Active == 0
	}},
	{"finished means nothing terminating", finishedOr(func(s batchv1.JobStatus) any { return number(s.Terminating) }), func(_, s batchv1.JobStatus, _ job.Spec) bool {
		return !finished(s) || number(s.Terminating) == 0
	}},
	{"finished means nothing uncounted", nil, func(_, s batchv1.JobStatus, _ job.Spec) bool {
		return !finished(s) || s.UncountedTerminatedPods == nil ||
			len(s.UncountedTerminatedPods.Succeeded)+len(s.UncountedTerminatedPods.Failed) == 0
	}},
	{"finished means started", finishedOr(func(s batchv1.JobStatus) any { return stamp(s.StartTime) }), func(_, s batchv1.JobStatus, spec job.Spec) bool {
		exempt := spec.Suspend && spec.Completions != nil && *spec.Completions == 0
		return !finished(s) || s.StartTime != nil || exempt
	}},
	{"startTime is immutable while not suspended", func(old, s batchv1.JobStatus) bool { return !s.StartTime.Equal(old.StartTime) },
		func(old, s batchv1.JobStatus, spec job.Spec) bool {
			resumed := isTrue(old, batchv1.JobSuspended) && !isTrue(s, batchv1.JobSuspended)
			return old.StartTime == nil || spec.Suspend || resumed
		}},
	{"completionTime is not before startTime", nil, func(_, s batchv1.JobStatus, _ job.Spec) bool {
		return s.CompletionTime == nil || s.StartTime == nil || !s.CompletionTime.Before(s.StartTime)
	}},
	{"completionTime exactly when Complete", nil, func(_, s batchv1.JobStatus, _ job.Spec) bool {
		return (s.CompletionTime != nil) == isTrue(s, batchv1.JobComplete)
	}},
	{"ready is at most active", nil, func(_, s batchv1.JobStatus, _ job.Spec) bool { return number(s.Ready) <= s.Active }},
	{"times are whole seconds", nil, func(_, s batchv1.JobStatus, _ job.Spec) bool {
		return (s.StartTime == nil || s.StartTime.Nanosecond() == 0) && (s.CompletionTime == nil || s.CompletionTime.Nanosecond() == 0)
	}},
	{"uncountedTerminatedPods is present, as upstream leaves it", nil, func(_, s batchv1.JobStatus, _ job.Spec) bool {
		return s.UncountedTerminatedPods != nil && s.Ready != nil && s.Terminating != nil
	}},
}

func either(kinds ...batchv1.JobConditionType) func(old, updated batchv1.JobStatus) bool {
	return func(old, updated batchv1.JobStatus) bool {
		return slices.ContainsFunc(kinds, func(kind batchv1.JobConditionType) bool { return isTrue(old, kind) != isTrue(updated, kind) })
	}
}

func finishedOr(value func(batchv1.JobStatus) any) func(old, updated batchv1.JobStatus) bool {
	return func(old, updated batchv1.JobStatus) bool {
		return finished(old) != finished(updated) || value(old) != value(updated)
	}
}

func isTrue(status batchv1.JobStatus, kind batchv1.JobConditionType) bool {
	return slices.ContainsFunc(status.Conditions, func(condition batchv1.JobCondition) bool {
		return condition.Type == kind && condition.Status == corev1.ConditionTrue
	})
}

func finished(status batchv1.JobStatus) bool {
	return isTrue(status, batchv1.JobComplete) || isTrue(status, batchv1.JobFailed)
}

func number(value *int32) int32 {
	if value == nil {
		return 0
	}
	return *value
}

func stamp(t *metav1.Time) int64 {
	if t == nil {
		return 0
	}
	return t.Unix()
}

func describeStatus(s batchv1.JobStatus) string {
	return fmt.Sprintf("{active %d ready %d terminating %d succeeded %d failed %d start %v end %v %s}",
		s.Active, number(s.Ready), number(s.Terminating), s.Succeeded, s.Failed, s.StartTime, s.CompletionTime, conditionsOf(s))
}

// conditionsOf lists the conditions in order as "Type=Status/Reason".
func conditionsOf(status batchv1.JobStatus) []string {
	list := []string{}
	for _, condition := range status.Conditions {
		text := string(condition.Type)
		if condition.Status != corev1.ConditionTrue {
			text += "=" + string(condition.Status)
		}
		list = append(list, text+"/"+condition.Reason)
	}
	return list
}
