package hostile

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/activities"
	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/internal/testing/fixture/asking"
)

// TestNoRunStartsOnAShortHeartbeatTimeout: Temporal would give the attempt to another worker before
// the first has heard of it, and a Job that was replaced in between would be made once more.
func TestNoRunStartsOnAShortHeartbeatTimeout(t *testing.T) {
	t.Parallel()
	namespace, attacker := stack.Namespace(t), newAttacker(t)
	cronJob := stack.AddCronJob(t, harness.NewCronJob(namespace, "yearly", harness.Yearly, harness.JobSpec(harness.RunSeconds(1))))
	for n, test := range []struct {
		timeout time.Duration
		starts  bool
	}{
		{time.Nanosecond, false},
		{time.Millisecond, false},
		{999 * time.Millisecond, false},
		{time.Second, true},
		{4 * time.Second, true},
	} {
		t.Run(test.timeout.String(), func(t *testing.T) {
			start := triggered(cronJob, referenceTo(cronJob), int64(n+1))
			var given answer
			var result protocol.StartRunResult
			// The CronJob's own workflow, which takes its place back, may write the status meanwhile.
			for range usurpations {
				request := current(t, protocol.StartRunRequest{CronJob: referenceTo(cronJob), Digest: schedule.SpecOf(cronJob).Digest(), Start: start})
				var err error
				given, err = attacker.usurp(t.Context(), asking.Own(request), attack{
					Activity: protocol.StartRunActivity, Queue: queueOf(protocol.StartRunActivity), Request: json.RawMessage(text(t, request)), Heartbeat: test.timeout,
				})
				if err != nil {
					t.Fatal(err)
				}
				result = protocol.StartRunResult{}
				if given.Error == "" {
					if err := json.Unmarshal(given.Result, &result); err != nil {
						t.Fatal(err)
					}
				}
				if !result.Overtaken {
					break
				}
			}
			if (result.Started != nil) != test.starts || given.Type == activities.OtherWorkflowErrorType {
				t.Errorf("the start ends with %s, error %s", given.Result, given.Error)
			}
			if test.starts {
				if _, err := stack.Kubernetes.BatchV1().Jobs(namespace).Get(t.Context(), start.Name, metav1.GetOptions{}); err != nil {
					t.Error(err)
				}
				return
			}
			harness.Always(t, effects, func(ctx context.Context) error {
				if _, err := stack.Kubernetes.BatchV1().Jobs(namespace).Get(ctx, start.Name, metav1.GetOptions{}); err == nil {
					return fmt.Errorf("Job %s was made", start.Name)
				}
				return nil
			})
		})
	}
}
