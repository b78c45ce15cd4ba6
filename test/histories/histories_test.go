package histories

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"ostinato.dev/ostinato/test/histories/play"
)

// Defaults, which what is asked for overrides: how many histories are drawn, and from which seed. An ordinary run plays the
// same ones each time; make trial-histories plays others.
var defaults = map[string]string{"rapid.checks": "8", "rapid.seed": "1"}

func TestMain(m *testing.M) { play.Main(m, defaults) }

// outcomeOf plays a scenario. The process is lost after so many writes, 0 for never, and its successor begins after a while.
func outcomeOf(t *testing.T, s scenario, loses int, costs time.Duration) (o outcome) {
	synctest.Test(t, func(*testing.T) {
		time.Sleep(time.Until(s.Begins))
		w := newWorld(namespace, cronJob, s, loses)
		failure := w.play(costs)
		w.beside.Wait()
		o = outcome{
			scenario: s, account: w.record, effects: w.effects, failure: failure, taken: w.cluster.taken, sent: w.cluster.requests,
			jobs: w.cluster.jobs(), status: w.cluster.stored().Status, begin: w.begin, said: w.cluster.said, rows: w.cluster.rows,
		}
	})
	return o
}

func mistakesOf(t *testing.T, s scenario) string {
	wrong := play.Mistakes(s, s.losses(), func(loses int, costs time.Duration) play.Outcome { return outcomeOf(t, s, loses, costs) })
	if without, crowded := s.crowded(); crowded && wrong == "" {
		wrong = strings.Join(outcomeOf(t, s, 0, 0).delayed(outcomeOf(t, without, 0, 0)), "\n")
	}
	return wrong
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
