package workflows

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/utils/ptr"

	"go.temporal.io/sdk/workflow"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// cronJob is the workflow of one CronJob object. It sleeps until the next scheduled time, asks the planner and
// carries out the plan, until the object is gone. Cancelling it stops nothing: it emits an Event and continues as new.
// It returns an error only to continue as new, and for an input that Ostinato does not send. The input is a pointer: a
// waiting workflow keeps a copy of a value for each frame of its stack.
func (o *Options) cronJob(ctx workflow.Context, input *protocol.CronJobInput) error {
	// A missing input is not valid.
	input = cmp.Or(input, new(protocol.CronJobInput))
	if err := valid(ctx, input.CronJob.CronJobWorkflowID(o.Cluster), input); err != nil {
		return err
	}
	ctx = inOrder(ctx, o.Weights, input.CronJob.Namespace)
	// A cancellation does not interrupt what is under way.
	cancelled := ctx
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	c := newCronJob(ctx, o, input)
	c.cancelled = func() bool { return cancelled.Err() != nil }
	if err := cmp.Or(
		workflow.SetQueryHandlerWithOptions(ctx, protocol.DescribeQuery, c.describe, describes),
		workflow.SetQueryHandlerWithOptions(ctx, protocol.LedgerQuery, c.ledger, workflow.QueryHandlerOptions{
			Description: `What became of each scheduled time: {"limit": number, "since": time, "until": time}`,
		}),
		c.handleBackfills(ctx),
		c.handleTriggers(ctx),
		c.handleImports(ctx),
	); err != nil {
		return fmt.Errorf("set query and update handlers of CronJob %s/%s: %w", c.reference.Namespace, c.reference.Name, err)
	}
	offer(ctx, protocol.SuspendSignal, protocol.ResumeSignal, protocol.TriggerSignal)
	return c.run(ctx)
}

// describes are the options of the query that both kinds of workflows answer.
var describes = workflow.QueryHandlerOptions{Description: "All that the workflow knows of its object"}

// runningCronJob is a running CronJob workflow.
type runningCronJob struct {
	object[protocol.CronJobInput]
	options *Options
	// searchAttributes and statusAttributes say which search attributes the Temporal namespace has.
	searchAttributes, statusAttributes bool

	// spec and state are what the planner works on.
	spec  schedule.Spec
	state schedule.State

	// looks are runs that are said to have started or ended.
	looks []schedule.Run
	// asked is what updates have asked for. The main loop does it: it replaces the state, and their handlers run beside it.
	// askedBackfills are the times of the backfills that it adds.
	asked          []func(now time.Time)
	askedBackfills [][]time.Time
	// children are the runs whose Job workflows this workflow run has started.
	children []*childRun
	// runsEnded says that runs have ended since the search attributes were set.
	runsEnded bool
	// unread says that the object's status and Jobs are still to be read; overtaken, that they are later than the state.
	unread, overtaken bool
	// reset says that Temporal has begun the workflow again, and that the object was not read since. Whether a read came after the
	// point of the reset, its answer tells: a replay of what came before the point has to do what was done then.
	reset bool
	// dropped counts how often what was heard was dropped.
	dropped int
	// behind follows looks and statuses that failed, or ran out of time: starts go on.
	behind backoff
	// toldAgain is the failure for which the status was written again, since the object was not suspended with the
	// status that it has.
	toldAgain time.Time

	// cancelled reports whether this workflow run was cancelled, answered whether the Event about that is in the state.
	cancelled func() bool
	answered  bool
}

func newCronJob(ctx workflow.Context, options *Options, input *protocol.CronJobInput) *runningCronJob {
	reference := input.CronJob
	identity := schedule.Identity{Namespace: reference.Namespace, Name: reference.Name, UID: reference.UID}
	state := schedule.State{Identity: identity}
	if input.State != nil {
		state = schedule.Resume(*input.State, identity, workflow.Now(ctx))
	}
	state = schedule.AddTriggers(state, input.Triggers, workflow.Now(ctx))
	info := workflow.GetInfo(ctx)
	reset := info.OriginalRunID != "" && info.OriginalRunID != info.WorkflowExecution.RunID
	return &runningCronJob{
		object: object[protocol.CronJobInput]{
			reference: reference,
			mailbox:   mailboxOf(ctx),
			unknown:   input.Unknown,
			stale:     input.State != nil,
			wishes:    input.Wishes,
		},
		options:          options,
		searchAttributes: input.SearchAttributes,
		statusAttributes: input.StatusAttributes,
		spec:             input.Spec,
		state:            state,
		unread:           input.State == nil,
		reset:            reset,
		looks:            input.Looks,
	}
}

