package job

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/clip"
)

// maxWords bounds what a container has said, so that how it ended and the Job controller's word fit beside it.
const maxWords = 120

// Words say in one line how the attempt ended, by what its container has said: "exit 137 OOMKilled: loading the file".
// They are for people; nothing is decided from them. They are empty where nothing is known.
func (a Attempt) Words() string {
	var how []string
	if a.Ended == EndedPodDeleted {
		how = append(how, "Pod deleted,")
	}
	if a.ExitCode != 0 {
		how = append(how, fmt.Sprintf("exit %d", a.ExitCode))
	}
	if a.Signal != 0 {
		how = append(how, fmt.Sprintf("signal %d", a.Signal))
	}
	// Error says no more than the exit code, and ConfigError less than the message.
	told := a.Message != "" && slices.Contains(pendingReasons, PendingReason(a.Reason))
	if a.Reason != "Error" && a.Reason != "Completed" && !told {
		how = append(how, a.Reason)
	}
	ended := strings.TrimSuffix(strings.TrimSpace(strings.Join(how, " ")), ",")
	return joinedWords(ended, a.said())
}

// pendingReasons are those whose messages begin with Kubernetes' own word for them.
var pendingReasons = []PendingReason{PendingImagePull, PendingUnschedulable, PendingConfigError, PendingLost}

// said is the last line of what the container, or Kubernetes about it, has said.
func (a Attempt) said() string {
	text := cmp.Or(lastLine(a.Message), lastLine(a.Log))
	// What can't be started has a message of the runtime's, in which the program comes last.
	if _, program, ok := strings.Cut(text, "exec: "); ok && a.Reason == "StartError" {
		text = program
	}
	return clip.Text(text, maxWords)
}

// lastLine returns the last line of a text that says something, printable.
func lastLine(text string) string {
	for _, line := range slices.Backward(strings.Split(text, "\n")) {
		printable := strings.Map(func(r rune) rune {
			if unicode.IsPrint(r) {
				return r
			}
			return ' '
		}, line)
		if printable = strings.TrimSpace(printable); printable != "" {
			return printable
		}
	}
	return ""
}

func joinedWords(words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(word string) bool { return word == "" }), ": ")
}

// why says in one line why the Job has failed, by the attempt that tells, with the Job controller's word in brackets.
func (p *pass) why(reason, message string) string {
	if limit := p.spec.ActiveDeadlineSeconds; limit != nil && reason == batchv1.JobReasonDeadlineExceeded {
		after := time.Duration(min(*limit, int64(maxDeadline/time.Second))) * time.Second
		ended := p.state.tells(func(attempt Attempt) bool { return attempt.Ended == reason })
		return joinedWords(fmt.Sprintf("%s after %s", reason, after), ended.said())
	}
	failed := func(attempt Attempt) bool { return attempt.Ended != reason && attempt.Ended != EndedSucceeded }
	named := func(attempt Attempt) bool { return failed(attempt) && strings.Contains(message, "/"+attempt.Pod+" ") }
	// Of a Pod that was restarted in place too often there is no other attempt.
	tells := p.state.tells(func(attempt Attempt) bool { return attempt.Ended != EndedSucceeded })
	if last := p.state.tells(failed); last.Pod != "" {
		tells = last
	}
	if cause := p.state.tells(named); cause.Pod != "" {
		tells = cause
	}
	words := tells.Words()
	if words == "" || !slices.Contains(byPods, reason) {
		return reason
	}
	return words + " (" + reason + ")"
}

// byPods are the reasons of a Failed Job that follow from how Pods ended.
var byPods = []string{
	batchv1.JobReasonBackoffLimitExceeded, batchv1.JobReasonPodFailurePolicy,
	batchv1.JobReasonMaxFailedIndexesExceeded, batchv1.JobReasonFailedIndexes,
}

// tells returns the newest attempt that matches; the zero one if there is none.
func (s State) tells(match func(Attempt) bool) (found Attempt) {
	for _, attempt := range s.Evidence {
		if match(attempt) {
			found = attempt
		}
	}
	return found
}
