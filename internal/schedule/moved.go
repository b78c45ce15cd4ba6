package schedule

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/times"
)

const (
	// noted stands between the two times of a note.
	noted = " noted "
	// maxNote bounds the text of a note, in bytes. Every note that can be read is shorter.
	maxNote = 128
	// maxNoteAge is how old a note may be when its object is created. A manifest keeps its note for years, and each object that is
	// made from it later counts from its own creation.
	maxNoteAge = time.Hour
)

// NoteLastRun returns the text of names.LastScheduleTimeAnnotation, which counts for an object that is created within an hour
// after when. last is the scheduled time of the last run.
func NoteLastRun(last, when time.Time) string {
	return last.UTC().Format(time.RFC3339) + noted + when.UTC().Format(time.RFC3339)
}

// LastScheduleTime returns the scheduled time of the last run of a CronJob: status.lastScheduleTime or, as long as no workflow
// has written a status, the time that a move noted in an annotation.
func LastScheduleTime(object *ostinatov1.CronJob, now time.Time) *metav1.Time {
	status := object.Status
	if status.LastScheduleTime != nil || status.AccountedUntil != nil || status.ObservedGeneration != 0 || status.Workflow != nil {
		return status.LastScheduleTime
	}
	return notedScheduleTime(object, now)
}

// notedScheduleTime returns the time of the last run that a move noted in an annotation. Anyone who may write the object may
// note any time: one that can't be read, has not come, or is before any CronJob counts as none, which is nil, and so does a note
// of another hour than the object's creation. A time long ago brings no flood, since what has come after it is caught up by the
// same rules as after a lastScheduleTime.
func notedScheduleTime(object *ostinatov1.CronJob, now time.Time) *metav1.Time {
	note := object.Annotations[names.LastScheduleTimeAnnotation]
	if note == "" || len(note) > maxNote {
		return nil
	}
	text, dated, isDated := strings.Cut(note, noted)
	last, err := time.Parse(time.RFC3339, text)
	if last = last.UTC().Truncate(time.Second); err != nil || last.After(now) || last.Before(times.Dawn) {
		return nil
	}
	created := object.CreationTimestamp.UTC()
	if !isDated {
		// It was made after that run: a younger run has a younger note.
		dated = text
	}
	when, err := time.Parse(time.RFC3339, dated)
	if err != nil || created.Before(when.Add(-clockSkew)) || created.After(when.Add(maxNoteAge)) {
		return nil
	}
	return ledger.Timestamp(last)
}
