package workflows_test

import (
	"testing"
	"time"

	"ostinato.dev/ostinato/internal/protocol"
)

// Every write of the object makes the bridge send a signal, and Temporal repeats a workflow
// task during which too many come: a write for each of many signals never ends.
func TestManySuspendsAndResumesAreFewWrites(t *testing.T) {
	const signals = 201
	k := newCronJobKube(t)
	k.after(10*time.Second, func() {
		for n := range signals {
			k.send([]string{protocol.SuspendSignal, protocol.ResumeSignal}[n%2], nil)
		}
	})
	k.runUntil(20*time.Second, cron("*/10 * * * *", allow))
	answered := len(k.suspends)
	for _, request := range k.suspends {
		answered += request.Superseded
	}
	// A write that gives way may have been made; the next one answers its signals once more.
	if len(k.suspends) > 20 || answered < signals || answered > signals+len(k.suspends) {
		t.Errorf("%d writes that answer %d signals, want few for %d", len(k.suspends), answered, signals)
	}
	if !k.object.Suspend {
		t.Error("the last signal was suspend")
	}
}
