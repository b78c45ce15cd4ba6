package commands

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The rights that check asks about are those that the table of docs/cookbook.md has in the rows that it names, and rows that only read
// or steer CronJobs lack none.
func TestTheRightsThatAreCheckedAreThoseOfTheTable(t *testing.T) {
	documented := rights(t)
	for _, one := range needs {
		group := one.right
		group.Group = ""
		for row := range strings.SplitSeq(one.rows, ", ") {
			assert.True(t, slices.ContainsFunc([]string{row, row + " NAME", row + " of Pods that are gone"}, func(row string) bool {
				return slices.Contains(documented[row][0], group.String())
			}), "no row of %s has %s", row, group)
		}
	}
	for _, row := range []string{"get", "next", "failed", "why", "runs", "tree", "logs", "run with overrides", "run --wait", "run --logs", "backfill", "stop", "stop --of", "stop --all", "suspend", "resume", "check -f"} {
		for _, right := range documented[row][0] {
			assert.True(t, slices.ContainsFunc(needs, func(one need) bool {
				group := one.right
				group.Group = ""
				return group.String() == right
			}), "check does not ask about %s, which %s needs", right, row)
		}
	}
}
