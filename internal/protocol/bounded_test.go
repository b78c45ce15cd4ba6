package protocol_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"

	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// most is what Temporal takes as one payload, in bytes.
const most = 2 << 20

// elements is a list in a field, of as many empty objects as fit into a payload.
func elements(field string) string {
	return `{"` + field + `":[` + strings.Repeat("{},", most/3-100) + `{}]}`
}

func nested(field string) string {
	return `{"` + field + `":` + strings.Repeat("[", most/2) + strings.Repeat("]", most/2) + `}`
}

// compressed is a value of ours that decompresses to a gigabyte: 32 streams, one after the other, of 32 MiB each.
func compressed(t *testing.T) string {
	t.Helper()
	var stream bytes.Buffer
	writer := gzip.NewWriter(&stream)
	if _, err := writer.Write(make([]byte, 32<<20)); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(map[string][]byte{"gzip": bytes.Repeat(stream.Bytes(), 32)})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestBombsAreRefusedBeforeTheyTakeMemory: every type with lists that arrives through
// Temporal, where anybody may have sent it.
func TestBombsAreRefusedBeforeTheyTakeMemory(t *testing.T) {
	zeros := compressed(t)
	for name, test := range map[string]struct {
		field string
		value any
	}{
		"CronJobInput":       {"children", &protocol.CronJobInput{}},
		"CronJobDescription": {"ledger", &protocol.CronJobDescription{}},
		"JobDescription":     {"pods", &protocol.JobDescription{}},
		"CronJobRequest":     {"deletes", &protocol.CronJobRequest{}},
		"CronJobResult":      {"ended", &protocol.CronJobResult{}},
		"CreatePodsRequest":  {"creates", &protocol.CreatePodsRequest{}},
		"DeletePodsRequest":  {"deletes", &protocol.DeletePodsRequest{}},
		"JobInput":           {"state", &protocol.JobInput{}},
		"JobRequest":         {"releases", &protocol.JobRequest{}},
		"JobResult":          {"found", &protocol.JobResult{}},
		"ListPodsRequest":    {"undecided", &protocol.ListPodsRequest{}},
		"PodFacts":           {"pods", &protocol.PodFacts{}},
		"PodList":            {"pods", &protocol.PodList{}},
		"ReleasePodsRequest": {"releases", &protocol.ReleasePodsRequest{}},
		"CreatedPods":        {"any", &protocol.CreatedPods{}},
		"Evaluation":         {"missed", &protocol.Evaluation{}},
		"BackfillTimes":      {"times", &protocol.BackfillTimes{}},
	} {
		for kind, data := range map[string]string{
			"elements":         elements(test.field),
			"nested":           nested(test.field),
			"zeros":            zeros,
			"zeros in a field": `{"` + test.field + `":` + zeros + `,"state":` + zeros + `}`,
			"invalid":          `{"` + test.field + `":[{},`,
			"a number":         `7`,
		} {
			t.Run(name+", "+kind, func(t *testing.T) {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				err := json.Unmarshal([]byte(data), test.value)
				runtime.ReadMemStats(&after)
				if err == nil {
					t.Error("is read without an error")
				}
				if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 100 {
					t.Errorf("took %d MiB", took)
				}
			})
		}
	}
}

// TestTheStateOfAJobIsBounded: it is compressed by itself.
func TestTheStateOfAJobIsBounded(t *testing.T) {
	for name, state := range map[string]string{"zeros": compressed(t), "elements": elements("pods")} {
		if err := json.Unmarshal([]byte(`{"state":`+state+`}`), &protocol.JobInput{}); err == nil {
			t.Errorf("a state of %s is read without an error", name)
		}
	}
}

// A CronJob with far more runs than any cluster has can be carried over all the same.
func TestTheStateOfManyRunsFitsIntoAPayload(t *testing.T) {
	state := schedule.State{Identity: schedule.Identity{Namespace: "default", Name: "hello", UID: "hello-uid"}}
	for i := range 30_000 {
		run := schedule.Run{
			Name: fmt.Sprintf("hello-%d", 29_000_000+i), UID: string(uuid.NewUUID()), ResourceVersion: strconv.Itoa(1_000_000 + 7*i),
			Scheduled: time.Unix(int64(60*i), 0).UTC(), Started: time.Unix(int64(60*i+1), 0).UTC(),
		}
		state.Active = append(state.Active, run)
		finished := schedule.Finished{Run: run, Condition: "Complete", StartTime: run.Started, CompletionTime: run.Started}
		state.Finished = append(state.Finished, finished)
		state.Sighted = append(state.Sighted, schedule.Sighting{Run: run, Finished: &finished})
	}
	for i := range 300 {
		message := ""
		for len(message) < 256 {
			message += string(uuid.NewUUID())
		}
		state.Ledger = append(state.Ledger, schedule.LedgerEntry{
			Scheduled: time.Unix(int64(60*i), 0).UTC(), Recorded: time.Unix(int64(60*i+61), 0).UTC(), Outcome: schedule.StartedLate,
			Reason: schedule.ReasonFailedCreate, Message: message[:256], Job: fmt.Sprintf("hello-%d", 29_000_000+i),
			Result: schedule.RunFailed, ResultReason: "BackoffLimitExceeded", Ended: time.Unix(int64(60*i+90), 0).UTC(), FailedAttempts: 7,
		})
	}
	reported := schedule.StatusOf(state, schedule.Spec{})
	state.Reported = &reported
	bounded := state.Bounded()
	data, err := json.Marshal(protocol.CronJobInput{CronJob: protocol.ObjectReference{Namespace: "default", Name: "hello", UID: "hello-uid"}, State: &bounded})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d active, %d finished and %d found runs, %d rows: %d bytes",
		len(bounded.Active), len(bounded.Finished), len(bounded.Sighted), len(bounded.Ledger), len(data))
	if len(data) > most {
		t.Errorf("%d bytes, want %d at most", len(data), most)
	}
	var again protocol.CronJobInput
	if err := json.Unmarshal(data, &again); err != nil {
		t.Fatal(err)
	}
	if err := again.State.Validate(); err != nil {
		t.Error(err)
	}
	if last := len(again.State.Active) - 1; again.State.Active[last].Name != state.Active[29_999].Name {
		t.Errorf("the newest run is %+v", again.State.Active[last])
	}
}

// TestLargeHeartbeatsAreReadAtATime: a part of a value does not wait for the turn that the value has.
func TestLargeHeartbeatsAreReadAtATime(t *testing.T) {
	var found []string
	for n := range 3000 {
		found = append(found, fmt.Sprintf("pod-%d-%s", n, strings.Repeat("x", 50)))
	}
	data, err := json.Marshal(protocol.BulkProgress{Done: 7, Result: protocol.JobResult{Vanished: found}})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			var progress protocol.BulkProgress
			if err := json.Unmarshal(data, &progress); err != nil || progress.Done != 7 || len(progress.Result.Vanished) != len(found) {
				t.Errorf("%d done, %d vanished: %v", progress.Done, len(progress.Result.Vanished), err)
			}
		})
	}
	all.Wait()
	if err := json.Unmarshal([]byte(elements("result")), new(protocol.BulkProgress)); err == nil {
		t.Error("a bomb of elements is read without an error")
	}
}
