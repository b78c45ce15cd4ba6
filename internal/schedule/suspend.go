package schedule

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/clip"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/times"
)

// markSuspension opens and closes the suspension. While it lasts no times are kept: they are computed at its end.
func (p *pass) markSuspension() {
	lasting := p.state.Suspension.lasts()
	switch {
	case p.spec.Suspend && !lasting:
		from := p.now
		if known := firstOf(p.state.Conditions, isSuspended); known != nil {
			from = known.LastTransitionTime.UTC()
		}
		p.suspend(from)
	case !p.spec.Suspend && lasting:
		p.state.Suspension.To, p.state.Ledger = p.now, p.state.Resume(p.state.Suspension.From, p.now)
		// No plan may have come while it lasted.
		p.state.Forgiven = p.state.ConsecutiveFailures
	}
	if !p.spec.Suspend && !p.spec.Deleting {
		return
	}
	// A run that became due before others were settled can't be looked up at the end.
	kept := !p.state.Calendar.Due.IsZero() && !p.state.Calendar.Due.After(p.state.Settled) && !p.spec.Deleting
	if p.state.Calendar.Upcoming = nil; !p.spec.inOrder() && !kept || p.spec.Deleting {
		p.setQueue(nil)
	}
}

// suspend begins a suspension.
func (p *pass) suspend(from time.Time) {
	p.state.Suspension, p.state.Ledger = p.state.suspendedAgain(from), p.state.Suspend(from)
}

// suspendedSince returns from when a suspension counts that is heard of now: from a run that just became due, unless
// something else has held it up.
func (p *pass) suspendedSince() time.Time {
	if p.state.atCapacity(p.spec) {
		return p.now
	}
	for _, scheduled := range slices.Concat(p.state.queue(), p.state.Calendar.Upcoming) {
		if tried, _ := p.state.delay(scheduled).why(); tried == "" && !scheduled.After(p.now) && prompt(scheduled, p.now) {
			return scheduled
		}
	}
	return p.now
}

// forgive leaves failures out of the count up to which the CronJob was suspended, no matter by whom.
func (p *pass) forgive() {
	if p.spec.Suspend || p.state.ConsecutiveFailures < p.state.Forgiven {
		p.state.Forgiven = p.state.ConsecutiveFailures
	}
	if !p.spec.Suspend {
		p.state.PausedWhy = ""
	}
}

// pausing reports whether enough runs have failed in a row to suspend the CronJob. Until it is, or that was refused, no run
// of the schedule starts; manual runs do.
func (p *pass) pausing() bool {
	return p.spec.PauseAfterFailures > 0 && !p.spec.Suspend && !p.spec.Deleting &&
		p.state.ConsecutiveFailures-p.state.Forgiven >= p.spec.PauseAfterFailures
}

// Paused returns the state after the CronJob was suspended because of failures.
func Paused(state State) State {
	why := fmt.Sprintf("%d runs in a row have failed", state.ConsecutiveFailures)
	for _, entry := range slices.Backward(state.Ledger.Entries) {
		if entry.Result == ledger.Failed {
			why += fmt.Sprintf(", the last of them %s (%s)", entry.Job, entry.ResultReason)
			break
		}
	}
	state.PausedWhy = clip.Message(why + "; set spec.suspend to false to go on")
	return Announce(state, event.Warning(conditionReasonPaused, "Suspended: "+state.PausedWhy))
}

// PauseRefused returns the state after the suspension was refused: it takes as many more failures to ask again.
func PauseRefused(state State, why string) State {
	state.Forgiven = state.ConsecutiveFailures
	return Announce(state, event.Warning("FailedUpdate",
		fmt.Sprintf("Error suspending the CronJob after %d failed runs in a row: %s", state.ConsecutiveFailures, why)))
}

// MayPause reports whether the object asks to be suspended after failures, and has had enough.
func MayPause(object *ostinatov1.CronJob) bool {
	after := SpecOf(object).PauseAfterFailures
	return after > 0 && object.Status.ConsecutiveFailures >= after
}

const (
	// ThroughCommand is Suspender.Through where a person has used the ostinato command.
	ThroughCommand = "ostinato"
	// throughFailures is that where failures have suspended the CronJob.
	throughFailures = "pauseAfterFailures"
)

// Suspender says who has suspended an object, as far as the object tells.
type Suspender struct {
	// By is the claimed name, User the name that the API server knows; empty if there is none.
	By   string `json:"by,omitempty"`
	User string `json:"user,omitempty"`
	// At is when, Why the reason that was given.
	At  time.Time `json:"at,omitzero"`
	Why string    `json:"why,omitempty"`
	// Through is ledger.ThroughSignal, or the field manager that has written spec.suspend; empty where nothing tells.
	Through string `json:"through,omitempty"`
}

