package job

import (
	"errors"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
)

// Bounds of what is planned with. They are above all that Ostinato and the API server
// make, and keep what anybody may send to Temporal from taking memory or time.
const (
	// MaxStatePods bounds the Pods of a State, and so those whose end it does not know; twice what
	// Config.MaxActive lets run.
	MaxStatePods = 20_000
	// MaxCounted bounds the UIDs of counted Pods that a plan notes. A Job has room for fewer.
	MaxCounted = 10_000
	// maxFactText bounds a text of a fact, in bytes: PodWatch cuts messages to 256 and reasons
	// to 128, and a name of Kubernetes has 253 at most.
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
	// maxRules bounds the rules of policies, and the lists in them; the API server takes
	// 20 rules with 255 exit codes.
	maxRules = 1000
	// maxList bounds the conditions and exits of a Pod or Job, evidence and mistakes.
	maxList = 1000
	// maxText bounds texts, in bytes.
	maxText = 32 << 10
	// maxLog and maxAttemptText bound the log and the other texts of an attempt: the evidence of
	// all attempts has room in a result. Temporal takes 2 MiB.
	maxLog         = 64 << 10
	maxAttemptText = 4 << 10
	// maxUID bounds a UID, and maxMistake what is wrong with an annotation, in bytes.
	maxUID, maxMistake = 128, 1024
)

// Validate reports whether the Spec can be that of a Job object: anybody who may write
// to Temporal may have sent it.
func (s Spec) Validate() error {
	for _, field := range []struct {
		name  string
		value *int32
	}{
		{"parallelism", &s.Parallelism},
		{"completions", s.Completions},
		{"backoffLimit", &s.BackoffLimit},
		{"backoffLimitPerIndex", s.BackoffLimitPerIndex},
		{"maxFailedIndexes", s.MaxFailedIndexes},
	} {
		if field.value != nil && *field.value < 0 {
			return fmt.Errorf("%s is %d, want 0 or more", field.name, *field.value)
		}
	}
	for _, field := range []struct {
		name  string
		value int64
	}{
		{"pendingDeadlineSeconds", s.PendingDeadlineSeconds},
		{"backoffBaseSeconds", s.BackoffBaseSeconds},
		{"backoffCapSeconds", s.BackoffCapSeconds},
		{"defaults.backoffBase", int64(s.Defaults.BackoffBase)},
		{"defaults.backoffCap", int64(s.Defaults.BackoffCap)},
	} {
		if field.value < 0 {
			return fmt.Errorf("%s is %d, want 0 or more", field.name, field.value)
		}
	}
	for _, field := range []struct {
		name  string
		value int64
	}{
		{"pendingDeadlineSeconds", s.PendingDeadlineSeconds},
		{"backoffBaseSeconds", s.BackoffBaseSeconds},
		{"backoffCapSeconds", s.BackoffCapSeconds},
	} {
		if field.value > maxAnnotationSeconds {
			return fmt.Errorf("%s is %d, want %d at most", field.name, field.value, maxAnnotationSeconds)
		}
	}
	if s.ActiveDeadlineSeconds != nil && *s.ActiveDeadlineSeconds < 0 {
		return fmt.Errorf("activeDeadlineSeconds is %d, want 0 or more", *s.ActiveDeadlineSeconds)
	}
	if len(s.Mistakes) > maxList {
		return fmt.Errorf("%d mistakes, want %d at most", len(s.Mistakes), maxList)
	}
	if err := short(maxMistake, append([]string{string(s.CompletionMode), string(s.RestartPolicy), string(s.PodReplacementPolicy)}, s.Mistakes...)...); err != nil {
		return err
	}
	return validatePolicy(s.PodFailurePolicy)
}

func validatePolicy(failure *batchv1.PodFailurePolicy) error {
	rules := 0
	if failure != nil {
		rules += len(failure.Rules)
		for _, rule := range failure.Rules {
			rules += len(rule.OnPodConditions)
			if rule.OnExitCodes != nil {
				rules += len(rule.OnExitCodes.Values) / 255
			}
		}
	}
	if rules > maxRules {
		return fmt.Errorf("a policy of %d rules, want %d at most", rules, maxRules)
	}
	return nil
}

