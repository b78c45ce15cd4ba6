package bridge

import (
	"fmt"
	"path"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/holder"
)

func TestAWorkflowThatEndedBeforeItsJobIsStartedAnew(t *testing.T) {
	w := newWorld(t, standalone(running))
	w.temporal.running[jobID] = "j1"
	w.lead().hears("start " + jobID)

	w.clock.Step(ensurePeriod)
	w.eventually(func() bool { return w.temporal.lookedAt(jobID) == 1 }, "it runs")
	w.temporal.lose(jobID)
	w.clock.Step(ensurePeriod)
	w.hears("start " + jobID)
	assert.Contains(t, <-w.events.Events, "Warning WorkflowRestarted The Job's workflow in Temporal had ended before the Job did")

	// One that ends at once is started again ever more seldom.
	for _, rounds := range []int{2, 3, 6, 12, 24, 30, 30} {
		looks := w.temporal.lookedAt(jobID)
		w.temporal.lose(jobID)
		for range rounds - 1 {
			w.round()
		}
		assert.Equal(t, looks, w.temporal.lookedAt(jobID))
		w.clock.Step(ensurePeriod)
		w.hears("start " + jobID)
		<-w.events.Events
	}
	// And soon again after one that held.
	w.clock.Step(lastRepeat)
	w.eventually(func() bool { w.round(); return w.temporal.lookedAt(jobID) > 8 }, "it runs")
	w.temporal.lose(jobID)
	w.clock.Step(ensurePeriod)
	w.hears("start " + jobID)
}

// round lets a round begin and end that has nobody to look at.
func (w *world) round() {
	w.t.Helper()
	const rounds = "ostinato_bridge_attend_round_duration_seconds"
	before := w.measured(rounds)
	w.clock.Step(ensurePeriod)
	w.eventually(func() bool { return w.measured(rounds) > before }, "a round")
}

func TestWhoIsAttended(t *testing.T) {
	just := func(j *batchv1.Job) { j.CreationTimestamp = *at(100) }
	again := restarts{"j1", 2, after(60)}
	for _, test := range []struct {
		name  string
		job   *batchv1.Job
		known restarts
		now   int
		want  bool
	}{
		{name: "under way", job: standalone(running), now: 100, want: true},
		{name: "under way since a moment", job: standalone(running, just), now: 101, want: true},
		{name: "suspended by its workflow", job: standalone(suspended), now: 100, want: true},
		{name: "not begun, and new: somebody is about to start its workflow", job: standalone(just), now: 159},
		{name: "not begun for long", job: standalone(just), now: 160, want: true},
		{name: "a run under way", job: run("r1", running), now: 100, want: true},
		{name: "finished", job: standalone(complete), now: 100},
		{name: "another controller's", job: standalone(running, foreign), now: 100},
		{name: "restarted a moment ago", job: standalone(running), known: again, now: 119},
		{name: "restarted a while ago", job: standalone(running), known: again, now: 120, want: true},
		{name: "its predecessor was restarted", job: standalone(running), known: restarts{"old", 9, after(99)}, now: 100, want: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, test.want, toEnsure(ownership{}, test.job, test.known, after(test.now)))
		})
	}
}

// The workflow of a Job that has finished ends too, and the cache may hear of the Job
// later.
func TestTheAPIServerConfirmsThatAJobIsUnderWay(t *testing.T) {
	w := newWorld(t, standalone(running))
	w.temporal.running[jobID] = "j1"
	asked := make(chan struct{}, 1000)
	w.native.PrependReactor("get", "jobs", jobReactor(standalone(complete), asked))
	w.lead().hears("start " + jobID)
	w.temporal.lose(jobID)
	w.clock.Step(ensurePeriod)
	<-asked
	w.round()
	w.hears()
}

// While Temporal does not answer, a round ends and the next begins.
func TestARoundIsCutShortByAnOutage(t *testing.T) {
	w := newWorld(t, standalone(running))
	w.temporal.running[jobID] = "j1"
	w.lead().hears("start " + jobID)
	w.temporal.mu.Lock()
	delete(w.temporal.running, jobID)
	w.temporal.failures = 2
	w.temporal.mu.Unlock()
	w.hearsInTime("start " + jobID)
}

// One ID is not worth more than the others: of 500 that were taken, all are taken back.
func TestARoundGoesOnAfterAQuestionThatFails(t *testing.T) {
	w, ids := manyRunning(t, 500)
	for _, id := range ids {
		w.temporal.put(id, holder.Foreign)
	}
	started := func() int {
		// What emits an Event waits for somebody to read it.
		for len(w.events.Events) > 0 {
			<-w.events.Events
		}
		return len(w.temporal.said())
	}
	w.temporal.fail(1)
	w.round()
	w.eventually(func() bool { return started() == 499 }, "all but one are started")
	w.round()
	w.eventually(func() bool { return started() == 500 }, "the last one is started")
}