// begin reads the object's status and Jobs: the workflow is new, or another one ran in its place, or it was restored. Its error
// says to continue as new, since the object could not be read for long.
func (c *runningCronJob) begin(ctx workflow.Context) error {
	for c.unread && !c.gone {
		if schedule.Contested(c.state, workflow.Now(ctx)) {
			// What is read is to be new when it is acted upon, so the pause comes before. There is no error, as below.
			_, _ = workflow.AwaitWithTimeout(ctx, contestedPause, func() bool { return c.mailbox.holds(ends...) })
		}
		c.find(ctx)
		if !c.unread {
			break
		}
		if !c.gone && workflow.GetInfo(ctx).GetCurrentHistoryLength() > cronJobHistoryBudget {
			c.receiveSignals(ctx)
			if c.mayContinueAsNew(ctx) {
				return c.continueAsNew(ctx)
			}
		}
		// The only error is that of a cancelled context, which this one never is.
		_ = workflow.Sleep(ctx, max(c.pause.until.Sub(workflow.Now(ctx)), 0))
	}
	return nil
}

// unreadable waits until the object was read, and says why an update can't be carried out: the object can't be read at present, or what
// was heard before was dropped, since a reset has Temporal send updates again that were carried out.
func (c *runningCronJob) unreadable(ctx workflow.Context) (why string, err error) {
	dropped := c.dropped
	err = workflow.Await(ctx, func() bool { return !c.unread || c.gone || c.pause.failures > 0 })
	if c.unread && !c.gone {
		return whyUnreadable, err
	}
	if c.dropped != dropped {
		return askAgain, err
	}
	return "", err
}

func (c *runningCronJob) find(ctx workflow.Context) {
	request := protocol.FindRunsRequest{CronJob: c.reference, Digest: digest(c.spec), All: true, Reset: c.reset}
	result, err := perform(ctx, findRuns, "find the jobs of "+c.reference.Name, request, callOptions{})
	switch {
	case err != nil:
		c.pause.failed(ctx, "Looking for the CronJob's Jobs failed", err)
		return
	case result.Gone:
		c.gone = true
		return
	case result.CurrentSpec != nil && result.CurrentSpec.Validate() != nil:
		c.pause.failed(ctx, "The CronJob can't be planned with", errUnusableSpec)
		return
	case result.Created.IsZero():
		c.pause.failed(ctx, "The CronJob can't be planned with", errNoCreation)
		return
	}
	c.pause.reset()
	generation := c.spec.Generation
	if result.Reset {
		c.isOvertaken(ctx)
		c.reset, generation = false, schedule.GenerationOfReset
	}
	c.unread = false
	identity := schedule.Identity{Namespace: c.reference.Namespace, Name: c.reference.Name, UID: c.reference.UID, Created: result.Created}
	status := ptr.Deref(result.Status, ostinatov1.CronJobStatus{})
	read := schedule.NewState(identity, status, c.state.Ledger, result.Ended)
	c.beginAnew(ctx, read, status, generation, cmp.Or(result.CurrentSpec, &c.spec))
	result.Ended = slices.DeleteFunc(result.Ended, func(ended schedule.Finished) bool { return !ended.Gone() })
	c.takeFound(ctx, result)
}

// isOvertaken notes that the object has a later status than the state. What has been sent until now is heard with the rest, which
// beginAnew drops: Temporal sends the signals again that came after the point to which the workflow was reset.
func (c *runningCronJob) isOvertaken(ctx workflow.Context) {
	c.unread, c.overtaken = true, true
	c.receiveSignals(ctx)
}

