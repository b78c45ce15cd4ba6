package histories

import (
	"fmt"
	"time"

	"pgregory.net/rapid"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/schedule"
)

// drawFault draws what goes wrong, mostly close to a time at which a run is due, and a signal that comes after it.
func drawFault(t *rapid.T, s scenario) (drawn []step) {
	minute := rapid.IntRange(2, int(s.Lasts/time.Minute)-1).Draw(t, "goes wrong at")
	at := 30*time.Second + time.Duration(minute)*time.Minute
	due := timesOf(schedule.SpecOf(&ostinatov1.CronJob{Spec: s.Spec}), s.Begins.Add(2*time.Minute), s.Begins.Add(s.Lasts))
	if len(due) > 0 && rapid.IntRange(0, 2).Draw(t, "beside a run") > 0 {
		at = rapid.SampledFrom(due).Draw(t, "due").Sub(s.Begins)
	}
	at += rapid.SampledFrom([]time.Duration{-5 * time.Second, -time.Second, time.Second, 4 * time.Second, 20 * time.Second}).Draw(t, "distance")
	if rapid.IntRange(0, 29).Draw(t, "neighbours") == 29 && len(due) > 0 {
		// Once, and their creates are under way when the CronJob's run is due.
		before := rapid.SampledFrom(due).Draw(t, "due").Add(-time.Minute)
		return []step{faulty(0, crowd{Of: 70, Hangs: 30 * time.Second, Schedule: fmt.Sprintf("%d %d * * *", before.Minute(), before.Hour())})}
	}
	if rapid.IntRange(0, 11).Draw(t, "triggers") == 11 {
		drawn = []step{faulty(at, drawOfTriggers(t)), {At: at + time.Second, Does: "trigger"}}
		if later := rapid.SampledFrom([]time.Duration{0, 3 * time.Second, 20 * time.Second}).Draw(t, "taken back after"); later > 0 {
			// A call under way gives way to a signal, and leaves open whether the Job was made.
			drawn = append(drawn, faulty(at+later, takesBack{}), step{At: at + later + 2*time.Second, Does: "resume"})
		}
		return drawn
	}
	if !s.Believes && rapid.IntRange(0, 11).Draw(t, "forges") == 11 {
		return []step{{At: at, Does: "suspend"}, faulty(at+30*time.Second, forges{})}
	}
	draw := rapid.SampledFrom([]func(*rapid.T, int) fault{
		drawRestore, drawReset, drawEtcd, drawAnew, drawAnswers, drawAnswers, drawAnswers, drawLate, drawSlow, drawDeaf, drawStill, drawRemade,
	}).Draw(t, "fault")
	drawn = append(drawn, faulty(at, draw(t, max(int(at/time.Minute), 2))))
	if signal := rapid.SampledFrom([]string{"", "", "", "suspend", "resume", "trigger"}).Draw(t, "signal"); signal != "" {
		later := rapid.SampledFrom([]time.Duration{time.Second, 3 * time.Second, 8 * time.Second, 25 * time.Second, 90 * time.Second}).Draw(t, "later")
		drawn = append(drawn, step{At: at + later, Does: signal})
	}
	return drawn
}

// drawAgo draws how long ago something was that is restored: a minute up to all that there was.
func drawAgo(t *rapid.T, minute int) time.Duration {
	ago := time.Duration(rapid.IntRange(1, minute).Draw(t, "minutes ago")) * time.Minute
	return ago + rapid.SampledFrom([]time.Duration{0, 7 * time.Second, 31 * time.Second, 59 * time.Second}).Draw(t, "and seconds")
}

func drawRestore(t *rapid.T, minute int) fault { return temporalRestored{drawAgo(t, minute)} }
func drawReset(t *rapid.T, minute int) fault   { return workflowReset{drawAgo(t, minute)} }
func drawEtcd(t *rapid.T, minute int) fault    { return etcdRestored{drawAgo(t, minute-1)} }
func drawAnew(*rapid.T, int) fault             { return begunAnew{} }
func drawRemade(*rapid.T, int) fault           { return madeAgain{} }

var lasts = []time.Duration{5 * time.Second, 20 * time.Second, time.Minute, 3 * time.Minute}

func drawAnswers(t *rapid.T, _ int) fault {
	drawn := answers{
		Kind: rapid.SampledFrom(kinds).Draw(t, "requests"),
		Code: rapid.SampledFrom([]string{"500", "503", "504", "409", "429", "403", "webhook"}).Draw(t, "code"),
		Of:   rapid.SampledFrom([]int{100, 10, 1}).Draw(t, "one in"),
	}
	drawn.Lasts = time.Hour
	if drawn.Of == 1 {
		drawn.Lasts = time.Minute
	}
	if drawn.Code == "webhook" {
		drawn.Kind = "create jobs"
	}
	drawn.Lands = !proves(answerOf(drawn.Code)) && rapid.IntRange(0, 3).Draw(t, "lands") == 3
	return drawn
}

func drawLate(t *rapid.T, _ int) fault {
	return landsLate{After: 30 * time.Second, Lasts: rapid.SampledFrom(lasts).Draw(t, "for")}
}

func drawSlow(t *rapid.T, _ int) fault {
	return slow{
		Kind: rapid.SampledFrom(kinds).Draw(t, "requests"), Of: rapid.SampledFrom([]int{10, 1}).Draw(t, "one in"), Takes: 40 * time.Second,
		Lasts: rapid.SampledFrom(lasts).Draw(t, "for"), Lands: rapid.Bool().Draw(t, "lands"),
	}
}

// drawOfTriggers draws what goes wrong with a trigger alone: each create is answered 500, or one is not, or the write of the status hangs.
func drawOfTriggers(t *rapid.T) fault {
	if hangs := rapid.SampledFrom([]string{"", "update cronjobs/status", triggered}).Draw(t, "hangs"); hangs != "" {
		return slow{Kind: hangs, Of: 1, Takes: 40 * time.Second, Lasts: 5 * time.Second}
	}
	return answers{Kind: triggered, Code: "500", Of: 1, Lasts: rapid.SampledFrom([]time.Duration{time.Minute, 4 * time.Minute, time.Hour}).Draw(t, "for")}
}

func drawDeaf(t *rapid.T, _ int) fault  { return deaf{rapid.SampledFrom(lasts).Draw(t, "for")} }
func drawStill(t *rapid.T, _ int) fault { return standsStill{time.Minute} }