// Validate reports whether the State can be one that was carried over.
func (s State) Validate() error {
	for _, list := range []struct {
		name        string
		count, most int
	}{
		{"pods", len(s.Pods), MaxStatePods},
		{"indexes", len(s.Indexes), maxIndexRecords},
		{"conditions", len(s.Conditions), maxList},
		{"evidence", len(s.Evidence), maxList},
		{"announced", len(s.Announced), maxList},
	} {
		if list.count > list.most {
			return fmt.Errorf("%s: %d, want %d at most", list.name, list.count, list.most)
		}
	}
	for _, field := range []struct {
		name  string
		value int64
	}{
		{"attempts", s.Attempts},
		{"dropped.attempts", s.Dropped.Attempts},
		{"succeeded", int64(s.Succeeded)},
		{"failed", int64(s.Failed)},
		{"evidenceOmitted", int64(s.EvidenceOmitted)},
		{"backoff.failures", int64(s.Backoff.Failures)},
		{"createRetry.refusals", int64(s.CreateRetry.Refusals)},
		{"statusRetry.refusals", int64(s.StatusRetry.Refusals)},
		{"silence.lists", int64(s.Silence.Lists)},
	} {
		if field.value < 0 {
			return fmt.Errorf("%s is %d, want 0 or more", field.name, field.value)
		}
	}
	for _, record := range s.Indexes {
		if record.Index < 0 || record.Attempts < 0 || record.Failures < 0 || record.Ignored < 0 {
			return fmt.Errorf("the record of an index is negative")
		}
	}
	if s.Written != nil && (s.Written.Succeeded < 0 || s.Written.Failed < 0 || s.Written.Terminating == nil && s.Written.Active < 0) {
		return fmt.Errorf("the counters of the written status are negative")
	}
	if most := DefaultConfig().MaxAttempts; len(s.Evidence) > most {
		return fmt.Errorf("the evidence of %d attempts, want %d at most", len(s.Evidence), most)
	}
	for _, attempt := range s.Evidence {
		if len(attempt.Log) > maxLog {
			return fmt.Errorf("a log of %d bytes, want %d at most", len(attempt.Log), maxLog)
		}
		if err := short(maxAttemptText, attempt.Pod, attempt.UID, attempt.Node, attempt.Container, attempt.Reason, attempt.Message, attempt.LogMissing); err != nil {
			return err
		}
	}
	for _, pod := range s.Pods {
		if err := errors.Join(pod.PodFact.validate(), short(maxText, pod.Retry.Message)); err != nil {
			return err
		}
	}
	return s.validateTexts()
}

func (s State) validateTexts() error {
	if err := validateConditions(s.Conditions); err != nil {
		return err
	}
	if s.Verdict != (Verdict{}) && (!slices.Contains(ConditionReasons(s.Verdict.Interim), s.Verdict.Reason) || len(s.Verdict.Message) > MaxConditionText) {
		return fmt.Errorf("a verdict %.64q for the reason %.64q, with a message of %d bytes", string(s.Verdict.Interim), s.Verdict.Reason, len(s.Verdict.Message))
	}
	return errors.Join(
		short(maxMistake, append([]string{string(s.Skipped)}, s.Announced...)...),
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
	for _, text := range []string{f.UID, f.Container, f.Reason, f.Message, f.Node, f.PendingMessage, string(f.Phase), string(f.Pending)} {
		if len(text) > maxFactText {
			return fmt.Errorf("pod %.70q has a text of %d bytes, want %d at most", f.Name, len(text), maxFactText)
		}
	}
	for _, exit := range f.Exits {
		if len(exit.Container) > maxFactName {
			return fmt.Errorf("pod %.70q has a container with a name of %d bytes, want %d at most", f.Name, len(exit.Container), maxFactName)
		}
	}
	for _, condition := range f.Conditions {
		if len(condition) > maxFactCondition {
			return fmt.Errorf("pod %.70q has a condition of %d bytes, want %d at most", f.Name, len(condition), maxFactCondition)
		}
	}
	if size := f.texts(); size > maxFactTexts {
		return fmt.Errorf("pod %.70q has texts of %d bytes, want %d at most", f.Name, size, maxFactTexts)
	}
	return nil
}

// texts returns the size of all texts of the fact, in bytes.
func (f PodFact) texts() int {
	size := len(f.Name) + len(f.UID) + len(f.Container) + len(f.Reason) + len(f.Message) + len(f.Node) + len(f.PendingMessage) + len(f.Phase) + len(f.Pending)
	for _, exit := range f.Exits {
		size += len(exit.Container)
	}
	for _, condition := range f.Conditions {
		size += len(condition)
	}
	return size
}

func short(limit int, texts ...string) error {
	for _, text := range texts {
		if len(text) > limit {
			return fmt.Errorf("a text of %d bytes, want %d at most", len(text), limit)
		}
	}
	return nil
}
