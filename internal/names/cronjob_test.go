package names_test

import (
	"testing"

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
