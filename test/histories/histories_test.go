package histories

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// Defaults, which what is asked for overrides: how many histories are drawn, and from which seed. An ordinary run plays the
// same ones each time; make trial-histories plays others.
var defaults = map[string]string{"rapid.checks": "8", "rapid.seed": "1"}

func TestMain(m *testing.M) {
	for name, value := range defaults {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	flag.Parse()
	os.Exit(m.Run())
}

var cost = flag.Duration("cost", 10*time.Second, "what a crash costs in the histories in which it costs time")

// play plays a scenario. The process is lost after so many writes, 0 for never, which costs a time.
func play(t *testing.T, s scenario, loses int, costs time.Duration) (o outcome) {
	synctest.Test(t, func(*testing.T) {
		time.Sleep(time.Until(s.Begins))
		w := newWorld(s, loses)
		failure := w.play(costs)
		o = outcome{
			scenario: s, effects: w.effects, failure: failure, taken: w.cluster.taken, jobs: w.cluster.jobs(),
			status: w.cluster.stored().Status, begin: w.begin, triggers: w.triggers, heard: w.workflow.heard,
			ledger: w.workflow.state.Ledger, dropped: w.workflow.state.LedgerDropped,
		}
	})
	return o
}

// mistakesOf plays a scenario without a crash and with one after each of its writes.
func mistakesOf(t *testing.T, s scenario) string {
	whole := play(t, s, 0, 0)
	if wrong := whole.mistakes(); len(wrong) > 0 {
		return report(s, "without a crash", whole, wrong)
	}
	for n := 1; n <= whole.effects; n++ {
		again := play(t, s, n, 0)
		if again.failure != "" {
			return report(s, fmt.Sprintf("with a crash after write %d", n), again, []string{again.failure})
		}
		if want, got := whole.text(), again.text(); got != want {
			return report(s, fmt.Sprintf("with a crash after write %d, which costs no time", n), again, []string{difference(want, got)})
		}
		late := play(t, s, n, *cost)
		if wrong := late.mistakes(); len(wrong) > 0 {
			return report(s, fmt.Sprintf("with a crash of %s after write %d", *cost, n), late, wrong)
		}
	}
	return ""
}

func report(s scenario, when string, o outcome, wrong []string) string {
	return fmt.Sprintf("%s\n%s:\n  %s\n\n%s", s, when, strings.Join(wrong, "\n  "), o.text())
}

// difference is the lines that two texts do not have in common.
func difference(want, got string) string {
	var lines []string
	for _, line := range strings.Split(want, "\n") {
		if !strings.Contains(got, line) {
			lines = append(lines, "missing:    "+line)
		}
	}
	for _, line := range strings.Split(got, "\n") {
		if !strings.Contains(want, line) {
			lines = append(lines, "unexpected: "+line)
		}
	}
	return strings.Join(lines, "\n  ")
}

func TestCrashesOfScenarios(t *testing.T) {
	for _, s := range table() {
		t.Run(s.Name, func(t *testing.T) {
			if wrong := mistakesOf(t, s); wrong != "" {
				t.Error(wrong)
			}
		})
	}
}

func TestCrashesOfRandomHistories(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		if wrong := mistakesOf(t, drawScenario(rt)); wrong != "" {
			rt.Fatal(wrong)
		}
	})
}
