package hostile

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"ostinato.dev/ostinato/activities"
	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/internal/testing/fixture/asking"
)

// squeezed returns the JSON as our own processes send a long one.
func squeezed(t *testing.T, plain string) json.RawMessage {
	t.Helper()
	var compressed bytes.Buffer
	writer := gzip.NewWriter(&compressed)
	if _, err := writer.Write([]byte(plain)); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return json.RawMessage(`{"gzip":"` + base64.StdEncoding.EncodeToString(compressed.Bytes()) + `"}`)
}

// text returns the JSON of a value.
func text(t *testing.T, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// repeated returns the JSON of a list of so many elements.
func repeated(element string, count int) string {
	return "[" + strings.Repeat(element+",", count-1) + element + "]"
}

// numbered returns the JSON of a list of so many elements, in which each verb is the number of the element.
func numbered(count int, element string) string {
	all := make([]string, count)
	for n := range all {
		all[n] = strings.ReplaceAll(element, "%d", strconv.Itoa(n))
	}
	return "[" + strings.Join(all, ",") + "]"
}

// aboutCronJobs are the activities that serve workflows of CronJobs.
var aboutCronJobs = []string{protocol.StartRunActivity, protocol.WriteStatusActivity, protocol.FindRunsActivity}

// counting is the part of a request that has so many failures of Pods counted by labels of the attacker's, with a status that
// a plan could write and that differs from the Job's.
func counting(startTime string, labels int) string {
	handled := make([]string, labels)
	for n := range handled {
		handled[n] = fmt.Sprintf(`"a%d":1`, n)
	}
	return `"status":{"startTime":"` + startTime + `","active":1,"conditions":[{"type":"Suspended","status":"False","reason":"JobResumed","message":"x` + fmt.Sprint(labels) + `"}]},` +
		`"handled":{` + strings.Join(handled, ",") + `}`
}

// message is one message of an attacker's, which he may repeat.
type message struct {
	what string
	// send sends it for the n-th time.
	send func(ctx context.Context, n int) error
}

// messages returns a message of every attack by size or number, for a Job and a CronJob in a namespace of their own.
func messages(t *testing.T) []message {
	t.Helper()
	namespace := stack.Namespace(t)
	ours := victim(t, namespace, "ours", harness.Indexed(1), harness.HoldIndex(0), harness.RunSeconds(1))
	cronJob := stack.AddCronJob(t, harness.NewCronJob(namespace, "ours", harness.Yearly, harness.JobSpec(harness.RunSeconds(1))))
	// Whose workflows hear the signals nobody takes the place of.
	heard := victim(t, namespace, "heard", harness.Indexed(1), harness.HoldIndex(0), harness.RunSeconds(1))
	hearing := stack.AddCronJob(t, harness.NewCronJob(namespace, "hearing", harness.Yearly, harness.JobSpec(harness.RunSeconds(1))))
	reference, digest := text(t, referenceTo(ours)), job.SpecOf(ours).Digest()
	ofCronJob, ofCronJobsSpec := text(t, referenceTo(cronJob)), schedule.SpecOf(cronJob).Digest()
	long, queue, jobs := strings.Repeat("x", 1_300_000), names.Cluster("").ControlTaskQueue(), names.Cluster("").JobTaskQueue()

	events := func(count int, reason func(n int) string, message string) string {
		all := make([]string, count)
		for n := range all {
			all[n] = fmt.Sprintf(`{"type":"Warning","reason":%q,"message":%q}`, reason(n), message)
		}
		return `"events":[` + strings.Join(all, ",") + `]`
	}
	evil := func(n int) string { return fmt.Sprintf("Evil%d", n) }
	listed := event.Reasons("Warning")
	listedReason := func(n int) string { return listed[n%len(listed)] }
	request := func(more string) json.RawMessage {
		return squeezed(t, `{"job":`+reference+`,"digest":"`+digest+`",`+more+`}`)
	}
	startTime := ours.Status.StartTime.UTC().Format(time.RFC3339)
	// Just inside the bounds, of names that there are not.
	inside := `"deletes":` + numbered(job.MaxPods, `{"name":"d%d","uid":"d%d"}`) +
		`,"releases":` + numbered(job.MaxPods, `{"name":"r%d","uid":"r%d","phase":"Failed","logs":true}`)
	old := func(count int) string { return numbered(count, `{"name":"old-%d","uid":"u%d"}`) }
	trigger := text(t, triggered(cronJob, referenceTo(cronJob), 1))
	tasks := map[string]struct {
		activity, queue string
		request         json.RawMessage
	}{
		"500 deletes and 500 releases":              {protocol.CarryOutActivity, queue, request(inside)},
		"500 releases with a status":                {protocol.CarryOutActivity, queue, request(`"status":{"startTime":"` + startTime + `","active":1},` + inside[strings.Index(inside, `"releases"`):])},
		"50 Jobs to prune":                          {protocol.WriteStatusActivity, queue, squeezed(t, `{"cronJob":`+ofCronJob+`,"digest":"`+ofCronJobsSpec+`","prune":`+old(schedule.MaxPruned)+`}`)},
		"3,500 Jobs to replace":                     {protocol.StartRunActivity, queue, squeezed(t, `{"cronJob":`+ofCronJob+`,"digest":"`+ofCronJobsSpec+`","start":`+trigger+`,"replace":`+old(schedule.MaxDeletes)+`}`)},
		"50 Jobs to look at":                        {protocol.FindRunsActivity, queue, squeezed(t, `{"cronJob":`+ofCronJob+`,"look":`+numbered(protocol.MaxLooks, `{"name":"x%d","uid":"y%d"}`)+`}`)},
		"Events of 1.3 MB":                          {protocol.CarryOutActivity, queue, request(events(12, evil, long))},
		"two Events of 1.3 MB with reasons of ours": {protocol.CarryOutActivity, queue, request(events(2, listedReason, long))},
		"4,000 Events":                              {protocol.CarryOutActivity, queue, request(events(4000, listedReason, long[:500]))},
		"a condition of 1.3 MB":                     {protocol.CarryOutActivity, queue, request(`"status":{"startTime":"` + startTime + `","conditions":[{"type":"evil.example/x","status":"True","message":"` + long + `"}]}`)},
		"a CronJob's status of 1.3 MB":              {protocol.WriteStatusActivity, queue, squeezed(t, `{"cronJob":`+ofCronJob+`,"digest":"`+ofCronJobsSpec+`","status":{"lastOutcome":"`+long+`"}}`)},
		"600,000 metric labels":                     {protocol.CarryOutActivity, queue, request(counting(startTime, 600_000))},
		"50,000 metric labels":                      {protocol.CarryOutActivity, queue, request(counting(startTime, 50_000))},
		"20,000 releases":                           {protocol.CarryOutActivity, queue, request(`"releases":` + repeated(`{"name":"x","uid":"y"}`, 20_000))},
		"20,000 Jobs to look at":                    {protocol.FindRunsActivity, queue, squeezed(t, `{"cronJob":`+ofCronJob+`,"look":`+repeated(`{"name":"x","uid":"y"}`, 20_000)+`}`)},
		"an activity of no type":                    {"Evil", queue, json.RawMessage(`{}`)},
		"the log of a Pod that runs":                {protocol.CarryOutActivity, names.Cluster("").BulkTaskQueue(), json.RawMessage(`{"job":` + reference + `,"releases":[{"name":"x","uid":"y","phase":"Failed","logs":true}]}`)},
	}
	facts := squeezed(t, `{"job":"`+string(heard.UID)+`","pods":`+repeated(fmt.Sprintf(`{"name":"e","uid":"e","phase":"Running","tracked":true,"message":%q}`, long[:30_000]), 500)+`}`)
	closed := json.RawMessage(`{"cronJobUID":"x","name":"x","result":{"attempts":` + repeated("{}", 600_000) + `}}`)

	var all []message
	attacker := newAttacker(t)
	for what, task := range tasks {
		as := asking.Own(protocol.JobRequest{Job: referenceTo(ours)})
		if slices.Contains(aboutCronJobs, task.activity) {
			as = asking.Own(protocol.FindRunsRequest{CronJob: referenceTo(cronJob)})
		}
		all = append(all, message{what, func(ctx context.Context, _ int) error {
			given, err := attacker.usurp(ctx, as, attack{Activity: task.activity, Queue: task.queue, Request: task.request})
			if given.Type == activities.OtherWorkflowErrorType {
				err = errors.New(given.Error)
			}
			return err
		}})
	}
	all = append(all, message{"facts of 15 MB", func(ctx context.Context, _ int) error {
		return stack.Temporal.SignalWorkflow(ctx, harness.JobWorkflow(namespace, heard.Name), "", protocol.PodsSignal, facts)
	}})
	all = append(all, message{"a closed run with 600,000 attempts", func(ctx context.Context, _ int) error {
		return stack.Temporal.SignalWorkflow(ctx, harness.CronJobWorkflow(namespace, hearing.Name), "", protocol.JobSeenSignal, closed)
	}})
	all = append(all, message{"a Job of 119,000 Pods", func(ctx context.Context, n int) error {
		input := fmt.Sprintf(`{"job":{"namespace":%q,"name":"x%d","uid":"u"},"spec":{},"state":%s}`, namespace, n, squeezed(t, `{"pods":`+repeated("{}", 119_000)+`}`))
		_, err := stack.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: fmt.Sprintf("job/%s/x%d", namespace, n), TaskQueue: jobs},
			protocol.JobWorkflow, json.RawMessage(input))
		return err
	}})
	return all
}
