package schedule

import (
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/names"
)

// Backfill is a list of past times that are run, one after the other, as manual runs.
type Backfill struct {
	// Sequence numbers it among the CronJob's triggers and backfills; with a time it makes
	// the name of that time's Job.
	Sequence int64 `json:"sequence"`
	// Schedule and TimeZone are what the times were computed from.
	Schedule string  `json:"schedule"`
	TimeZone *string `json:"timeZone,omitempty"`
	// Times are those that have not started yet, ascending; Total is how many there were.
	Times []time.Time `json:"times"`
	Total int         `json:"total"`
	// Parallelism is how many of its runs may be active at once, where its policy is Allow.
	Parallelism int `json:"parallelism"`
	// Overlap is the concurrency policy that the sender asks for; empty for the CronJob's.
	Overlap batchv1.ConcurrencyPolicy `json:"overlap,omitempty"`
	// At is when it arrived, Note the sender's, Asked who that is.
	At   time.Time `json:"at"`
	Note string    `json:"note,omitempty"`
	Asked
	// Cancelled asks to forget the times that have not started.
	Cancelled bool `json:"cancelled,omitempty"`
	// Refused is of the first of Times.
	Refused
}

// AddBackfill returns the state with one more backfill, of times that TimesBetween has found.
func AddBackfill(state State, spec Spec, request BackfillRequest, times []time.Time, now time.Time) State {
	s := state.clone()
	if mistake := NoRoom(s, 0); mistake != "" {
		return RefuseBackfill(s, mistake)
	}
	s.TriggerSequence++
	backfill := Backfill{
		Sequence: s.TriggerSequence, Schedule: spec.Schedule, TimeZone: spec.TimeZone,
		Times: slices.Clone(times), Total: len(times), Parallelism: request.parallelism(), Overlap: request.Overlap,
		At: now.UTC(), Note: request.Note, Asked: Asked{By: request.By, Through: request.Through}.changing(request.Overlap).bounded(),
	}
	s.Backfills = append(s.Backfills, backfill)
	s.Outbox = append(s.Outbox, event.Normal("BackfillAccepted", fmt.Sprintf("Backfill of %d times from %s to %s, parallelism %d",
		len(times), clock(times[0]), clock(times[len(times)-1]), backfill.Parallelism)))
	return s
}

// RefuseBackfill returns the state with the answer to a backfill that can't be carried out.
func RefuseBackfill(state State, mistake string) State {
	s := state.clone()
	s.Outbox = append(s.Outbox, event.Warning("BackfillRefused", mistake))
	return s
}

// AnswerDryRun returns the state with the answer to a backfill that is not to be carried
// out.
func AnswerDryRun(state State, times []time.Time) State {
	s := state.clone()
	s.Outbox = append(s.Outbox, event.Normal("BackfillDryRun", fmt.Sprintf("A backfill would run %d times from %s to %s",
		len(times), clock(times[0]), clock(times[len(times)-1]))))
	return s
}

// CancelBackfills returns the state in which no time of a backfill starts any more. Runs
// that have started go on.
func CancelBackfills(state State) State {
	s := state.clone()
	for index := range s.Backfills {
		s.Backfills[index].Cancelled = true
	}
	return s
}

// NoRoom says why no backfill can be added beside those of the state and others that are
// about to be; empty when one can.
func NoRoom(state State, others int) string {
	if len(state.Backfills)+others < maxBackfills {
		return ""
	}
	return fmt.Sprintf(`%d backfills wait already: send this one when one of them is done, or {"cancel": true} to end them`, maxBackfills)
}

// start returns the start of the first time that waits.
func (b Backfill) start(cronJob Identity) Start {
	at := b.Times[0]
	return Start{
		Name:      names.BackfilledJob(cronJob.Name, cronJob.UID, b.Sequence, at),
		Scheduled: at,
		Manual:    true,
		Sequence:  b.Sequence,
		Backfill:  b.Sequence,
		Overlap:   b.Overlap,
		Note:      backfillNote(b.Note),
		Asked:     b.Asked,
	}
}

// backfillNote is the message of a backfilled run's row.
func backfillNote(note string) string {
	if note == "" {
		return "backfill"
	}
	return "backfill: " + note
}

// entry returns the outcome of all of the times that wait.
func (b Backfill) entry(outcome LedgerOutcome, reason, message string, now time.Time) LedgerEntry {
	rest := MissedRuns{First: b.Times[0], Last: b.Times[len(b.Times)-1], Count: int64(len(b.Times))}
	return rest.entry(LedgerEntry{
		Recorded: now, Outcome: outcome, Reason: reason, Message: message, Manual: true, Asked: b.Asked, Sequence: b.Sequence,
	})
}

