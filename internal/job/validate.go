package job

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"
)

// Bounds of what is planned with. They are above all that Ostinato and the API server
// make, and keep what anybody may send to Temporal from taking memory or time.
const (
	// MaxStatePods bounds the Pods of a State, and so those whose end it does not know.
	MaxStatePods = 2 * maxActive
	// MaxCounted bounds the UIDs of counted Pods that a plan notes. A Job has room for fewer.
	MaxCounted = 10_000
	// maxFactText bounds a text of a fact, in bytes: PodWatch cuts messages to 256, and a name has 253 at most.
	maxFactText = 1024
	// maxFactTexts bounds all texts of a fact in sum, in bytes.
	maxFactTexts = 16 << 10
	// maxFactList bounds the exits and conditions of a Pod.
	maxFactList = 100
	// maxFactName bounds the names of a Pod and of its containers, and maxFactCondition a
	// condition with its status: the longest type is a DNS subdomain, a slash and a name. A
	// verdict says in a condition's message which of them matches the podFailurePolicy.
	maxFactName, maxFactCondition = 253, 253 + 1 + 63 + len("=Unknown")
	// maxIndexRecords bounds the records of a State: the indexes of an Indexed Job that may run
	// at a time or have a back-off limit of their own (parity 2.17).
	maxIndexRecords = 100_000
	// maxRules bounds the rules of policies, and the lists in them; the API server takes 20 rules with 255 exit codes.
	maxRules = 1000
	// maxList bounds the conditions and exits of a Pod or Job, evidence and mistakes.
	maxList = 1000
	// maxText bounds texts, in bytes.
	maxText = 32 << 10
	// maxLog and maxAttemptText bound the log and the other texts of an attempt: the evidence of
	// all attempts has room in a result. Temporal takes 2 MiB.
	maxLog         = 64 << 10
	maxAttemptText = 4 << 10
	// maxMistake bounds what is wrong with an annotation, in bytes.
	maxMistake = 1024
)

// Validate reports whether the Spec can be that of a Job object: anybody who may write to Temporal may have sent it.
func (s Spec) Validate() error {
	return cmp.Or(
		within(
			number{"parallelism", int64(s.Parallelism), unbounded},
			number{"completions", int64(ptr.Deref(s.Completions, 0)), unbounded},
			number{"backoffLimit", int64(s.BackoffLimit), unbounded},
			number{"backoffLimitPerIndex", int64(ptr.Deref(s.BackoffLimitPerIndex, 0)), unbounded},
			number{"maxFailedIndexes", int64(ptr.Deref(s.MaxFailedIndexes, 0)), unbounded},
			number{"activeDeadlineSeconds", ptr.Deref(s.ActiveDeadlineSeconds, 0), unbounded},
			number{"pendingDeadlineSeconds", s.PendingDeadlineSeconds, maxAnnotationSeconds},
			number{"backoffBaseSeconds", s.BackoffBaseSeconds, maxAnnotationSeconds},
			number{"backoffCapSeconds", s.BackoffCapSeconds, maxAnnotationSeconds},
			number{"defaults.backoffBase", int64(s.Defaults.BackoffBase), unbounded},
			number{"defaults.backoffCap", int64(s.Defaults.BackoffCap), unbounded},
			number{"mistakes", int64(len(s.Mistakes)), maxList},
		),
		short(maxStopName, ptr.Deref(s.Stop, Stop{}).By), short(maxStopText, ptr.Deref(s.Stop, Stop{}).Note),
		short(maxMistake, string(s.CompletionMode), string(s.RestartPolicy), string(s.PodReplacementPolicy)),
		short(maxMistake, s.Mistakes...),
		validatePolicy(s.PodFailurePolicy),
	)
}

func validatePolicy(failure *batchv1.PodFailurePolicy) error {
	all := ptr.Deref(failure, batchv1.PodFailurePolicy{}).Rules
	rules := len(all)
	for _, rule := range all {
		rules += len(rule.OnPodConditions)
		if rule.OnExitCodes != nil {
			rules += len(rule.OnExitCodes.Values) / 255
		}
	}
	if rules > maxRules {
		return fmt.Errorf("a policy of %d rules, want %d at most", rules, maxRules)
	}
	return nil
}

// number is what a Spec or State holds, or how much of it.
type number struct {
	name       string
	value, max int64
}

const unbounded = math.MaxInt64

// within returns an error for a number that is negative or above its bound.
func within(numbers ...number) error {
	for _, number := range numbers {
		switch {
		case number.value < 0:
			return fmt.Errorf("%s is %d, want 0 or more", number.name, number.value)
		case number.value > number.max:
			return fmt.Errorf("%s is %d, want %d at most", number.name, number.value, number.max)
		}
	}
	return nil
}

