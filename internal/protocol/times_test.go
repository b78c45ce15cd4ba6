package protocol_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

var now = time.Date(2026, time.November, 28, 15, 0, 0, 0, time.UTC)

// free are the times of a state that may be any, with what keeps them from holding up the object.
var free = map[string]string{
	"CronJob.LastSuccessful":          "it is shown only",
	"CronJob.LastFailure":             "it is shown only",
	"CronJob.Calendar.Missed.First":   "the last one of a stretch is judged",
	"CronJob.Calendar.Upcoming":       "the times of a schedule may be years away: they are computed anew",
	"CronJob.Calendar.Recheck":        "the times of a schedule are computed anew",
	"CronJob.Active.Scheduled":        "a run that was active is looked up by its Job",
	"CronJob.Active.Started":          "it is shown only",
	"CronJob.Finished.EndTime":        "it is shown only",
	"CronJob.Finished.StartTime":      "it orders what the history limits delete",
	"CronJob.Finished.CompletionTime": "it is shown only",
	"CronJob.Finished.Run.Scheduled":  "it is shown only",
	"CronJob.Finished.Run.Started":    "it is shown only",
	"CronJob.Recovered.Run.Started":   "it is shown only",
	"CronJob.Recovered.Run.Scheduled": "intervals count from no time that has not come",
	"CronJob.Calendar.Unnamed":        "only a new evaluation's count",
	"Job.Pods.PodFact.Started":        "it is shown only",
	"CronJob.Ledger":                  "rows are shown only",
	"CronJob.Suspension.Suspender.At": "it is shown only",
	"CronJob.Conditions":              "a condition is rendered anew",
	"CronJob.Reported":                "a status that differs is written",
	"CronJob.Recovered.Finished":      "the end of a run is shown only",
	"Job.CompletionTime":              "a Job that has it has ended",
	"Job.Late":                        "it is cut to 40 s from now (job.Resume)",
	"Job.Taken":                       "it is cut to 40 s from now (job.Resume)",
	"Job.Backoff.Last":                "it is cut to now (job.Resume)",
	"Job.Indexes.Last":                "it is cut to now (job.Resume)",
	"Job.Pods.Retry.Until":            "it is cut to the longest back-off (job.Resume)",
	"Job.Pods.PodFact.Finished":       "it is cut to now where the Pod is counted",
	"Job.Pods.PodFact.PendingSince":   "it is cut to now where a plan is made",
	"Job.Conditions":                  "a condition is shown only",
	"Job.Written":                     "a status that differs is written",
	"Job.Evidence":                    "evidence is shown only",
}

// TestTimesOfAStateAreNotAhead: a workflow would wait for them, for ever if the state is forged. Each time that a state has is
// refused where it is too far ahead, or is named with what makes that harmless.
func TestTimesOfAStateAreNotAhead(t *testing.T) {
	for kind, state := range map[string]reflect.Type{"CronJob": reflect.TypeFor[schedule.State](), "Job": reflect.TypeFor[job.State]()} {
		input := func(state reflect.Value) interface{ ValidateTimes(time.Time) error } {
			if kind == "Job" {
				return protocol.JobInput{State: state.Addr().Interface().(*job.State)}
			}
			return protocol.CronJobInput{State: state.Addr().Interface().(*schedule.State)}
		}
		found := 0
		eachTime(state, kind, nil, func(path string, set func(state reflect.Value, at time.Time)) {
			found++
			with := func(ahead time.Duration) error {
				value := reflect.New(state).Elem()
				set(value, now.Add(ahead))
				return input(value).ValidateTimes(now)
			}
			if err := with(time.Minute); err != nil {
				t.Errorf("%s is a minute ahead: %v", path, err)
			}
			bound := time.Minute
			if strings.HasSuffix(path, "Until") && !strings.Contains(path, "Former") {
				bound = 10 * time.Minute
				if err := with(bound); err != nil {
					t.Errorf("%s is a back-off ahead: %v", path, err)
				}
			}
			err := with(bound + time.Second)
			harmless := ""
			for prefix, why := range free {
				if path == prefix || strings.HasPrefix(path, prefix+".") {
					harmless = why
				}
			}
			if (err == nil) != (harmless != "") {
				t.Errorf("%s is more than %s ahead: error %v, and it is said to be harmless: %q", path, bound, err, harmless)
			}
		})
		if found < 10 {
			t.Errorf("%s: %d times were found", kind, found)
		}
	}
	for _, none := range []interface{ ValidateTimes(time.Time) error }{protocol.CronJobInput{}, protocol.JobInput{}} {
		if err := none.ValidateTimes(now); err != nil {
			t.Errorf("no state: %v", err)
		}
	}
}

// eachTime calls see with the path of each time that a value of the type has, and with how to set it.
func eachTime(of reflect.Type, path string, way func(reflect.Value) reflect.Value, see func(path string, set func(reflect.Value, time.Time))) {
	if way == nil {
		way = func(value reflect.Value) reflect.Value { return value }
	}
	switch of.Kind() {
	case reflect.Struct:
		if of == reflect.TypeFor[time.Time]() {
			see(path, func(state reflect.Value, at time.Time) { way(state).Set(reflect.ValueOf(at)) })
			return
		}
		for i := range of.NumField() {
			field := of.Field(i)
			if !field.IsExported() {
				continue
			}
			name := path
			if !field.Anonymous || field.Type.Kind() != reflect.Struct || field.Name == "PodFact" || field.Name == "Ledger" {
				name += "." + field.Name
			}
			eachTime(field.Type, name, func(value reflect.Value) reflect.Value { return way(value).Field(i) }, see)
		}
	case reflect.Pointer:
		eachTime(of.Elem(), path, func(value reflect.Value) reflect.Value {
			pointer := way(value)
			if pointer.IsNil() {
				pointer.Set(reflect.New(of.Elem()))
			}
			return pointer.Elem()
		}, see)
	case reflect.Slice:
		// The second of two: the first alone may be judged.
		eachTime(of.Elem(), path, func(value reflect.Value) reflect.Value {
			list := way(value)
			if list.Len() == 0 {
				list.Set(reflect.MakeSlice(of, 2, 2))
			}
			return list.Index(1)
		}, see)
	}
}
