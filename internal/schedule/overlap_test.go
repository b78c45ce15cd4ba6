package schedule_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/schedule"
)

// What each concurrencyPolicy does when a run is due, at 12:00, while none is active, one
// runs, others wait, or the Job of the active one is being deleted and still there, which
// counts as active. The oldest active run ends at 12:20. Each is done twice: by a worker that is killed between each
// create and the report of it, too.
func TestOverlapTable(t *testing.T) {
	policies := []struct {
		name    string
		options []specOption
	}{
		{"Allow", []specOption{allow}},
		{"Allow, maxConcurrent 2", []specOption{allow, atMost(2)}},
		{"Forbid", []specOption{forbid}},
		{"Forbid, maxConcurrent 2", []specOption{forbid, atMost(2)}},
		{"Replace", []specOption{replace}},
		{"Replace, maxConcurrent 2", []specOption{replace, atMost(2)}},
		{"Queue", []specOption{queue}},
		{"Queue, maxConcurrent 2", []specOption{queue, atMost(2)}},
		{"Queue, queueLimit 1", []specOption{queue, queueLimit(1)}},
		{"Queue, deadline 30 min", []specOption{queue, deadline(1800)}},
	}
	situations := []struct {
		name string
		// from is the time from which runs come. Each goes on.
		from string
		then func(*cluster)
	}{
		{"none active", "11:30", func(*cluster) {}},
		{"one runs", "10:30", oldestEnds},
		{"two wait or run", "09:30", oldestEnds},
		{"six wait or run", "05:30", oldestEnds},
		{"one is being deleted, and gone at 12:20", "10:30", deletedIsGone},
	}
	var b strings.Builder
	for _, policy := range policies {
		fmt.Fprintf(&b, "## %s\n", policy.name)
		for _, situation := range situations {
			lines := overlap(t, cronSpec("0 * * * *", policy.options...), situation.from, situation.then, false)
			fmt.Fprintf(&b, "\n%s:\n  %s\n", situation.name, strings.Join(lines, "\n  "))
			killed := overlap(t, cronSpec("0 * * * *", policy.options...), situation.from, situation.then, true)
			wantStrings(t, policy.name+", "+situation.name+", worker killed at each create", killed, lines...)
		}
		b.WriteString("\n")
	}
	const golden = "testdata/overlap.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got != string(want) {
		t.Errorf("got\n%s\nwant what %s has; go test -update writes it", got, golden)
	}
}

// oldestEnds ends the oldest active run, deletedIsGone has the Job of 11:00 gone.
func oldestEnds(c *cluster) { c.finish(batchv1.JobComplete, at("12:20")) }

func deletedIsGone(c *cluster) {
	for _, run := range c.state.Active {
		if run.Scheduled.Equal(at("11:00")) {
			c.remove(run.Name, run.UID)
			c.state = schedule.Missing(c.state, run, at("12:20"))
		}
	}
	c.at(at("12:20"))
}

// overlap lets runs come every hour from a time on until 12:00, and then something happen at
// 12:20. It returns the runs that then are active, and the ledger.
func overlap(t *testing.T, spec schedule.Spec, from string, then func(*cluster), kill bool) []string {
	c := newCluster(t, spec, at(from)).at(at(from))
	step := func(action func()) {
		c.forget = kill
		action()
		c.forget = false
	}
	for !c.wake.After(at("12:00")) {
		step(func() { c.at(c.wake) })
	}
	step(func() { then(c) })
	var active []string
	for _, run := range c.state.Active {
		active = append(active, run.Scheduled.Format("15:04"))
	}
	if len(active) != len(c.running) {
		t.Errorf("%d runs are active, %d Jobs run", len(active), len(c.running))
	}
	return append([]string{strings.TrimSpace("active: " + strings.Join(active, " "))}, c.ledger()...)
}