// Validate reports whether the State can be one that was carried over.
func (s State) Validate() error {
	err := within(
		number{"pods", int64(len(s.Pods)), MaxStatePods},
		number{"indexes", int64(len(s.Indexes)), maxIndexRecords},
		number{"evidence", int64(len(s.Evidence)), maxAttempts},
		number{"open", int64(len(s.Open)), MaxStatePods},
		number{"announced", int64(len(s.Announced)), maxList},
		number{"attempts", s.Attempts, unbounded},
		number{"dropped.attempts", s.Dropped.Attempts, unbounded},
		number{"succeeded", int64(s.Succeeded), unbounded},
		number{"failed", int64(s.Failed), unbounded},
		number{"evidenceOmitted", int64(s.EvidenceOmitted), unbounded},
		number{"backoff.failures", int64(s.Backoff.Failures), unbounded},
		number{"createRetry.refusals", int64(s.CreateRetry.Refusals), unbounded},
		number{"statusRetry.refusals", int64(s.StatusRetry.Refusals), unbounded},
	)
	if err != nil {
		return err
	}
	for _, record := range s.Indexes {
		if record.Index < 0 || record.Attempts < 0 || record.Failures < 0 || record.Ignored < 0 {
			return fmt.Errorf("the record of an index is negative")
		}
	}
	if slices.ContainsFunc(s.Open, func(number int64) bool { return number <= 0 || number > s.Attempts }) {
		return fmt.Errorf("a create without an answer has a number that no Pod of the Job has")
	}
	if s.Written != nil && (s.Written.Succeeded < 0 || s.Written.Failed < 0 || s.Written.Terminating == nil && s.Written.Active < 0) {
		return fmt.Errorf("the counters of the written status are negative")
	}
	for _, attempt := range s.Evidence {
		if len(attempt.Log) > maxLog {
			return fmt.Errorf("a log of %d bytes, want %d at most", len(attempt.Log), maxLog)
		}
		if err := short(maxAttemptText, attempt.Pod, attempt.UID, attempt.Node, attempt.Container, attempt.Reason, attempt.Message,
			attempt.Ended, attempt.LogMissing); err != nil {
			return err
		}
	}
	for _, pod := range s.Pods {
		if err := errors.Join(pod.PodFact.validate(), short(maxText, pod.Retry.Message)); err != nil {
			return err
		}
	}
	if v := s.Verdict; v != (Verdict{}) && (!slices.Contains(ConditionReasons(v.Interim), v.Reason) || len(v.Message) > MaxConditionText) {
		return fmt.Errorf("a verdict %.64q for the reason %.64q, with a message of %d bytes", string(v.Interim), v.Reason, len(v.Message))
	}
	return cmp.Or(
		validateConditions(s.Conditions),
		short(maxMistake, s.Announced...),
		short(maxText, s.CreateRetry.Message, s.StatusRetry.Message, s.ErrorRetry.Message),
	)
}

// ValidateFacts reports whether the facts can be such as PodWatch or a list bring.
func ValidateFacts(facts []PodFact) error {
	if len(facts) > MaxStatePods {
		return fmt.Errorf("%d pods, want %d at most", len(facts), MaxStatePods)
	}
	for _, fact := range facts {
		if err := fact.validate(); err != nil {
			return err
		}
	}
	return nil
}

func (f PodFact) validate() error {
	switch {
	case f.Index != nil && *f.Index < 0, f.Restarts < 0, f.Failures < 0, f.Ignored < 0, f.Attempt < 0, f.Version < 0:
		return fmt.Errorf("pod %.70q has a negative number", f.Name)
	case len(f.Name) > maxFactName:
		return fmt.Errorf("pod %.70q has a name of %d bytes, want %d at most", f.Name, len(f.Name), maxFactName)
	case len(f.Exits) > maxFactList, len(f.Conditions) > maxFactList:
		return fmt.Errorf("pod %.70q has %d exits and %d conditions, want %d at most", f.Name, len(f.Exits), len(f.Conditions), maxFactList)
	}
	texts := []string{f.Name, f.UID, f.Container, f.Reason, f.Message, f.Node, f.PendingMessage, string(f.Phase), string(f.Pending)}
	var containers []string
	for _, exit := range f.Exits {
		containers = append(containers, exit.Container)
	}
	size := 0
	for _, text := range slices.Concat(texts, containers, f.Conditions) {
		size += len(text)
	}
	if size > maxFactTexts {
		return fmt.Errorf("pod %.70q has texts of %d bytes, want %d at most", f.Name, size, maxFactTexts)
	}
	err := errors.Join(short(maxFactText, texts...), short(maxFactName, containers...), short(maxFactCondition, f.Conditions...))
	if err != nil {
		return fmt.Errorf("pod %.70q: %w", f.Name, err)
	}
	return nil
}

func short(limit int, texts ...string) error {
	for _, text := range texts {
		if len(text) > limit {
			return fmt.Errorf("a text of %d bytes, want %d at most", len(text), limit)
		}
	}
	return nil
}
