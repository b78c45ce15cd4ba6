package hostile

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

// most is a little less than what Temporal takes as one payload, in bytes.
const most = 1_900_000

// refused bounds the wait for a workflow that ends with its first workflow task, with
// all the others beside it.
const refused = time.Minute

// began is a workflow as an attacker starts it.
type began struct {
	kind, id, queue string
	// input is sent as it is, as JSON; it need not be any.
	input string
	// want is a part of the message with which the workflow fails.
	want string
}

// TestWorkflowsThatNobodyOfOursStartsFail, with a message that says why: all at once,
// while other Jobs go on.
func TestWorkflowsThatNobodyOfOursStartsFail(t *testing.T) {
	namespace := stack.Namespace(t)
	below := stack.MeasureMemory(t)
	finished := keepFinishing(t, stack.Namespace(t))
	starts := hostileStarts(t, namespace)
	runs := map[string]client.WorkflowRun{}
	for name, start := range starts {
		run, err := stack.Temporal.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: start.id, TaskQueue: start.queue}, start.kind,
			converter.NewRawValue(&commonpb.Payload{Metadata: map[string][]byte{converter.MetadataEncoding: []byte(converter.MetadataEncodingJSON)}, Data: []byte(start.input)}))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		runs[name] = run
	}
	ctx, cancel := context.WithTimeout(t.Context(), refused)
	defer cancel()
	for _, name := range slices.Sorted(maps.Keys(runs)) {
		t.Run(name, func(t *testing.T) {
			err := runs[name].Get(ctx, nil)
			var application *temporal.ApplicationError
			if !errors.As(err, &application) || !strings.Contains(application.Error(), starts[name].want) {
				t.Errorf("ends with %.300v, want an error with %q", err, starts[name].want)
			}
		})
	}
	t.Logf("%d Jobs finished meanwhile", finished())
	below(maxGrowth)
}