// dropBackfills forgets the backfills that nothing is to start of any more.
func (s *State) dropBackfills(spec Spec, now time.Time) {
	s.Backfills = slices.DeleteFunc(s.Backfills, func(backfill Backfill) bool {
		reason := ""
		switch {
		case spec.Deleting:
			reason = ReasonDeleting
		case backfill.Cancelled:
			reason = ReasonCancelled
			s.Outbox = append(s.Outbox, event.Normal("BackfillCancelled", fmt.Sprintf("Backfill was cancelled: %d of its %d times have not started",
				len(backfill.Times), backfill.Total)))
		case !spec.runsAt(backfill.Schedule, backfill.TimeZone):
			reason = ReasonScheduleChanged
		default:
			return false
		}
		s.record(backfill.entry(SkippedSuperseded, reason, backfillNote(backfill.Note), now))
		return true
	})
}

// nextBackfill returns the backfill whose first time may start beside the runs that are
// active; nil when there is none. Whatever else waits for its start goes first: a backfill
// that kept a run active for ever would hold up a schedule that may not overlap.
func (s *State) nextBackfill(spec Spec) *Backfill {
	if len(s.Backfills) == 0 || s.mayStartDue(spec) || len(s.Triggers) > 0 {
		return nil
	}
	backfill := &s.Backfills[0]
	own, backfilled := 0, 0
	for _, run := range s.Active {
		if run.Backfill != 0 {
			backfilled++
		}
		if run.Backfill == backfill.Sequence {
			own++
		}
	}
	under := backfill.start(s.Identity).Under(spec)
	free := !s.full(under) && own < backfill.Parallelism
	if under.ConcurrencyPolicy == batchv1.ReplaceConcurrent {
		// It does not replace its own.
		free = backfilled == 0
	}
	if !free {
		return nil
	}
	return backfill
}

// backfillStart returns the start of the next backfilled run, unless there is none or its
// retry has to wait.
func (s *State) backfillStart(spec Spec, now time.Time) *Start {
	backfill := s.nextBackfill(spec)
	if backfill == nil || now.Before(backfill.Retry.Until) {
		return nil
	}
	start := backfill.start(s.Identity)
	return &start
}

// settleBackfilled takes a time off its backfill; it reports whether it waited there.
func (s *State) settleBackfilled(sequence int64, at time.Time) bool {
	index := s.backfillIndex(sequence)
	if index < 0 {
		return false
	}
	backfill := &s.Backfills[index]
	found := slices.IndexFunc(backfill.Times, at.Equal)
	if found < 0 {
		return false
	}
	if found == 0 {
		backfill.Refused = Refused{}
	}
	// The times are shared with other states.
	backfill.Times = slices.Concat(backfill.Times[:found], backfill.Times[found+1:])
	if len(backfill.Times) == 0 {
		s.Backfills = slices.Delete(s.Backfills, index, index+1)
	}
	return true
}

func (s *State) backfillIndex(sequence int64) int {
	return slices.IndexFunc(s.Backfills, func(backfill Backfill) bool { return backfill.Sequence == sequence })
}

// refuseBackfilled takes in that the Job of a time was refused. The time is given up like a
// trigger, and all times where the object takes no backfills.
func (s *State) refuseBackfilled(start Start, refused Refused, now time.Time) {
	index := s.backfillIndex(start.Backfill)
	if index < 0 {
		return
	}
	backfill := &s.Backfills[index]
	refused.Retry = backfill.Retry.Next(now)
	backfill.Refused = refused
	switch {
	case refused.Reason == SignalRefused:
		s.record(backfill.entry(FailedToCreate, refused.Reason, refused.Message, now))
		s.Backfills = slices.Delete(s.Backfills, index, index+1)
	case refused.Retry.Attempts >= triggerAttempts:
		s.record(LedgerEntry{
			Scheduled: start.Scheduled, Recorded: now, Outcome: FailedToCreate, Reason: refused.Reason, Message: refused.Message, Manual: true,
			Asked: backfill.Asked, Sequence: backfill.Sequence,
		})
		s.settleBackfilled(start.Backfill, start.Scheduled)
	}
}

// backfilled reports whether a Job that was found is that of a time that waits, and takes
// the time off.
func (s *State) backfilled(run *Run) bool {
	for _, backfill := range s.Backfills {
		if run.Manual && names.BackfilledJob(s.Name, s.UID, backfill.Sequence, run.Scheduled) == run.Name &&
			s.settleBackfilled(backfill.Sequence, run.Scheduled) {
			run.Backfill = backfill.Sequence
			return true
		}
	}
	return false
}

// validate reports whether the Backfill can be one that was carried over.
func (b Backfill) validate() error {
	switch mistake := OverlapMistake(b.Overlap); {
	case mistake != "":
		return fmt.Errorf("a backfill's %s", mistake)
	case len(b.Times) == 0 || len(b.Times) > maxBackfillTimes:
		return fmt.Errorf("a backfill has %d times, want 1 to %d", len(b.Times), maxBackfillTimes)
	case b.Parallelism < 1 || b.Parallelism > maxBackfillParallelism:
		return fmt.Errorf("a backfill's parallelism is %d, want 1 to %d", b.Parallelism, maxBackfillParallelism)
	case b.Sequence < 1 || b.Retry.Attempts < 0:
		return fmt.Errorf("a backfill's sequence is %d, its attempts are %d", b.Sequence, b.Retry.Attempts)
	}
	return nil
}
