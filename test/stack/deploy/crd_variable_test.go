package deploy

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/dev/harness"
)

// batch/v1 has no field for it, so nothing of Kubernetes judges the name before the Job.
func TestWhatNamesTheVariableOfTheScheduledTimeMayHave(t *testing.T) {
	for name, taken := range map[string]bool{
		"SCHEDULED_TIME": true, "_t1": true, strings.Repeat("x", 128): true,
		"": false, "1ST": false, "RUN-AT": false, "A=B": false, "A B": false, "$(A)": false, "Zeit_für": false, strings.Repeat("x", 129): false,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cronJob := harness.NewCronJob("default", "hello", harness.Yearly, harness.JobSpec())
			cronJob.Spec.ScheduledTimeVariable = &name
			_, err := stack.CronJobs.CronJobs("default").Create(t.Context(), cronJob, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if (err == nil) != taken || err != nil && !strings.Contains(err.Error(), "spec.scheduledTimeVariable") {
				t.Errorf("answer %v", err)
			}
		})
	}
}