func TestACronJobThatCanNotBeAskedForHoldsUpNoJob(t *testing.T) {
	w := newWorld(t, cronJob(taken), standalone(running))
	w.temporal.running[reportID], w.temporal.running[jobID] = "c1", "j1"
	w.lead().hears("start "+reportID, "start "+jobID)
	w.temporal.put(reportID, holder.Foreign)
	w.temporal.put(jobID, holder.Foreign)
	w.temporal.fail(1)
	w.round()
	w.hears("start " + jobID)
}

// What asks on in an outage only waits, for each question.
func TestARoundEndsWhenNothingAnswers(t *testing.T) {
	w, _ := manyRunning(t, 500)
	w.temporal.mu.Lock()
	w.temporal.blind = true
	w.temporal.mu.Unlock()
	w.temporal.fail(1000)
	w.round()
	assert.Equal(t, 1000-ensureFailures, w.temporal.fail(0))
}

// manyRunning makes so many Jobs under way, whose workflows run.
func manyRunning(t *testing.T, count int) (w *world, ids []string) {
	t.Helper()
	var jobs []runtime.Object
	for n := range count {
		jobs = append(jobs, standalone(running, func(j *batchv1.Job) {
			j.Name = fmt.Sprintf("many-%04d", n)
			j.UID = types.UID(j.Name)
		}))
		ids = append(ids, fmt.Sprintf("job/shop/many-%04d", n))
	}
	w = newWorld(t, jobs...)
	w.sweepRate = 1e6
	for _, id := range ids {
		w.temporal.running[id] = path.Base(id)
	}
	w.lead()
	w.eventually(func() bool { return len(w.temporal.said()) == count && w.temporal.scanned() }, "the sweep")
	w.temporal.forget()
	return w, ids
}

// What a round asks for does not grow with the Jobs that run.
func TestARoundReadsAListOfManyWorkflows(t *testing.T) {
	w, ids := manyRunning(t, 200)
	lists := w.temporal.lists()
	w.round()
	w.round()
	assert.Equal(t, 2*2, w.temporal.lists()-lists, "pages")
	assert.Equal(t, 2*ensureListed, w.temporal.asked(), "questions")
	assert.Equal(t, 1, w.temporal.lookedAt(ids[0]))
	assert.Equal(t, 1, w.temporal.lookedAt(ids[ensureListed]), "the second round goes on")

	w.temporal.lose(ids[150])
	w.temporal.lose(ids[30])
	w.clock.Step(ensurePeriod)
	w.hears("start "+ids[30], "start "+ids[150])
}

func TestFewWorkflowsAreAskedForOneByOne(t *testing.T) {
	w, _ := manyRunning(t, ensurePageWorth)
	lists := w.temporal.lists()
	w.round()
	assert.Equal(t, lists, w.temporal.lists())
	assert.Equal(t, ensurePageWorth, w.temporal.asked())
}

func TestAWorkflowThatVisibilityTakesForRunningIsFoundInTime(t *testing.T) {
	w, ids := manyRunning(t, 200)
	w.temporal.lose(ids[150])
	w.temporal.mu.Lock()
	w.temporal.ghosts[ids[150]] = true
	w.temporal.mu.Unlock()
	for range 150 / ensureListed {
		w.round()
	}
	w.hears()
	w.clock.Step(ensurePeriod)
	w.hears("start " + ids[150])
}

func TestWithoutVisibilityEveryWorkflowIsAskedFor(t *testing.T) {
	w, ids := manyRunning(t, 200)
	w.temporal.mu.Lock()
	w.temporal.blind = true
	w.temporal.mu.Unlock()
	w.temporal.lose(ids[150])
	w.round()
	w.hears("start " + ids[150])
	assert.Equal(t, 200, w.temporal.asked())
	assert.Equal(t, 1, w.said("could not list the workflows"))
}

// Others' workflows may fill the list: then it is left before it costs more than it
// saves.
func TestALongListOfOthersIsLeft(t *testing.T) {
	due := map[string]key{}
	for n := range 2*ensurePageWorth + 1 {
		due[fmt.Sprint(n)] = jobKey(standalone(running))
	}
	round := newEnsureRound(due)
	pages := 0
	for round.wantsPage() {
		round.read([]string{"somebody's", "else's"})
		pages++
	}
	ids, _ := round.toAsk("")
	assert.Equal(t, 2, pages)
	assert.Len(t, ids, len(due))
}