// Known returns the suspender that a workflow tells of, whose user a worker has believed, in place of what the object says, if that is
// still the suspension of that signal: a person who may write annotations can't put words into a user's mouth.
func (s Suspender) Known(told Suspender) Suspender {
	if told.User == "" || s.Through != ledger.ThroughSignal || !told.At.Equal(s.At) {
		return s
	}
	told.Through = ledger.ThroughSignal
	return told
}

// SuspendedBy returns the state after a signal has suspended the CronJob. It is forgotten with the suspension.
func SuspendedBy(state State, who Suspender) State {
	if state.Suspension.lasts() {
		who.By, who.User, who.Why = clip.Message(who.By), clip.Message(who.User), clip.Message(who.Why)
		state.Suspension.Suspender, state.PausedWhy = who, ""
	}
	return state
}

// String is the message of the condition Suspended; empty where nothing tells.
func (s Suspender) String() string {
	if s.Through == "" {
		return ""
	}
	var parts []string
	if who := ledger.Who(s.User, s.By); who != "" {
		parts = append(parts, "by "+who)
	}
	if !s.At.IsZero() {
		parts = append(parts, "at "+times.Format(s.At))
	}
	text := strings.Join(append(parts, "through "+clip.Message(s.Through)), " ")
	if s.Why != "" {
		text += ": " + clip.Message(s.Why)
	}
	return text
}

// Refuses says why a resume does not end the suspension; empty if it does, as without a name and a reason.
func (s Suspender) Refuses(by, reason string) string {
	if (by == "" || by == s.By || by == s.User) && (reason == "" || reason == s.Why) {
		return ""
	}
	var asked []string
	if by != "" {
		asked = append(asked, "by "+clip.Message(by))
	}
	if reason != "" {
		asked = append(asked, fmt.Sprintf("for the reason %q", clip.Message(reason)))
	}
	return fmt.Sprintf(`not suspended %s, but %s: send {"force": true} to resume it all the same`,
		strings.Join(asked, " "), cmp.Or(s.String(), "by a writer that the object does not name"))
}

// StatusSuspendedBy returns the status with the suspender in the message of its condition Suspended, given the object's
// status. It is idempotent; the statuses passed in are not changed.
func StatusSuspendedBy(status, read ostinatov1.CronJobStatus, who Suspender) ostinatov1.CronJobStatus {
	status.Conditions = slices.Clone(status.Conditions)
	condition := firstOf(status.Conditions, isSuspended)
	if condition == nil {
		return status
	}
	// The object says which failures those were: a request may make up others.
	if condition.Reason == conditionReasonPaused && who.Through == ledger.ThroughSignal && who.By == throughFailures {
		who.By, who.Through = "", throughFailures
	}
	message, known := who.String(), who
	known.By, known.User = "", cmp.Or(who.User, who.By)
	if before := firstOf(read.Conditions, isSuspended); before != nil {
		lasts := before.LastTransitionTime.Equal(&condition.LastTransitionTime)
		// The time tells which signal that was. A field manager's time moves with each of its writes.
		same := func(message string) bool {
			return message == before.Message || lasts && who.Through != ledger.ThroughSignal && timeless(message) == timeless(before.Message)
		}
		// A user whom the status names is still the one whom the object claims, though a workflow that begins anew does not know it.
		if lasts && message == "" || same(message) || same(known.String()) || who.claimedIn(before.Message) {
			message = before.Message
		}
	}
	condition.Message = message
	return status
}

// claimedIn reports whether a status says that a user, whom the suspender does not tell, has claimed the suspender's name.
func (s Suspender) claimedIn(was string) bool {
	if s.User != "" {
		return false
	}
	s.User = "\x00"
	claim, isClaim := strings.CutPrefix(s.String(), "by \x00 (")
	return isClaim && strings.HasSuffix(was, " ("+claim)
}

// SuspenderIn returns what a status says of who has suspended the CronJob; empty if it is not suspended.
func SuspenderIn(status ostinatov1.CronJobStatus) string {
	if condition := firstOf(status.Conditions, isSuspended); condition != nil {
		return condition.Message
	}
	return ""
}

// SuspendedSince returns since when a status says that the CronJob is suspended; zero if it does not.
func SuspendedSince(status ostinatov1.CronJobStatus) metav1.Time {
	if condition := firstOf(status.Conditions, isSuspended); condition != nil {
		return condition.LastTransitionTime
	}
	return metav1.Time{}
}

func isSuspended(condition metav1.Condition) bool {
	return condition.Type == ostinatov1.ConditionSuspended && condition.Status == metav1.ConditionTrue
}

var when = regexp.MustCompile(`\bat [-0-9]{10}T[:0-9]{8}Z `)

// timeless returns the message without its time.
func timeless(message string) string {
	return strings.Replace(message, when.FindString(message), "", 1)
}

// pausedWhy returns what the message says about the failures that have suspended the CronJob.
func pausedWhy(message string) string {
	if _, why, found := strings.Cut(message, "through "+throughFailures+": "); found {
		message = why
	}
	return clip.Message(message)
}
