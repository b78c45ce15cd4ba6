//go:build trial

package restores

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"ostinato.dev/ostinato/dev/devstack"
	"ostinato.dev/ostinato/dev/harness"
)

var stack *harness.Harness

// What a trial consists of. With -short each restore goes back by a minute, under fewer CronJobs.
var (
	cronJobsFlag = flag.Int("restores.cronjobs", 0, "CronJobs under which each restore happens; 0 takes 200, with -short 60")
	temporalFlag = flag.String("restores.temporal", "", "by how much Temporal is put back, once each (default 1m,5m,20m, with -short 1m; none for never)")
	etcdFlag     = flag.String("restores.etcd", "", "by how much etcd is put back, once each (default 5m, with -short 1m; none for never)")
	afterFlag    = flag.Duration("restores.after", 2*time.Minute, "for how long runs are due after a restore")
	seedFlag     = flag.Uint64("restores.seed", 0, "seed of the moments of backups and restores; 0 takes a new one")
)

const none = "none"

// spans returns what a flag says, or its default.
func spans(t *testing.T, value, long, short string) (all []time.Duration) {
	t.Helper()
	switch {
	case value == none:
		return nil
	case value == "" && testing.Short():
		value = short
	case value == "":
		value = long
	}
	for text := range strings.SplitSeq(value, ",") {
		span, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, span)
	}
	return all
}

// count is how many CronJobs there are.
func count() int {
	switch {
	case *cronJobsFlag > 0:
		return *cronJobsFlag
	case testing.Short():
		return 60
	default:
		return 200
	}
}

func TestMain(m *testing.M) {
	options := devstack.Options{Workers: 2}
	os.Exit(harness.Main(m, options, func(h *harness.Harness) { stack = h }))
}

func cronJobName(n int) string { return fmt.Sprintf("restored-%03d", n) }