// beginAnew takes the state that was read from the object, and its spec, in place of a state of a generation that it has overtaken.
func (c *runningCronJob) beginAnew(
	ctx workflow.Context, read schedule.State, status ostinatov1.CronJobStatus, generation int64, spec *schedule.Spec,
) {
	if !c.overtaken {
		read = read.AfterAnother(workflow.Now(ctx))
		c.state, c.spec = schedule.AddTriggers(read, schedule.Untried(c.state), workflow.Now(ctx)), *spec
		return
	}
	var heard []string
	for _, wish := range c.wishes {
		heard = append(heard, "the signal "+wish.Signal())
	}
	for range c.asked {
		heard = append(heard, "an update")
	}
	anew := schedule.BeginAnew(c.state, read, status, generation, heard, workflow.Now(ctx))
	c.state, c.overtaken = anew.State, false
	if !anew.Dropped {
		// The status is not of the edit: its times are those of the spec before.
		c.applyObject(ctx, false, spec)
	}
	c.spec = *spec
	if anew.Dropped {
		// What waits in the history was carried out before Temporal was restored, or the workflow was reset.
		c.stale, c.looks, c.wishes, c.asked, c.askedBackfills = false, nil, nil, nil, nil
		c.dropped++
	}
	workflow.GetLogger(ctx).Warn("The CronJob has a later status than the workflow", "revision", status.Revision, "dropped", anew.Dropped)
}

// contestedPause is how long the workflow waits where others write the status again and again.
const contestedPause = 30 * time.Second

// run is the main loop. Thousands of workflows wait at a time, so act returns its stack before the wait.
func (c *runningCronJob) run(ctx workflow.Context) error {
	for {
		rest, done, err := c.act(ctx)
		if done {
			return err
		}
		if rest.reason != "" {
			c.wait(ctx, rest)
		}
	}
}

// rest says until when to wait, and for what; an empty reason means not to wait.
type rest struct {
	wake   time.Time
	reason string
}

// act handles what was received and carries out at most one plan. done says that the workflow is over.
func (c *runningCronJob) act(ctx workflow.Context) (_ rest, done bool, err error) {
	if c.unread {
		if err := c.begin(ctx); err != nil {
			return rest{}, true, err
		}
	}
	c.hear(ctx)
	if c.unread && !c.gone {
		return rest{}, false, nil
	}
	c.answerCancellation(ctx)
	now := workflow.Now(ctx)
	switch {
	case c.gone:
		return rest{}, true, c.finish(ctx)
	case !c.pause.over(now):
		return c.quiet(ctx, rest{c.pause.until, "retry"})
	}
	c.state = c.evaluated(ctx, c.state, now)
	plan := schedule.Decide(c.state, c.spec, now)
	idle := plan.Idle()
	if idle {
		c.state = plan.Next
		c.tally(ctx)
	}
	behind := !c.behind.over(now)
	if idle || behind && plan.Start == nil {
		if due, ok := schedule.Ahead(plan.Next, c.spec, now); ok {
			// It is time to prepare the next run: the activity waits for its time. The evaluation is kept only if the plan
			// is carried out.
			if ahead, ok := schedule.DecideAhead(c.evaluated(ctx, c.state, due), c.spec, due); ok {
				plan = ahead
			}
		}
	}
	switch {
	case plan.Start != nil && !(behind && plan.Start.Manual):
		c.startRun(ctx, plan)
	case behind:
		return c.quiet(ctx, rest{c.behindUntil(now, plan), "retry"})
	case plan.Pause:
		c.pauseAfterFailures(ctx)
	case !plan.Idle():
		c.writeStatus(ctx, plan)
	default:
		return c.quiet(ctx, rest{plan.Wake, plan.WakeFor})
	}
	return rest{}, false, nil
}

// quiet waits, or continues as new: a failed call leaves the state as it was.
func (c *runningCronJob) quiet(ctx workflow.Context, until rest) (_ rest, done bool, err error) {
	if !c.mayContinueAsNew(ctx) {
		return until, false, nil
	}
	if c.childrenPending() {
		// No later workflow run hears of them.
		return rest{}, false, nil
	}
	return rest{}, true, c.continueAsNew(ctx)
}

