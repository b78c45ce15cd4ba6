package workflows_test

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/encoding/protojson"

	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/workflows"
)

// recordedHistories is how many histories testdata holds at least: a fixture
// that went missing must not go unnoticed. Raise it when adding one.
const recordedHistories = 11

// Every recorded history replays with the code as it is.
func TestRecordedHistoriesReplay(t *testing.T) {
	var paths []string
	err := filepath.WalkDir("testdata/history", func(path string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(path, ".json.gz") {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) < recordedHistories {
		t.Fatalf("testdata/history holds %d histories, want at least %d", len(paths), recordedHistories)
	}
	for _, path := range paths {
		t.Run(strings.TrimPrefix(path, "testdata/history/"), func(t *testing.T) {
			if err := replay(t, read(t, path), workflows.Options{}); err != nil {
				t.Error(err)
			}
			// Temporal's door may be closed, and the worker's flag set, while a workflow runs.
			for _, believed := range []bool{false, true} {
				recorded := read(t, path)
				for _, event := range recorded.GetEvents() {
					if signal := event.GetWorkflowExecutionSignaledEventAttributes(); signal != nil {
						signal.Header = callerHeader(t, "kubernetes:ada")
					}
				}
				if err := replay(t, recorded, workflows.Options{CallerHeader: believed}); err != nil {
					t.Errorf("with callers, believed %t: %v", believed, err)
				}
			}
		})
	}
}

// replay replays a history with the code as it is.
func replay(t *testing.T, recorded *history.History, options workflows.Options) error {
	t.Helper()
	replayer, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{
		Interceptors: []interceptor.WorkerInterceptor{workflows.Interceptor(options)},
	})
	if err != nil {
		t.Fatal(err)
	}
	workflows.Register(replayer, options)
	started := recorded.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes()
	return replayer.ReplayWorkflowHistoryWithOptions(nil, recorded, worker.ReplayWorkflowHistoryOptions{
		OriginalExecution: workflow.Execution{ID: started.GetWorkflowId(), RunID: started.GetOriginalExecutionRunId()},
	})
}

func callerHeader(t *testing.T, caller string) *commonpb.Header {
	t.Helper()
	payload, err := converter.GetDefaultDataConverter().ToPayload(caller)
	if err != nil {
		t.Fatal(err)
	}
	return &commonpb.Header{Fields: map[string]*commonpb.Payload{names.CallerHeader: payload}}
}

func read(t *testing.T, path string) *history.History {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	reader, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	var recorded history.History
	if err := protojson.Unmarshal(encoded, &recorded); err != nil {
		t.Fatal(err)
	}
	return &recorded
}
