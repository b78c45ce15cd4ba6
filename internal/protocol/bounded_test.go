package protocol_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/internal/testing/fixture"
)

// most is what Temporal takes as one payload, in bytes.
const most = 2 << 20

// elements is a list in a field, of as many empty objects as fit into a payload.
func elements(field string) string {
	return `{"` + field + `":[` + strings.Repeat("{},", most/3-100) + `{}]}`
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

// TestBombsAreRefusedBeforeTheyTakeMemory: wherever a type of the registry holds a list or reads its own JSON, down to the lists.
func TestBombsAreRefusedBeforeTheyTakeMemory(t *testing.T) {
	zeros, many := compressed(t), "["+strings.Repeat("{},", most/3-100)+"{}]"
	deep := strings.Repeat("[", most/2) + strings.Repeat("]", most/2)
	tried := 0
	try := func(kind reflect.Type, path, data string, refused bool) {
		t.Run(path, func(t *testing.T) {
			tried++
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := json.Unmarshal([]byte(data), reflect.New(kind).Interface())
			runtime.ReadMemStats(&after)
			if err == nil && refused {
				t.Error("is read without an error")
			}
			if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 100 {
				t.Errorf("took %d MiB", took)
			}
		})
	}
	for _, value := range fixture.Decoded() {
		kind := reflect.TypeOf(value).Elem()
		try(kind, kind.Name()+", a number", `7`, true)
		holds(kind, kind.Name(), "%", map[reflect.Type]bool{}, func(path, around string, list bool) {
			bombs := map[string]string{"zeros": zeros, "invalid": "[{},"}
			if list {
				bombs = map[string]string{"elements": many, "nested": deep}
			}
			for name, bomb := range bombs {
				try(kind, path+", "+name, strings.Replace(around, "%", bomb, 1), name != "zeros")
			}
		})
	}
	if tried < 200 {
		t.Errorf("only %d bombs: does the walk find the fields?", tried)
	}
}

// holds finds where a type holds lists, and where it reads its own JSON. around is the JSON around that place.
func holds(kind reflect.Type, path, around string, above map[reflect.Type]bool, visit func(path, around string, list bool)) {
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	if above[kind] {
		return
	}
	above[kind] = true
	defer delete(above, kind)
	if reflect.PointerTo(kind).Implements(unmarshaler) {
		visit(path, around, false)
	}
	switch {
	case slices.Contains(bounded, kind) && kind != reflect.TypeFor[job.Spec]():
	case kind.Kind() == reflect.Slice, kind.Kind() == reflect.Map:
		visit(path, around, true)
	case kind.Kind() == reflect.Struct:
		for field := range kind.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			switch {
			case name == "-" || !field.IsExported() && !field.Anonymous:
			case name == "" && field.Anonymous:
				holds(field.Type, path, around, above, visit)
			default:
				holds(field.Type, path+"."+field.Name, strings.Replace(around, "%", `{"`+cmp.Or(name, field.Name)+`":%}`, 1), above, visit)
			}
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
		state.Recovered = append(state.Recovered, schedule.RecoveredJob{Run: run, Finished: &finished})
	}
	state.Ledger = fullLedger(func(n int, entry *ledger.Entry) { entry.Message = randomText(256, printable) })
	reported := schedule.StatusOf(state, schedule.Spec{})
	state.Reported = &reported
	bounded := state.Bounded()
	data, err := json.Marshal(protocol.CronJobInput{CronJob: protocol.ObjectReference{Namespace: "default", Name: "hello", UID: "hello-uid"}, State: &bounded})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d active, %d finished and %d found runs, %d rows: %d bytes",
		len(bounded.Active), len(bounded.Finished), len(bounded.Recovered), len(bounded.Ledger.Entries), len(data))
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

// fullLedger returns the ledger of 1,600 runs, one each minute.
func fullLedger(edit func(n int, entry *ledger.Entry)) (full ledger.Ledger) {
	for n := range 1600 {
		scheduled := time.Unix(int64(1_767_225_600+60*n), 0).UTC()
		entry := ledger.Entry{
			Scheduled: scheduled, Recorded: scheduled.Add(time.Duration(n%3) * time.Second), Outcome: ledger.Started, Job: fmt.Sprintf("hello-%d", 29_453_760+n),
			End: ledger.End{Result: ledger.Complete, Ended: scheduled.Add(time.Duration(20+n*7%30) * time.Second)},
		}
		edit(n, &entry)
		full = full.Record(entry, func(_, _ ledger.Entry) bool { return true })
	}
	return full
}

// printable are characters that JSON does not escape, noise any that a text may have.
var printable, noise = []rune("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"), func() (all []rune) {
	for r := rune(1); r < 0x800; r++ {
		all = append(all, r)
	}
	return all
}()

// randomText returns a text that does not compress, of that many bytes at least.
func randomText(length int, of []rune) string {
	var text strings.Builder
	for text.Len() < length {
		text.WriteRune(of[rand.IntN(len(of))])
	}
	return text.String()
}

// Temporal warns of a payload of 256 kB, and refuses one of 2 MB: a ledger that is full stays below both, whatever its rows say.
func TestAFullLedgerFitsIntoAPayload(t *testing.T) {
	hostile := func(of []rune) func(int, *ledger.Entry) {
		return func(_ int, entry *ledger.Entry) {
			entry.Outcome, entry.Reason, entry.Manual, entry.Through = ledger.StartedLate, ledger.ReasonFailedCreate, true, ledger.ThroughUpdate
			entry.Message, entry.By, entry.Changed, entry.Job = randomText(256, of), randomText(256, of), randomText(256, of), randomText(63, of)
			entry.Result, entry.ResultReason, entry.FailedAttempts = ledger.Failed, randomText(256, of), rand.Int32()
		}
	}
	for name, test := range map[string]struct {
		edit func(int, *ledger.Entry)
		rows int
	}{
		"each run is Complete": {func(int, *ledger.Entry) {}, 1500},
		"each tenth fails": {func(n int, entry *ledger.Entry) {
			if n%10 == 0 {
				entry.Result, entry.ResultReason, entry.FailedAttempts = ledger.Failed, "BackoffLimitExceeded", 7
			}
		}, 1500},
		"each is refused at first": {func(n int, entry *ledger.Entry) {
			entry.Outcome, entry.Reason = ledger.StartedLate, ledger.ReasonFailedCreate
			entry.Message = fmt.Sprintf("Forbidden: exceeded quota: jobs, requested: count/jobs.batch=1, used: count/jobs.batch=%d", n)
		}, 1000},
		"random short texts": {func(_ int, entry *ledger.Entry) {
			entry.By, entry.Job = randomText(20, printable), randomText(63, printable)
		}, 1500},
		"random texts":           {hostile(printable), 100},
		"random characters":      {hostile(noise), 100},
		"characters that escape": {hostile(noise[:31]), 100},
		"random times and counts": {func(_ int, entry *ledger.Entry) {
			entry.Scheduled, entry.Until = time.Unix(rand.Int64N(1<<37), rand.Int64N(1e9)).UTC(), time.Unix(rand.Int64N(1<<37), rand.Int64N(1e9)).UTC()
			entry.Ended, entry.Recorded = entry.Recorded.Add(time.Duration(rand.Int64N(1e9))), entry.Recorded.Add(time.Duration(rand.Int64N(1e9)))
			entry.Count, entry.Sequence = rand.Int64(), rand.Int64()
		}, 1500},
	} {
		t.Run(name, func(t *testing.T) {
			state := schedule.State{Identity: schedule.Identity{Namespace: "default", Name: "hello", UID: "hello-uid"}, Ledger: fullLedger(test.edit)}
			plain, err := json.Marshal(state)
			if err != nil {
				t.Fatal(err)
			}
			data, err := json.Marshal(protocol.CronJobInput{State: &state})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d rows: %d bytes, %d compressed", len(state.Ledger.Entries), len(plain), len(data))
			if len(data) > 256<<10 || len(state.Ledger.Entries) < test.rows {
				t.Errorf("%d rows in %d bytes, want %d rows at least in %d bytes at most", len(state.Ledger.Entries), len(data), test.rows, 256<<10)
			}
			var again protocol.CronJobInput
			if err := json.Unmarshal(data, &again); err != nil {
				t.Fatal(err)
			}
		})
	}
}