// evaluated returns the state with scheduled times, recorded anew if they ran out: every replay has the same.
func (c *runningCronJob) evaluated(ctx workflow.Context, state schedule.State, now time.Time) schedule.State {
	if !schedule.NeedsEvaluation(state, c.spec, now) {
		return state
	}
	evaluation := workflow.SideEffect(ctx, func(workflow.Context) any {
		evaluation := schedule.Evaluate(c.spec, state, now)
		evaluation.Lead = c.options.StartLead
		return evaluation
	})
	return schedule.Take(state, c.spec, schedule.Evaluation(recorded[protocol.Evaluation](evaluation)))
}

// answerCancellation emits an Event that says what a cancellation does.
func (c *runningCronJob) answerCancellation(ctx workflow.Context) {
	if !c.cancelled() || c.answered {
		return
	}
	c.answered = true
	c.state = schedule.Announce(c.state, event.Warning(event.WorkflowCancelled,
		"The CronJob's workflow in Temporal was cancelled, which does not stop the CronJob; to stop it, set spec.suspend or delete it"))
	workflow.GetLogger(ctx).Warn("Cancelled; the CronJob is there, so its workflow goes on")
}

// wait blocks until the wake is due, a signal arrives, a run starts or ends, or the workflow is cancelled.
func (c *runningCronJob) wait(ctx workflow.Context, until rest) {
	workflow.SetCurrentDetails(ctx, c.details())
	c.alarm.set(ctx, until.wake, until.reason)
	// As in begin, there is no error.
	_ = workflow.Await(ctx, func() bool {
		return c.mailbox.pending() || c.childrenPending() || c.alarm.ringing() || len(c.asked) > 0 || c.cancelled() && !c.answered
	})
}

// cronJobHistoryBudget is the number of events after which a CronJob workflow continues as new if no child runs; at
// twice that it does not wait for them.
const cronJobHistoryBudget = 1000

// mayContinueAsNew reports whether this is a quiet point at which to continue as new: what is unhandled can be carried
// over, and no child is being started. A cancelled run takes the first one: Temporal accepts no second cancellation.
func (c *runningCronJob) mayContinueAsNew(ctx workflow.Context) bool {
	info := workflow.GetInfo(ctx)
	suggested, length := info.GetContinueAsNewSuggested() || c.answered, info.GetCurrentHistoryLength()
	if !suggested && length <= cronJobHistoryBudget {
		return false
	}
	for _, child := range c.children {
		if !child.accepted || (!suggested && length <= 2*cronJobHistoryBudget) {
			return false
		}
	}
	return !c.mailbox.pending() && len(c.asked) == 0 && c.successor == nil && workflow.AllHandlersFinished(ctx)
}

// continueAsNew goes on in a new workflow run, which hears of the ends of active runs by signal.
func (c *runningCronJob) continueAsNew(ctx workflow.Context) error {
	input := protocol.CronJobInput{
		CronJob:          c.reference,
		Spec:             c.spec,
		SearchAttributes: c.searchAttributes,
		StatusAttributes: c.statusAttributes,
		Wishes:           c.wishes,
		Looks:            c.looks,
		Unknown:          c.unknown,
	}
	if c.unread && !c.overtaken && !c.reset {
		input.Triggers = schedule.Untried(c.state)
	} else {
		input.State = new(c.state.Bounded())
	}
	return workflow.NewContinueAsNewError(ctx, protocol.CronJobWorkflow, input)
}

// finish ends the workflow of an object that is gone, or continues with the object that took its name, and with what was asked
// of that. Jobs that run are left to the garbage collector.
func (c *runningCronJob) finish(ctx workflow.Context) error {
	// Pending updates get their answers.
	_ = workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) })
	if c.receive(ctx); c.successor == nil {
		return nil
	}
	successor := *c.successor
	successor.Wishes, successor.Triggers = c.wishes, schedule.Untried(c.state)
	return workflow.NewContinueAsNewError(ctx, protocol.CronJobWorkflow, successor)
}
