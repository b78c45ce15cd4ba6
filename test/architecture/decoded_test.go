package architecture

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/activities"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/testing/fixture"
	"ostinato.dev/ostinato/workflows"
)

// registered collects the functions of workflows and activities by reflection.
type registered struct{ functions []any }

func (r *registered) RegisterWorkflow(function any) { r.functions = append(r.functions, function) }

func (r *registered) RegisterWorkflowWithOptions(function any, _ workflow.RegisterOptions) {
	r.functions = append(r.functions, function)
}

func (r *registered) RegisterDynamicWorkflow(function any, _ workflow.DynamicRegisterOptions) {
	r.functions = append(r.functions, function)
}

func (r *registered) RegisterActivityWithOptions(function any, _ activity.RegisterOptions) {
	r.functions = append(r.functions, function)
}

// decodes are the places that decode what came through Temporal into a type of package protocol.
var decodes = regexp.MustCompile(`\b(?:open|perform|query|recorded)\[protocol\.(\w+)\]|\(result protocol\.(\w+), err error\)|Description +protocol\.(\w+)|(?:var (?:reported|progress|description)|progress :=) protocol\.(\w+)`)

// decoding are the calls that decode.
var decoding = regexp.MustCompile(`(?:json\.Unmarshal|\.FromPayloads?|\.Details|\.Get)\([^()\n]*&[\w.]+\)|GetHeartbeatDetails\([^()\n]*\)|json\.NewDecoder\(.*\)`)

// decoders are the calls that may, by file: into a type that decodes names, into text, or where the caller's type says what.
var decoders = map[string][]string{
	"workflows/call.go":             {".Get(ctx, &result)", ".Get(&value)"},
	"workflows/cronjob_children.go": {".Get(ctx, &result)", ".Details(&result)"},
	"workflows/mailbox.go":          {".FromPayload(received.payload, &content)"},
	"workflows/cronjob_trigger.go":  {"json.Unmarshal(data, &quoted)", "json.Unmarshal(data, &fields)"},
	"workflows/note.go":             {"json.Unmarshal(data, &text)", "json.Unmarshal(data, &quoted)", "json.Unmarshal(object, &fields)", "json.Unmarshal(object, &all)", "json.Unmarshal(field, &text)", ".FromPayload(payload, &caller)"},
	"activities/pods_bulk.go":       {"GetHeartbeatDetails(ctx, details)"},
	"internal/bridge/temporal.go":   {".Get(&description)"},
}

// TestWhatStrangersSendIsInTheRegistry: what a function takes and returns, and what the code decodes by itself, stands in
// fixture.Decoded, where every type is bounded.
func TestWhatStrangersSendIsInTheRegistry(t *testing.T) {
	known := map[string]bool{}
	for _, value := range fixture.Decoded() {
		known[reflect.TypeOf(value).Elem().String()] = true
	}
	var all registered
	workflows.Register(&all, workflows.Options{})
	a := activities.New(activities.Options{Metrics: activities.NewMetrics(prometheus.NewRegistry())})
	a.RegisterControl(&all)
	a.RegisterBulk(&all)
	a.RegisterWatch(&all)
	// A Job's workflow returns all that is known of the Job, and who reads that reads a JobClosing.
	result := reflect.TypeFor[job.Result]()
	for _, function := range all.functions {
		kind := reflect.TypeOf(function)
		for _, value := range slices.Concat(slices.Collect(kind.Ins()), slices.Collect(kind.Outs())) {
			if value.Kind() == reflect.Pointer {
				value = value.Elem()
			}
			if value == result || value == reflect.TypeFor[context.Context]() || value == reflect.TypeFor[workflow.Context]() || value == reflect.TypeFor[error]() {
				continue
			}
			if !known[value.String()] {
				t.Errorf("%s is decoded and is not in fixture.Decoded", value)
			}
		}
	}
	found, calls := 0, 0
	for _, folder := range []string{"workflows", "activities", "internal/bridge", "internal/holder", "internal/podwatch", "cmd/worker", "cmd/bridge"} {
		files, err := filepath.Glob("../../" + folder + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatalf("%d files in %s: %v", len(files), folder, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			for _, call := range decoding.FindAllString(string(text), -1) {
				calls++
				if !slices.Contains(decoders[strings.TrimPrefix(file, "../../")], call) {
					t.Errorf("%s has %q: decode into a type of fixture.Decoded, and say so here", file, call)
				}
			}
			for _, match := range decodes.FindAllStringSubmatch(string(text), -1) {
				found++
				if name := match[1] + match[2] + match[3] + match[4]; !known["protocol."+name] {
					t.Errorf("%s decodes a %s, which is not in fixture.Decoded", file, name)
				}
			}
		}
	}
	if calls < 10 {
		t.Errorf("only %d calls that decode were found: do they look otherwise now?", calls)
	}
	if found < 15 {
		t.Errorf("only %d places that decode were found: do they look otherwise now?", found)
	}
}
