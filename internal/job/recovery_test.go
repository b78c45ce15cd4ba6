package job_test

import (
	"testing"
	"time"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
)

func TestRefusedCreateIsRepeatedWithItsName(t *testing.T) {
	c := newCluster(t, specOf(1, 1))
	c.refuseCreates = 8
	c.settle()
	equal(t, "status is written nevertheless", counts(c.status), [5]int32{0, 0, 0, 0, 0})
	equal(t, "startTime set", c.status.StartTime != nil, true)
	for _, seconds := range []int{1, 2, 4, 8, 16, 32, 60, 60} {
		equal(t, "wake", c.wake, job.Wake{At: c.now.Add(time.Duration(seconds) * time.Second), Reason: job.WakeCreateRetry})
		c.pass(time.Duration(seconds) * time.Second).settle()
	}
	equal(t, "status", counts(c.status), [5]int32{1, 0, 0, 0, 0})
	for _, create := range c.creates {
		equal(t, "create", create, c.creates[0])
	}
}

func TestEditEndsTheDelayOfRefusals(t *testing.T) {
	c := newCluster(t, specOf(1, 1))
	c.refuseCreates = 1
	c.settle()
	c.edit(func(*job.Spec) {})
	c.settle()
	equal(t, "active", c.status.Active, 1)
}

func TestTakenNameIsGivenUp(t *testing.T) {
	c := newCluster(t, specOf(1, 1))
	plan := job.Decide(c.state, c.spec, c.now)
	report := job.Report{CreateRefused: "already exists", NameTaken: true}
	c.state = job.Apply(plan, report, c.now)
	c.pass(time.Second).settle()
	equal(t, "attempt", c.creates[0].Attempt, 2)
}

func TestPodWhoseCreateWasLostIsTakenIn(t *testing.T) {
	c := newCluster(t, specOf(2, 2))
	c.refuseCreates, c.loseCreates = 1, true
	c.settle().deliver().settle()
	equal(t, "active", c.status.Active, 1)
	c.pass(time.Second).settle()
	equal(t, "Pods", len(c.pods), 2)
	equal(t, "active", c.status.Active, 2)
}

func TestRefusedStatusHoldsBackReleasesAndEvents(t *testing.T) {
	c := newCluster(t, specOf(1, 1)).settle().succeed(1).deliver()
	c.refuseStatus = 1
	c.settle()
	equal(t, "still tracked", c.pods[0].tracked, true)
	equal(t, "Events", c.reasons(), []string{})
	equal(t, "wake", c.wake, job.Wake{At: c.now.Add(time.Second), Reason: job.WakeStatusRetry})
	c.pass(time.Second).settle()
	equal(t, "outcome", c.finished.Outcome, job.Complete)
	equal(t, "Events", c.reasons(), []string{"Completed"})
}

// TestPodsAreListedEachHour: PodWatch may be paused, and then no fact comes.
func TestPodsAreListedEachHour(t *testing.T) {
	c := newCluster(t, specOf(2, 2)).settle().deliver().settle()
	for range 3 {
		equal(t, "wake", c.wake.Reason, job.WakeList)
		equal(t, "after", c.wake.At.Sub(c.now).Round(time.Minute), time.Hour)
		c.pass(time.Hour).settle()
	}
	c.succeed(2)
	c.mailbox = nil
	c.pass(time.Hour).settle()
	equal(t, "outcome", c.finished.Outcome, job.Complete)
}

// TestNamesOfOthersAreNotAttempts: kube-controller-manager's names are random, and some
// of them read like one that Ostinato made.
func TestNamesOfOthersAreNotAttempts(t *testing.T) {
	c := newCluster(t, specOf(3, 9)).settle().succeed(1).deliver().settle()
	c.vanish(c.pods[0])
	stranger := c.adopt(nil)
	stranger.name, c.mailbox = c.pods[0].name, nil
	c.endWell(stranger)
	c.deliver().settle()
	equal(t, "the stranger counts", c.status.Succeeded, 2)

	other := c.adopt(nil)
	other.name = names.Pod("work", "uid-1", 1_000_000)
	c.restart()
	equal(t, "attempts after the workflow was lost", c.state.Attempts, 4)
}

func TestReconstructGoesOnWhereTheStatusIs(t *testing.T) {
	c := newCluster(t, specOf(2, 5)).settle().succeed(1).deliver().settle().run(1).fail(1).deliver().settle().pass(10 * time.Second).settle()
	before := c.status
	c.succeed(1) // ended while there was no workflow
	c.mailbox = nil
	c.restart().settle()
	equal(t, "before", counts(before), [5]int32{2, 0, 0, 1, 1})
	equal(t, "after", counts(c.status), [5]int32{2, 0, 0, 2, 1})
	equal(t, "startTime", c.status.StartTime.Equal(before.StartTime), true)
	c.runToTheEnd()
	c.checkEnd()
}

func TestReconstructOfAFinishedJobReleasesItsPods(t *testing.T) {
	c := newCluster(t, specOf(1, 1)).settle().succeed(1).deliver().settle()
	c.finished = nil
	c.pods[0].tracked = true
	writes := len(c.writes)
	c.restart().settle()
	equal(t, "finalizer kept", c.pods[0].tracked, false)
	equal(t, "writes", len(c.writes), writes)
	equal(t, "succeeded", c.finished.Succeeded, 1)
}

func TestReconstructDoesNotCountPodsTwice(t *testing.T) {
	c := newCluster(t, specOf(2, 2)).settle().run(2)
	c.delete(c.pods[0]) // counted as failed and released while it terminates
	c.deliver().settle()
	equal(t, "before", counts(c.status), [5]int32{1, 0, 1, 0, 1})
	c.restart().settle().drain().deliver().settle()
	equal(t, "after", counts(c.status), [5]int32{2, 0, 0, 0, 1})
}

// A State that a workflow takes over is the Job's that it names, and has nothing wait for a time that is out of reach.
func TestAStateThatIsTakenOverWaitsForNoForgedTime(t *testing.T) {
	never := time.Date(9998, time.January, 1, 0, 0, 0, 0, time.UTC)
	soon := start.Add(time.Minute)
	state := job.State{
		Namespace: "others", Name: "others", UID: "others", Backoff: job.Backoff{Failures: 1, Last: never},
		Indexes: job.IndexRecords{{Index: 0, Last: start}, {Index: 1, Last: never}},
		Pods:    []job.Pod{{Retry: job.Retry{Until: soon}}, {Retry: job.Retry{Until: never}}},
		Late:    never, Taken: never,
	}
	taken := job.Resume(state, "default", "work", "uid-1", start)
	equal(t, "whose it is", [3]string{taken.Namespace, taken.Name, taken.UID}, [3]string{"default", "work", "uid-1"})
	equal(t, "the last failure", taken.Backoff.Last.Equal(start), true)
	equal(t, "the last failures of indexes", [2]bool{taken.Indexes[0].Last.Equal(start), taken.Indexes[1].Last.Equal(start)}, [2]bool{true, true})
	equal(t, "the Pods' retries", [2]bool{taken.Pods[0].Retry.Until.Equal(soon), taken.Pods[1].Retry.Until.Equal(start.Add(job.DefaultBackoffCap))}, [2]bool{true, true})
	equal(t, "what may land", [2]time.Time{taken.Late, taken.Taken}, [2]time.Time{start.Add(40 * time.Second), start.Add(40 * time.Second)})
	equal(t, "the state that is taken over is as it was", state.Backoff.Last.Equal(never) && state.Pods[1].Retry.Until.Equal(never), true)
}