func TestARoundTakesATenthOfTheSweepsRate(t *testing.T) {
	w := newWorld(t)
	w.sweepRate = 200
	assert.InDelta(t, 20, w.bridge().newController().ensureLimiter.QPS(), 0.001)
}

const reportID = "cronjob/shop/report"

// ensures makes a world that holds a CronJob whose workflow runs.
func ensures(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, cronJob(taken))
	w.temporal.running[reportID] = "c1"
	w.lead().hears("start " + reportID)
	w.round()
	return w
}

func TestTheWorkflowOfACronJobThatWasTerminatedIsStartedAnew(t *testing.T) {
	w := ensures(t)
	w.temporal.lose(reportID)
	w.clock.Step(ensurePeriod)
	w.hears("start " + reportID)
	assert.Contains(t, <-w.events.Events, "Warning WorkflowRestarted The CronJob's workflow in Temporal had ended before the CronJob did")
	// One that ends at once is no hot loop.
	w.temporal.lose(reportID)
	w.round()
	w.hears()
	w.clock.Step(ensurePeriod)
	w.hears("start " + reportID)
}

func TestAForeignWorkflowUnderAnIDOfOursIsReplaced(t *testing.T) {
	w := newWorld(t, cronJob(taken), standalone(running))
	w.temporal.running[reportID], w.temporal.running[jobID] = "c1", "j1"
	w.lead().hears("start "+reportID, "start "+jobID)
	w.round()
	w.temporal.put(reportID, holder.Foreign)
	w.temporal.put(jobID, holder.Foreign)
	w.clock.Step(ensurePeriod)
	w.hears("start "+reportID, "start "+jobID)
	said := []string{<-w.events.Events, <-w.events.Events}
	slices.Sort(said)
	assert.Contains(t, said[0], "Warning WorkflowReplaced Another workflow ran in Temporal under the ID of the CronJob's")
	assert.Contains(t, said[1], "Warning WorkflowReplaced Another workflow ran in Temporal under the ID of the Job's")
	assert.InDelta(t, 1, w.measured("ostinato_bridge_messages_total", "cronjob-start", "foreign"), 0)
	assert.InDelta(t, 1, w.measured("ostinato_bridge_messages_total", "job-start", "foreign"), 0)
}

func TestThePausedWorkflowOfACronJobIsLeftAndSaid(t *testing.T) {
	w := ensures(t)
	pausedNow := func() metav1.ConditionStatus {
		if found := meta.FindStatusCondition(w.cronJobs.Stored("shop", "report").Status.Conditions, ostinatov1.ConditionWorkflowPaused); found != nil {
			return found.Status
		}
		return ""
	}
	assert.Empty(t, pausedNow())
	w.temporal.put(reportID, holder.Paused)
	w.round()
	w.eventually(func() bool { return pausedNow() == metav1.ConditionTrue }, "the condition is True")
	assert.Contains(t, <-w.events.Events, "Warning WorkflowPaused The workflow cronjob/shop/report is paused in Temporal")
	assert.InDelta(t, 1, w.measured("ostinato_bridge_paused_workflows", "CronJob"), 0)
	w.round()
	assert.Empty(t, w.events.Events, "it is said once")

	w.temporal.put(reportID, "")
	w.round()
	w.eventually(func() bool { return pausedNow() == metav1.ConditionFalse }, "the condition is False")
	assert.Zero(t, w.measured("ostinato_bridge_paused_workflows", "CronJob"))
	w.hears()
}

