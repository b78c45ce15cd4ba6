package job

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
)

// Bounds of what is planned with. They are above all that Ostinato and the API server
// make, and keep what anybody may send to Temporal from taking memory or time.
const (
	// maxPods bounds the Pods of a State; twice what Config.MaxActive lets run.
	maxPods = 20_000
	// mostStrangers bounds the Pods that facts tell of and that are not the Job's by their
	// number; upstream's own bound of Pods that wait to be counted.
	mostStrangers = 500
	// maxFactText bounds a text of a fact, in bytes: PodWatch cuts messages to 256 and reasons
	// to 128, and a name of Kubernetes has 253 at most.
	maxFactText = 1024
	// maxFactList bounds the exits and conditions of a Pod.
	maxFactList = 200
	// maxAccounted bounds the UIDs of a State, which are those of Pods that others made.
	maxAccounted = 200_000
	// maxIndexFailures bounds the records of a State: the completions that a Job with a
	// back-off limit per index may have (parity 2.17).
	maxIndexFailures = 100_000
	// maxRules bounds the rules of policies, and the lists in them; the API server takes
	// 20 rules with 255 exit codes.
	maxRules = 1000
	// maxList bounds the conditions and exits of a Pod or Job, evidence and mistakes.
	maxList = 1000
	// maxText bounds texts, in bytes; maxLog the end of a log.
	maxText = 32 << 10
	maxLog  = 256 << 10
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
	if err := short(append([]string{string(s.CompletionMode), string(s.RestartPolicy), string(s.PodReplacementPolicy)}, s.Mistakes...)...); err != nil {
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
		{"pods", len(s.Pods), maxPods},
		{"accounted", len(s.Accounted), maxAccounted},
		{"indexFailures", len(s.IndexFailures), maxIndexFailures},
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
	for _, record := range s.IndexFailures {
		if record.Index < 0 || record.Failures < 0 || record.Ignored < 0 {
			return fmt.Errorf("the failures of an index are negative")
		}
	}
	if s.Written != nil && (s.Written.Succeeded < 0 || s.Written.Failed < 0 || s.Written.Terminating == nil && s.Written.Active < 0) {
		return fmt.Errorf("the counters of the written status are negative")
	}
	for _, attempt := range s.Evidence {
		if len(attempt.Log) > maxLog {
			return fmt.Errorf("a log of %d bytes, want %d at most", len(attempt.Log), maxLog)
		}
		if err := short(attempt.Pod, attempt.UID, attempt.Node, attempt.Container, attempt.Reason, attempt.Message, attempt.LogMissing); err != nil {
			return err
		}
	}
	for _, pod := range s.Pods {
		if err := pod.PodFact.validate(); err != nil {
			return err
		}
	}
	return nil
}

// ValidateFacts reports whether the facts can be such as PodWatch or a list bring.
func ValidateFacts(facts []PodFact) error {
	if len(facts) > maxPods {
		return fmt.Errorf("%d pods, want %d at most", len(facts), maxPods)
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
	case len(f.Exits) > maxFactList, len(f.Conditions) > maxFactList:
		return fmt.Errorf("pod %.70q has %d exits and %d conditions, want %d at most", f.Name, len(f.Exits), len(f.Conditions), maxFactList)
	}
	texts := []string{f.Name, f.UID, f.Container, f.Reason, f.Message, f.Node, f.PendingMessage, string(f.Phase), string(f.Pending)}
	for _, exit := range f.Exits {
		texts = append(texts, exit.Container)
	}
	for _, condition := range f.Conditions {
		texts = append(texts, string(condition))
	}
	for _, text := range texts {
		if len(text) > maxFactText {
			return fmt.Errorf("pod %.70q has a text of %d bytes, want %d at most", f.Name, len(text), maxFactText)
		}
	}
	return nil
}

func short(texts ...string) error {
	for _, text := range texts {
		if len(text) > maxText {
			return fmt.Errorf("a text of %d bytes, want %d at most", len(text), maxText)
		}
	}
	return nil
}
