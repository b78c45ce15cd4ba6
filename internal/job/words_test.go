package job_test

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/job"
)

func TestAnAttemptSaysHowItEnded(t *testing.T) {
	for want, attempt := range map[string]job.Attempt{
		"exit 1":                               {ExitCode: 1, Reason: "Error"},
		"exit 1: no space left on device":      {ExitCode: 1, Reason: "Error", Log: "copying\nno space left on device\n\n"},
		"exit 137 OOMKilled":                   {ExitCode: 137, Reason: "OOMKilled"},
		"exit 137 OOMKilled: loading the file": {ExitCode: 137, Reason: "OOMKilled", Log: "loading the file"},
		"exit 139 signal 11":                   {ExitCode: 139, Signal: 11, Reason: "Error"},
		"exit 2: the termination message":      {ExitCode: 2, Reason: "Error", Message: "first\nthe termination message\n", Log: "the log"},
		"Evicted: The node was low on memory":  {Reason: "Evicted", Message: "The node was low on memory"},
		"NodeLost":                             {Reason: "NodeLost"},
		`CreateContainerConfigError: configmap "x" not found`: {
			Reason: string(job.PendingConfigError), Message: `CreateContainerConfigError: configmap "x" not found`, Ended: job.PendingDeadlineExceeded,
		},
		`exit 128 StartError: "pg_dump": executable file not found in $PATH`: {
			ExitCode: 128, Reason: "StartError",
			Message: `failed to create task: OCI runtime create failed: error during container init: exec: "pg_dump": executable file not found in $PATH`,
		},
		"Pod deleted":                                 {Ended: job.EndedPodDeleted},
		"Pod deleted, exit 137: waiting":              {Ended: job.EndedPodDeleted, ExitCode: 137, Reason: "Error", Log: "waiting"},
		"exit 1: [31m red":                            {ExitCode: 1, Log: "\x1b[31m\tred\x00"},
		"exit 1: " + strings.Repeat("x", 117) + "...": {ExitCode: 1, Log: strings.Repeat("x", 4096)},
		"": {},
	} {
		equal(t, "words", attempt.Words(), want)
	}
}

// TestAFailedJobSaysWhy: in the words of the container, with the Job controller's in brackets.
func TestAFailedJobSaysWhy(t *testing.T) {
	oom := job.Attempt{Pod: "hello-1", UID: "1", ExitCode: 137, Reason: "OOMKilled"}
	for name, test := range map[string]struct {
		reason, message string
		spec            func(*job.Spec)
		evidence        []job.Attempt
		want            string
	}{
		"its last attempt": {
			reason: "BackoffLimitExceeded", evidence: []job.Attempt{{Pod: "hello-0", UID: "0", ExitCode: 1}, oom}, want: "exit 137 OOMKilled (BackoffLimitExceeded)",
		},
		"not one that was ended for it": {
			reason: "BackoffLimitExceeded", evidence: []job.Attempt{oom, {Pod: "hello-2", UID: "2", ExitCode: 143, Ended: "BackoffLimitExceeded"}},
			want: "exit 137 OOMKilled (BackoffLimitExceeded)",
		},
		"one that was restarted too often": {
			reason: "BackoffLimitExceeded", evidence: []job.Attempt{{Pod: "hello-1", UID: "1", ExitCode: 8, Ended: "BackoffLimitExceeded"}},
			want: "exit 8 (BackoffLimitExceeded)",
		},
		"the one that a rule names": {
			reason: "PodFailurePolicy", message: "Container main for pod default/hello-1 failed with exit code 137 matching FailJob rule at index 0",
			evidence: []job.Attempt{oom, {Pod: "hello-2", UID: "2", ExitCode: 1}}, want: "exit 137 OOMKilled (PodFailurePolicy)",
		},
		"a deadline": {
			reason: "DeadlineExceeded", spec: func(spec *job.Spec) { spec.ActiveDeadlineSeconds = pointer(int64(3600)) },
			evidence: []job.Attempt{oom}, want: "DeadlineExceeded after 1h0m0s",
		},
		"a deadline, and what was being done": {
			reason: "DeadlineExceeded", spec: func(spec *job.Spec) { spec.ActiveDeadlineSeconds = pointer(int64(6)) },
			evidence: []job.Attempt{{UID: "1", ExitCode: 137, Log: "waiting for lock", Ended: "DeadlineExceeded"}}, want: "DeadlineExceeded after 6s: waiting for lock",
		},
		"a deadline that is edited away": {reason: "DeadlineExceeded", want: "DeadlineExceeded"},
		"a deadline of ages": {
			reason: "DeadlineExceeded", spec: func(spec *job.Spec) { spec.ActiveDeadlineSeconds = pointer(int64(1) << 62) }, want: "DeadlineExceeded after 876000h0m0s",
		},
		"nothing is known of a Pod": {reason: "BackoffLimitExceeded", evidence: []job.Attempt{{UID: "1"}}, want: "BackoffLimitExceeded"},
		"a Pod that succeeded after it": {
			reason: "BackoffLimitExceeded", want: "exit 3 (BackoffLimitExceeded)",
			evidence: []job.Attempt{{UID: "1", ExitCode: 3, Reason: "Error"}, {UID: "2", Reason: "Completed", Ended: job.EndedSucceeded, Log: "all is well"}},
		},
		"no Pod has failed": {reason: "FailedIndexes", want: "FailedIndexes"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := specOf(1, 1)
			if test.spec != nil {
				test.spec(&spec)
			}
			state := job.State{}.Of("default", "hello", "uid-1")
			state.Evidence = test.evidence
			state.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: "True", Reason: test.reason, Message: test.message}}
			finished := job.Decide(state, spec, start).Finished
			if finished == nil {
				t.Fatal("the Job is not finished")
			}
			equal(t, "why", finished.Why, test.want)
			equal(t, "reason", finished.Reason, test.reason)
		})
	}
}
