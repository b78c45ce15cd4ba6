package ledger

import (
	"cmp"
	"slices"
	"time"

	"ostinato.dev/ostinato/internal/clip"
)

// Entry is the recorded outcome of one scheduled time, of one manual trigger, or of a stretch of scheduled times
// that share an outcome and reason.
type Entry struct {
	// Scheduled is the scheduled time; of a stretch the first; of a manual run the time of the trigger, or that which a
	// backfill runs.
	Scheduled time.Time `json:"scheduled"`
	// Until is the last scheduled time of a stretch; zero otherwise.
	Until time.Time `json:"until,omitzero"`
	// Count is the number of scheduled times; 0 means 1.
	Count int64 `json:"count,omitempty"`
	// Estimated is set when Count is an estimate, since the stretch was too long to walk.
	Estimated bool `json:"estimated,omitempty"`
	// Recorded is when the outcome was known; of a started run when its Job was created.
	Recorded time.Time `json:"recorded,omitzero"`
	// Outcome is what became of it, Reason one of Reasons (empty for Started), Message detail for people.
	Outcome Outcome `json:"outcome"`
	Reason  string  `json:"reason,omitempty"`
	Message string  `json:"message,omitempty"`
	// Job is the name of the run's Job.
	Job string `json:"job,omitempty"`
	// Manual marks the outcome of a trigger, or of what was to be backfilled.
	Manual bool `json:"manual,omitempty"`
	// Asked says who has asked for a manual run, Sequence is the number of the trigger or backfill.
	Asked
	Sequence int64 `json:"sequence,omitempty"`
	// Imported marks a row of an export, which this workflow does not know by itself.
	Imported bool `json:"imported,omitempty"`
	// End is how the run has ended; empty while it runs.
	End
}

// maxTimes bounds Entry.Count, which may be forged: a schedule of every minute names fewer in 10,000 years.
const maxTimes = 10_000_000_000

// Times returns how many scheduled times the entry stands for.
func (e Entry) Times() int64 { return min(max(e.Count, 1), maxTimes) }

// Took says how long a run took, such as 1m30s. It is empty while the run has not ended, and 0s if its start is not known.
func (e Entry) Took() string {
	switch {
	case e.Ended.IsZero():
		return ""
	case e.Recorded.IsZero():
		return "0s"
	}
	return max(e.Ended.Sub(e.Recorded), 0).Round(time.Second).String()
}

// Last returns the last scheduled time of the entry.
func (e Entry) Last() time.Time {
	if e.Until.IsZero() {
		return e.Scheduled
	}
	return e.Until
}

// Covers reports whether the entry is about a scheduled time.
func (e Entry) Covers(scheduled time.Time) bool {
	return !scheduled.Before(e.Scheduled) && !scheduled.After(e.Last())
}

// Why says in one line why a run has not started. Only for FailedToCreate the message is not the sender's note.
func (e Entry) Why() string {
	if e.Outcome == FailedToCreate && e.Message != "" {
		return e.Reason + ": " + e.Message
	}
	return e.Reason
}

func (e Entry) joins(next Entry) bool {
	return !e.Outcome.HasJob() && e.Outcome == next.Outcome && e.Reason == next.Reason && !e.Manual && !next.Manual
}

// Bounded returns the entry with bounded texts and a bounded count. An unknown reason becomes RefusedOtherwise.
func (e Entry) Bounded() Entry {
	e.Message, e.ResultReason, e.Stopped = clip.Message(e.Message), clip.Message(e.ResultReason), clip.Message(e.Stopped)
	if e.Reason != "" && !slices.Contains(Reasons, e.Reason) {
		e.Reason = RefusedOtherwise
	}
	e.Outcome, e.Result, e.Job = Outcome(clip.Message(string(e.Outcome))), Result(clip.Message(string(e.Result))), clip.Message(e.Job)
	e.Asked, e.Count = e.Asked.Bounded(), min(max(e.Count, 0), maxTimes)
	return e
}

// text returns the length of the entry's free texts, in bytes.
func (e Entry) text() int {
	return len(e.Message) + len(e.ResultReason) + len(e.Stopped) + len(e.Job) + len(e.By) + len(e.User) + len(e.Changed)
}

// End is how a run has ended, and when.
type End struct {
	Result Result `json:"result,omitempty"`
	// ResultReason says why the Job failed, such as "exit 137 OOMKilled (BackoffLimitExceeded)": by what a container has said, with
	// the reason of the condition Failed, or that reason alone. It is ResultReasonReplaced for one that was replaced.
	ResultReason string `json:"resultReason,omitempty"`
	// Stopped says who has stopped the run, and why, as its Job has it; empty for other ends.
	Stopped string    `json:"stopped,omitempty"`
	Ended   time.Time `json:"ended,omitzero"`
	// FailedAttempts is the number of Pods that failed.
	FailedAttempts int32 `json:"failedAttempts,omitempty"`
}

// WithEnd returns the entry with the end of its run. A known end stays, except that how a Job ended says more than that
// it is gone, and who has stopped it more than that someone has.
func (e Entry) WithEnd(end End) Entry {
	if end.ResultReason == ResultReasonStopped && e.ResultReason == ResultReasonStopped && e.Stopped == "" {
		e.Stopped = end.Stopped
		return e.Bounded()
	}
	if !e.Outcome.HasJob() || e.Result != "" && (e.Result != Deleted || end.Result == Deleted) {
		return e
	}
	e.End = end
	return e.Bounded()
}

// What Asked.Through says: a signal or an update has asked for the run, or a person has made its Job.
const (
	ThroughSignal = "signal"
	ThroughUpdate = "update"
	ThroughJob    = "job"
)

// Throughs are all that a row of the ledger may name.
var Throughs = []string{ThroughSignal, ThroughUpdate, ThroughJob}

// Asked says who has asked for a run that the schedule did not.
type Asked struct {
	// By is the name that the sender has claimed; empty where he has not.
	By string `json:"by,omitempty"`
	// User is the name that the API server knows; empty where none is known.
	User string `json:"user,omitempty"`
	// Through is one of Throughs; empty for a scheduled run.
	Through string `json:"through,omitempty"`
	// Changed says in what the run is not as the CronJob prescribes it; empty for nothing.
	Changed string `json:"changed,omitempty"`
}

// Bounded returns it with texts that people can read and a state can carry.
func (a Asked) Bounded() Asked {
	a.By, a.User, a.Changed = clip.Message(a.By), clip.Message(a.User), clip.Message(a.Changed)
	if !slices.Contains(Throughs, a.Through) {
		a.Through = ""
	}
	return a
}

// Claimed returns it where names of users are not believed: such a name is claimed like another.
func (a Asked) Claimed() Asked {
	a.By, a.User = cmp.Or(a.User, a.By), ""
	return a
}

// maxClaimed bounds a claimed name beside that of a user, in bytes.
const maxClaimed = 64

// Who names a person by the name that the API server knows and the one that is claimed; empty without either.
func Who(user, claimed string) string {
	switch {
	case user != "" && claimed != "" && claimed != user:
		return clip.Message(user) + " (claims to be " + clip.Text(claimed, maxClaimed) + ")"
	case user != "":
		return clip.Message(user)
	case claimed != "":
		return clip.Message(claimed) + " (claimed)"
	}
	return ""
}