func hostileStarts(t *testing.T, namespace string) map[string]began {
	t.Helper()
	cluster := names.Cluster("")
	bomb := gigabyte(t)
	starts := map[string]began{}
	kinds := map[string]struct {
		queue string
		id    func(name string) string
		// object is how the input calls its object.
		object string
		spec   string
	}{
		protocol.JobWorkflow: {cluster.JobTaskQueue(), func(name string) string { return cluster.JobWorkflowID(namespace, name) }, "job", `{}`},
		protocol.CronJobWorkflow: {cluster.ControlTaskQueue(), func(name string) string { return cluster.CronJobWorkflowID(namespace, name) }, "cronJob",
			`{"schedule":"* * * * *","concurrencyPolicy":"Allow"}`},
	}
	for kind, start := range kinds {
		input := func(name, uid, rest string) string {
			reference, err := json.Marshal(protocol.ObjectReference{Namespace: namespace, Name: name, UID: uid})
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprintf(`{%q:%s,"spec":%s%s}`, start.object, reference, start.spec, rest)
		}
		add := func(what, id, input, want string) {
			starts[kind+", "+what] = began{kind, id, start.queue, input, want}
		}
		uid := string(types.UID("6f1c4f3e-8a39-4c53-9d3c-0f1b2a3c4d5e"))
		add("another ID", "mine-"+strings.ToLower(kind)+"-"+namespace, input("a", uid, ""), "the workflow ID is")
		add("the ID of another object", start.id("b"), input("a", uid, ""), "the workflow ID is")
		add("no uid", start.id("c"), input("c", "", ""), "want the object's metadata.uid")
		add("no namespace", start.id("d"), fmt.Sprintf(`{%q:{"name":"d","uid":"x"}}`, start.object), "invalid input")
		add("a bomb", start.id("e"), input("e", uid, `,"state":`+bomb), "")
		add("a bomb as the whole", start.id("f"), bomb, "a value of more than")
		add("a bomb of elements", start.id("g"), input("g", uid, `,"state":{"pods":[`+strings.Repeat("{},", most/3)+`{}]}`), "objects and arrays")
		add("a bomb of other elements", start.id("h"), input("h", uid, `,"children":[`+strings.Repeat("{},", most/3)+`{}]`), "objects and arrays")
		add("nested deeply", start.id("i"), input("i", uid, `,"state":`+strings.Repeat("[", most/2)+strings.Repeat("]", most/2)), "exceeded max depth")
		add("no JSON", start.id("j"), `{"job":`, "unexpected end of JSON input")
		add("a number", start.id("k"), `7`, "cannot unmarshal number")
		add("other types", start.id("l"), fmt.Sprintf(`{%q:7,"spec":[],"state":"x"}`, start.object), "cannot unmarshal")
		add("too many wishes", start.id("w"), input("w", uid, `,"wishes":[`+strings.Repeat(`{"suspend":true,"at":"2026-01-05T10:00:00Z"},`, 99)+`{"at":"2026-01-05T10:00:00Z"}]`), "wishes: 100, want 10 at most")
		add("a long wish", start.id("x"), input("x", uid, `,"wishes":[{"note":{"note":"`+strings.Repeat("x", most/2)+`"},"at":"2026-01-05T10:00:00Z"}]`), "want 1024 at most")
		add("a negative state", start.id("m"), input("m", uid, `,"state":{"attempts":-1,"prune":{"attempts":-1}}`), "invalid input: state")
	}
	starts["CronJob, the ID of a native one"] = began{protocol.CronJobWorkflow, cluster.NativeCronJobWorkflowID(namespace, "n"), cluster.ControlTaskQueue(),
		fmt.Sprintf(`{"cronJob":{"namespace":%q,"name":"n","uid":"x"},"spec":{"schedule":"* * * * *","concurrencyPolicy":"Allow"}}`, namespace), "the workflow ID is"}
	starts["Job, said to be native"] = began{protocol.JobWorkflow, cluster.JobWorkflowID(namespace, "o"), cluster.JobTaskQueue(),
		fmt.Sprintf(`{"job":{"namespace":%q,"name":"o","uid":"x","native":true},"spec":{}}`, namespace), "native marks a CronJob"}
	watch := func(what, id, input, want string) {
		starts["PodWatch, "+what] = began{protocol.PodWatchWorkflow, id, cluster.ControlTaskQueue(), input, want}
	}
	watch("another ID", "mine-podwatch-"+namespace, `{"shard":0,"shards":1}`, "the workflow ID is")
	watch("no shards", "mine-podwatch-none-"+namespace, `{}`, "watch shard 0 of 0")
	watch("a shard beyond", cluster.PodWatchWorkflowID(5, 2), `{"shard":5,"shards":2}`, "watch shard 5 of 2")
	watch("too many shards", cluster.PodWatchWorkflowID(0, 1_000_000), `{"shard":0,"shards":1000000}`, "watch shard 0 of 1000000")
	watch("no JSON", "mine-podwatch-bytes-"+namespace, `{"shard":`, "unexpected end of JSON input")
	watch("other types", "mine-podwatch-types-"+namespace, `{"shard":"x","shards":[]}`, "cannot unmarshal")
	// A CronJob's state is no compressed value: what it does not know it leaves.
	cronBomb := starts["CronJob, a bomb"]
	cronBomb.input = strings.Replace(cronBomb.input, `"schedule":"* * * * *"`, `"schedule":"* * * * *","startingDeadlineSeconds":-1`, 1)
	cronBomb.want = "startingDeadlineSeconds is -1"
	starts["CronJob, a bomb"] = cronBomb
	jobBomb := starts["Job, a bomb"]
	jobBomb.want = "a value of more than"
	starts["Job, a bomb"] = jobBomb
	return starts
}

// gigabyte is a compressed value of ours that decompresses to a gigabyte.
func gigabyte(t *testing.T) string {
	t.Helper()
	var buffer bytes.Buffer
	writer := gzip.NewWriter(&buffer)
	chunk := make([]byte, 1<<20)
	for range 1024 {
		if _, err := writer.Write(chunk); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return `{"gzip":"` + base64.StdEncoding.EncodeToString(buffer.Bytes()) + `"}`
}
