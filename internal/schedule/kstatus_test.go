package schedule_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/schedule"
)

// What Flux and helm --wait ask of an object, they ask this library. A program that fails is no reason to
// hold up a deployment; a CronJob whose schedule, time zone or template can't be used is.
func TestWhatWaitsForACronJobWaitsForItsScheduleAndNoRun(t *testing.T) {
	const hourly = "0 * * * *"
	for name, test := range map[string]struct {
		spec schedule.Spec
		do   func(*cluster)
		// edited: the object has been changed since the status was written.
		edited bool
		want   status.Status
	}{
		// The library takes an object that says nothing for one that is as it should be.
		"one that nobody has seen":      {spec: cronSpec(hourly), do: func(*cluster) {}, edited: true, want: status.CurrentStatus},
		"one that has not run":          {spec: cronSpec(hourly), do: func(c *cluster) { c.at(at("09:30")) }, want: status.CurrentStatus},
		"one that runs":                 {spec: cronSpec(hourly), do: func(c *cluster) { c.at(at("10:00")) }, want: status.CurrentStatus},
		"one whose run is complete":     {spec: cronSpec(hourly), do: func(c *cluster) { c.at(at("09:30")).runs(jobComplete) }, want: status.CurrentStatus},
		"one whose runs fail":           {spec: cronSpec(hourly), do: func(c *cluster) { c.at(at("09:30")).runs(jobFailed, jobFailed, jobFailed) }, want: status.CurrentStatus},
		"one paused after failures":     {spec: cronSpec(hourly, pauseAfter(2)), do: func(c *cluster) { c.at(at("09:30")).runs(jobFailed, jobFailed) }, want: status.CurrentStatus},
		"one that is suspended":         {spec: cronSpec(hourly, suspended), do: func(c *cluster) { c.at(at("09:30")) }, want: status.CurrentStatus},
		"one edited since":              {spec: cronSpec(hourly), do: func(c *cluster) { c.at(at("09:30")) }, edited: true, want: status.InProgressStatus},
		"one of no schedule":            {spec: cronSpec("?"), do: func(c *cluster) { c.at(at("09:30")) }, want: status.FailedStatus},
		"one of no time zone":           {spec: cronSpec(hourly, zone("Nowhere/Atall")), do: func(c *cluster) { c.at(at("09:30")) }, want: status.FailedStatus},
		"one that never fires":          {spec: cronSpec("0 0 30 2 *"), do: func(c *cluster) { c.at(at("09:30")) }, want: status.FailedStatus},
		"one whose template is refused": {spec: cronSpec(hourly), do: func(c *cluster) { c.judge = refusing("no such volume"); c.at(at("09:30")) }, want: status.FailedStatus},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, test.spec, at("09:15"))
			test.do(c)
			cronJob := &ostinatov1.CronJob{Status: c.status}
			cronJob.APIVersion, cronJob.Kind, cronJob.Namespace, cronJob.Name = "batch.ostinato.dev/v1", "CronJob", namespace, "hello"
			cronJob.Generation = max(c.status.ObservedGeneration, 1)
			if test.edited {
				cronJob.Generation = c.status.ObservedGeneration + 1
			}
			object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(cronJob)
			require.NoError(t, err)
			result, err := status.Compute(&unstructured.Unstructured{Object: object})
			require.NoError(t, err)
			assert.Equal(t, test.want, result.Status, "%s; conditions %+v", result.Message, c.status.Conditions)
		})
	}
}
