package jobs

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/test/histories/play"
)

// Defaults, which what is asked for overrides: how many histories are drawn, and from which seed. An ordinary run plays the
// same ones each time; make trial-histories plays others.
var defaults = map[string]string{"rapid.checks": "8", "rapid.seed": "1"}

func TestMain(m *testing.M) { play.Main(m, defaults) }

// requestTakes is how long a request about a Pod takes in the histories in which a crash costs time, so that more comes meanwhile.
const requestTakes = 100 * time.Millisecond

// outcomeOf plays a scenario. The worker is lost after so many writes, 0 for never, and its successor begins after a while.
func outcomeOf(t *testing.T, s scenario, loses int, costs time.Duration) (o outcome) {
	job.CutPlans(cmp.Or(s.Cut, job.MaxPods))
	defer job.CutPlans(job.MaxPods)
	synctest.Test(t, func(*testing.T) {
		w := newWorld(s, loses)
		if costs > 0 {
			w.cluster.takes = requestTakes
		}
		failure := w.play(costs)
		o = outcome{
			recording: w.cluster.record, scenario: s, effects: w.cluster.effects, failure: failure, cost: costs, crashed: loses > 0,
			early: w.early, begin: w.begin, started: w.startedAt, job: w.cluster.job(), left: w.cluster.all(),
		}
	})
	return o
}

func mistakesOf(t *testing.T, s scenario) string {
	return play.Mistakes(s, nil, func(loses int, costs time.Duration) play.Outcome { return outcomeOf(t, s, loses, costs) })
}

// unmended are defects that are not mended yet, by how the names of their scenarios begin: each of these has to fail, and random
// histories don't draw what brings the defect about. Whoever mends one takes it out. The numbers up to 12 are those of the review of
// Jobs.
var unmended = map[string]string{}

func mended(defect string) bool { return unmended[defect] == "" }

func TestCrashesOfScenarios(t *testing.T) {
	for _, s := range table() {
		t.Run(s.Name, func(t *testing.T) {
			defect, _, _ := strings.Cut(s.Name, ":")
			switch wrong := mistakesOf(t, s); {
			case mended(defect) && wrong != "":
				t.Error(wrong)
			case !mended(defect) && wrong == "":
				t.Errorf("nothing is wrong: take it out of unmended (%s)", unmended[defect])
			}
		})
	}
}

func TestUnmendedDefectsHaveScenarios(t *testing.T) {
	for defect := range unmended {
		if !slices.ContainsFunc(table(), func(s scenario) bool { return strings.HasPrefix(s.Name, defect+":") }) {
			t.Errorf("no scenario shows defect %s", defect)
		}
	}
}

func TestCrashesOfRandomHistories(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		if wrong := mistakesOf(t, drawScenario(rt)); wrong != "" {
			rt.Fatal(wrong)
		}
	})
}
