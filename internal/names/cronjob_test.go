package names_test

import (
	"testing"
	"time"

	"ostinato.dev/ostinato/internal/names"
)

func TestCronJobWorkflowIDsOfTheTwoGroupsAreToldApart(t *testing.T) {
	for _, cluster := range []names.Cluster{"", "east"} {
		own, native := cluster.CronJobWorkflowID("shop", "report"), cluster.NativeCronJobWorkflowID("shop", "report")
		if namespace, name, ok := cluster.ParseNativeCronJobWorkflowID(native); !ok || namespace != "shop" || name != "report" {
			t.Errorf("%s: %s %s %t", native, namespace, name, ok)
		}
		if namespace, name, ok := cluster.ParseCronJobWorkflowID(own); !ok || namespace != "shop" || name != "report" {
			t.Errorf("%s: %s %s %t", own, namespace, name, ok)
		}
		for _, other := range []string{native, "elsewhere/" + own, cluster.JobWorkflowID("shop", "report")} {
			if _, _, ok := cluster.ParseCronJobWorkflowID(other); ok {
				t.Errorf("%s is taken for one of batch.ostinato.dev", other)
			}
		}
		for _, other := range []string{own, "elsewhere/" + native, native + "/x", cluster.NativeCronJobWorkflowID("", "x")} {
			if _, _, ok := cluster.ParseNativeCronJobWorkflowID(other); ok {
				t.Errorf("%s is taken for one of batch", other)
			}
		}
	}
}

func TestJobsOfABackfillHaveNamesOfTheirOwn(t *testing.T) {
	first := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	seen := map[string]bool{names.ScheduledJob("hello", first): true, names.TriggeredJob("hello", "uid", 7): true}
	for _, sequence := range []int64{7, 8} {
		for _, at := range []time.Time{first, first.Add(time.Minute)} {
			name := names.BackfilledJob("hello", "uid", sequence, at)
			if seen[name] || len(name) != len("hello")+11 || name != names.BackfilledJob("hello", "uid", sequence, at.In(time.Local)) {
				t.Errorf("%s of backfill %d, %s", name, sequence, at)
			}
			seen[name] = true
		}
	}
}