// TestACronJobIsNotReadyWhileItsWorkflowIsPaused: the worker, whose condition Ready is, can't say so.
func TestACronJobIsNotReadyWhileItsWorkflowIsPaused(t *testing.T) {
	ready := func(c *ostinatov1.CronJob) {
		for kind, reason := range map[string]string{ostinatov1.ConditionScheduleValid: "ScheduleParsed", ostinatov1.ConditionReady: "Scheduled"} {
			meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{
				Type: kind, Status: metav1.ConditionTrue, Reason: reason, LastTransitionTime: *at(1), ObservedGeneration: 1,
			})
		}
	}
	w := newWorld(t, cronJob(taken, ready))
	w.temporal.running[reportID] = "c1"
	w.lead().hears("start " + reportID)
	now := func() metav1.Condition {
		return *meta.FindStatusCondition(w.cronJobs.Stored("shop", "report").Status.Conditions, ostinatov1.ConditionReady)
	}
	w.temporal.put(reportID, holder.Paused)
	w.round()
	w.eventually(func() bool { return now().Status == metav1.ConditionFalse }, "it is not Ready")
	assert.Equal(t, "WorkflowPaused", now().Reason)
	assert.Contains(t, now().Message, "temporal workflow unpause --workflow-id cronjob/shop/report")
	assert.Contains(t, <-w.events.Events, "Warning WorkflowPaused")

	// An activity that was under way has written the worker's own word.
	stored := w.cronJobs.Stored("shop", "report").DeepCopy()
	ready(stored)
	w.put(stored)
	w.eventually(func() bool { return now().Status == metav1.ConditionFalse }, "it is not Ready again")

	// To the fake API server a list is atomic: the bridge's apply has taken the other conditions away.
	stored = w.cronJobs.Stored("shop", "report").DeepCopy()
	said := now()
	ready(stored)
	meta.SetStatusCondition(&stored.Status.Conditions, said)
	w.put(stored)
	w.temporal.put(reportID, "")
	w.round()
	w.eventually(func() bool { return now().Status == metav1.ConditionTrue }, "it is Ready")
	assert.Equal(t, "Scheduled", now().Reason)
	assert.Empty(t, w.events.Events)
	w.hears()
}

// Two conditions are the bridge's: writing one of them takes the other not away.
func TestAPausedWorkflowAndANamesakeAreSaidTogether(t *testing.T) {
	w := newWorld(t, cronJob(taken), native(nativeTaken))
	w.temporal.running[reportID] = "c1"
	w.temporal.put(reportID, holder.Paused)
	w.lead()
	w.eventually(func() bool { return w.nativeActive() == metav1.ConditionTrue }, "the namesake is said")
	w.round()
	conditions := func() []metav1.Condition { return w.cronJobs.Stored("shop", "report").Status.Conditions }
	w.eventually(func() bool { return meta.IsStatusConditionTrue(conditions(), ostinatov1.ConditionWorkflowPaused) }, "the pause is said")
	assert.True(t, meta.IsStatusConditionTrue(conditions(), ostinatov1.ConditionNativeCronJobActive))
}

func TestThePausedWorkflowOfAJobIsLeftAndSaid(t *testing.T) {
	w := newWorld(t, standalone(running))
	w.temporal.running[jobID] = "j1"
	w.lead().hears("start " + jobID)
	w.temporal.put(jobID, holder.Paused)
	w.round()
	assert.Contains(t, <-w.events.Events, "Warning WorkflowPaused The workflow job/shop/")
	assert.InDelta(t, 1, w.measured("ostinato_bridge_paused_workflows", "Job"), 0)
	w.round()
	assert.Empty(t, w.events.Events)
	w.putJob(standalone(complete))
	w.eventually(func() bool { w.round(); return w.measured("ostinato_bridge_paused_workflows", "Job") == 0 }, "it counts no more")
	w.hears()
}

// Visibility knows of a pause later, and of a pin never.
func TestAListDoesNotSayThatAPausedWorkflowGoesOn(t *testing.T) {
	w, ids := manyRunning(t, 200)
	w.temporal.put(ids[0], holder.Paused)
	w.round()
	assert.InDelta(t, 1, w.measured("ostinato_bridge_paused_workflows", "Job"), 0)
	w.temporal.mu.Lock()
	w.temporal.ghosts[ids[0]] = true
	w.temporal.mu.Unlock()
	w.round()
	assert.InDelta(t, 1, w.measured("ostinato_bridge_paused_workflows", "Job"), 0)
	w.temporal.put(ids[0], "")
	w.round()
	assert.Zero(t, w.measured("ostinato_bridge_paused_workflows", "Job"))
}

// The condition that an earlier leader wrote goes when a round has seen the workflow run, not before.
func TestAnEarlierLeadersWordOfAPauseHoldsUntilSomebodyLooks(t *testing.T) {
	known := func(c *ostinatov1.CronJob) {
		c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{
			Type: ostinatov1.ConditionWorkflowPaused, Status: metav1.ConditionTrue, Reason: pausedReason, LastTransitionTime: *at(1),
		})
	}
	w := newWorld(t, cronJob(taken, known))
	w.temporal.running[reportID] = "c1"
	w.lead().hears("start " + reportID)
	conditions := func() []metav1.Condition { return w.cronJobs.Stored("shop", "report").Status.Conditions }
	assert.True(t, meta.IsStatusConditionTrue(conditions(), ostinatov1.ConditionWorkflowPaused))
	w.round()
	w.eventually(func() bool { return meta.IsStatusConditionFalse(conditions(), ostinatov1.ConditionWorkflowPaused) }, "the condition is False")
	assert.Empty(t, w.events.Events)
}
