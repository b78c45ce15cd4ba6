package workflows_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	sdkpb "go.temporal.io/api/sdk/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/workflows"
)

// cronStart is when CronJob workflows under test start: half a minute before
// the first run of an every-minute schedule. It is later than the clock of whoever runs
// the tests: the test environment gives a local activity's second attempt a deadline in
// the workflow's time and holds it against that clock, and one in the past is over at once.
var cronStart = time.Date(2126, time.January, 2, 9, 59, 30, 0, time.UTC)

// cronJobKube stands for the API server, and for the Job workflows, behind one
// CronJob workflow.
type cronJobKube struct {
	// mutex is held by the activities: an attempt that timed out may still run
	// when the next one does.
	mutex sync.Mutex

	t           *testing.T
	environment *testsuite.TestWorkflowEnvironment

	requests []cronJobRequest
	suspends []protocol.SetSuspendRequest
	events   []event.Event
	// suspender is what a write of the status answers that says who has suspended or resumed the CronJob.
	suspender string
	// jobs lists the Jobs that were created, children those that a Job workflow
	// was started for.
	jobs     []schedule.Run
	children []protocol.JobInput
	status   ostinatov1.CronJobStatus
	timers   int
	cancels  int

	// runs says how long each run takes, in order; the last counts for all after it.
	runs []time.Duration
	// ends says how runs end; nil is Complete.
	ends func(protocol.JobInput) (job.Result, error)
	// answer, when set, may answer for a CronJob in place of the API server.
	answer func(cronJobRequest) (*cronJobResult, error)
	// judge, when set, answers dry runs of the template.
	judge func() *schedule.Judgement
	// refuseSuspend is the answer to SetSuspend.
	refuseSuspend error
	// stayAwake leaves the object as it is at SetSuspend.
	stayAwake bool
	unmanaged bool
	// believes has the activities take the names that callers' headers name for users'.
	believes bool
	// suspenders are what writes of the status say about who has suspended.
	suspenders []schedule.Suspender
	// noBackfill is why the object takes no backfill.
	noBackfill string
	// object is the spec of the CronJob object, closed how runs have ended.
	object schedule.Spec
	closed map[string]job.Result
	gone   bool
	// created is the creation time of the CronJob object.
	created time.Time
	// found and running are the Jobs that there are when the workflow begins.
	found   []schedule.Finished
	running []schedule.Run
}

func newCronJobKube(t *testing.T) *cronJobKube {
	return newCronJobKubeWith(t, client.MetricsNopHandler, workflows.Options{})
}

// newCronJobKubeWith returns one of a worker with the options, whose workflow's metrics go to
// the handler.
func newCronJobKubeWith(t *testing.T, metrics client.MetricsHandler, options workflows.Options) *cronJobKube {
	environment := newEnvironmentWith(t, metrics, options, protocol.CronJobWorkflow, "cronjob/default/hello")
	environment.SetStartTime(cronStart)
	k := &cronJobKube{t: t, environment: environment, runs: []time.Duration{20 * time.Second}, closed: map[string]job.Result{}, created: cronStart}
	environment.RegisterWorkflowWithOptions(k.job, workflow.RegisterOptions{Name: protocol.JobWorkflow})
	registerCronJobActivities(environment, k.reconcile)
	environment.RegisterActivityWithOptions(k.setSuspend, activity.RegisterOptions{Name: protocol.SetSuspendActivity})
	environment.SetOnTimerScheduledListener(func(string, time.Duration) { k.timers++ })
	environment.SetOnTimerCanceledListener(func(string) { k.cancels++ })
	return k
}

func (k *cronJobKube) reconcile(_ context.Context, request cronJobRequest) (cronJobResult, error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.requests = append(k.requests, request)
	if k.answer != nil {
		if result, err := k.answer(request); result != nil || err != nil {
			if result == nil {
				result = &cronJobResult{}
			}
			return *result, err
		}
	}
	result := cronJobResult{Believes: k.believes}
	if k.gone {
		return cronJobResult{Gone: true}, nil
	}
	if request.Backfill {
		result.NoBackfill = k.noBackfill
		return result, nil
	}
	if !request.All && request.Basis.Overtakes(k.status) {
		return cronJobResult{Overtaken: true}, nil
	}
	if result.Ended = k.ended(request.Look); request.All {
		status := k.status
		result.Created, result.Found, result.Ended, result.Running = k.created, &status, k.found, k.running
	}
	if request.Digest != k.object.Digest() {
		result.CurrentSpec = &k.object
		return result, nil
	}
	if request.Find {
		made := slices.IndexFunc(k.jobs, func(run schedule.Run) bool { return run.Name == request.Start.Name })
		if result.Missing = made < 0; made >= 0 {
			result.Started = &protocol.StartedJob{Run: k.jobs[made], Spec: job.Spec{Parallelism: 1}, Managed: !k.unmanaged}
		}
		return result, nil
	}
	for _, wanted := range request.Deletes {
		if ended := k.ended([]schedule.Run{{Name: wanted.Name, UID: wanted.UID}}); wanted.Replaced && len(ended) > 0 {
			result.Ended = append(result.Ended, ended...)
			request.Status = nil
			continue
		}
		result.Deleted = append(result.Deleted, wanted.Name)
	}
	if request.Judge && k.judge != nil {
		result.Judgement = k.judge()
	}
	if request.Status != nil {
		k.status, result.Suspender = *request.Status, k.suspender
		k.suspenders = append(k.suspenders, request.Suspender)
	}
	if request.Status != nil && result.Judgement != nil {
		k.status = schedule.StatusJudged(k.status, *result.Judgement)
	}
	if start := request.Start; start != nil {
		result.User = k.userOf(start.Caller)
		run := schedule.Run{
			Name: start.Name, UID: fmt.Sprintf("job-%d", len(k.jobs)+1),
			Scheduled: start.Scheduled, Manual: start.Manual, Backfill: start.Backfill, Started: k.environment.Now(),
		}
		k.jobs = append(k.jobs, run)
		if request.Status != nil {
			k.status = schedule.StatusStarted(k.status, run, request.CronJob.Namespace)
			k.status = schedule.StatusRecorded(k.status, *start, run)
		}
		result.Started = &protocol.StartedJob{Run: run, Spec: job.Spec{Parallelism: 1}, Managed: !k.unmanaged}
	}
	k.events = append(k.events, request.Events...)
	return result, nil
}

func (k *cronJobKube) setSuspend(_ context.Context, request protocol.SetSuspendRequest) (protocol.SetSuspendResult, error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.suspends = append(k.suspends, request)
	if k.gone {
		return protocol.SetSuspendResult{Gone: true}, nil
	}
	if request.Basis.Overtakes(k.status) {
		return protocol.SetSuspendResult{Overtaken: true}, nil
	}
	if k.refuseSuspend != nil {
		return protocol.SetSuspendResult{}, k.refuseSuspend
	}
	if !k.stayAwake {
		k.object.Generation++
		k.object.Suspend = request.Suspend
	}
	spec := k.object
	result := protocol.SetSuspendResult{CronJobSpec: &spec}
	if request.Suspend && !request.AfterFailures {
		result.Suspender = &schedule.Suspender{By: request.Note.By, User: k.userOf(request.Caller)}
	}
	return result, nil
}

func (k *cronJobKube) userOf(caller string) string {
	if !k.believes {
		return ""
	}
	return caller
}

// job stands for the Job workflow.
func (k *cronJobKube) job(ctx workflow.Context, input protocol.JobInput) (job.Result, error) {
	k.children = append(k.children, input)
	started := workflow.Now(ctx)
	takes := k.runs[min(len(k.children), len(k.runs))-1]
	if err := workflow.Sleep(ctx, takes); err != nil {
		return job.Result{}, err
	}
	if k.ends != nil {
		return k.ends(input)
	}
	return job.Result{UID: input.Job.UID, Outcome: job.Complete, StartTime: started, CompletionTime: workflow.Now(ctx)}, nil
}

// cron builds a spec with the API's defaults.
func cron(expression string, policy batchv1.ConcurrencyPolicy) schedule.Spec {
	return schedule.Spec{
		Generation: 1, Schedule: expression, TimeZone: ptr.To("UTC"), ConcurrencyPolicy: policy,
		SuccessfulJobsHistoryLimit: 3, FailedJobsHistoryLimit: 1,
	}
}

// after runs an action at a time since the workflow's start.
func (k *cronJobKube) after(delay time.Duration, action func()) *cronJobKube {
	k.environment.RegisterDelayedCallback(action, delay)
	return k
}

// signal sends a signal at a time since the workflow's start.
func (k *cronJobKube) signal(delay time.Duration, name string, argument any) *cronJobKube {
	return k.after(delay, func() { k.send(name, argument) })
}

// send sends a signal after making true what it says.
func (k *cronJobKube) send(name string, argument any) {
	switch said := argument.(type) {
	case protocol.Deleted:
		k.gone = k.gone || said.UID == hello.UID
	case protocol.CronJobSpec:
		if said.CronJob.UID == hello.UID {
			k.object = said.Spec
		}
	}
	k.environment.SignalWorkflow(name, argument)
}

// close ends a run and says so.
func (k *cronJobKube) close(name, uid string, outcome job.Outcome) {
	k.closed[name] = job.Result{UID: uid, Outcome: outcome, CompletionTime: k.environment.Now()}
	k.send(protocol.JobSeenSignal, protocol.JobSeen{CronJobUID: hello.UID, Name: name, UID: uid})
}

// ended answers for runs that are to be looked up.
func (k *cronJobKube) ended(runs []schedule.Run) []schedule.Finished {
	var ended []schedule.Finished
	for _, run := range runs {
		if result, ok := k.closed[run.Name]; ok {
			ended = append(ended, schedule.Finished{
				Run: run, Condition: batchv1.JobConditionType(result.Outcome), StartTime: result.StartTime, CompletionTime: result.CompletionTime,
			})
		}
	}
	return ended
}

// overtake gives the object a later status at a time since the workflow's start, and the workflow a reason to look.
func (k *cronJobKube) overtake(delay time.Duration, revision int64) *cronJobKube {
	return k.after(delay, func() {
		k.mutex.Lock()
		k.status.Revision = revision
		k.mutex.Unlock()
		k.environment.SignalWorkflow(protocol.JobSeenSignal, protocol.JobSeen{CronJobUID: hello.UID, Name: "by-hand", UID: "by-hand"})
	})
}

func (k *cronJobKube) signalSpec(delay time.Duration, spec schedule.Spec) *cronJobKube {
	return k.signal(delay, protocol.CronJobSpecSignal, protocol.CronJobSpec{CronJob: hello, Spec: spec})
}

// runUntil runs the workflow until the CronJob is deleted.
func (k *cronJobKube) runUntil(end time.Duration, spec schedule.Spec) {
	k.t.Helper()
	k.signal(end, protocol.DeletedSignal, protocol.Deleted{UID: hello.UID})
	if err := k.runInput(protocol.CronJobInput{CronJob: hello, Spec: spec}); err != nil {
		k.t.Fatalf("the workflow failed: %v", err)
	}
}

func (k *cronJobKube) runInput(input protocol.CronJobInput) error {
	k.t.Helper()
	if k.object.Schedule == "" {
		k.object = input.Spec
	}
	k.environment.ExecuteWorkflow(protocol.CronJobWorkflow, input)
	if !k.environment.IsWorkflowCompleted() {
		k.t.Fatal("the workflow did not end")
	}
	return k.environment.GetWorkflowError()
}

// continuedAs reads the input of the workflow run that follows.
func (k *cronJobKube) continuedAs(err error) protocol.CronJobInput {
	k.t.Helper()
	var next *workflow.ContinueAsNewError
	if !errors.As(err, &next) {
		k.t.Fatalf("the workflow ended with %v, want continue-as-new", err)
	}
	var input protocol.CronJobInput
	if err := converter.GetDefaultDataConverter().FromPayloads(next.Input, &input); err != nil {
		k.t.Fatalf("read input: %v", err)
	}
	return input
}

// described asks the describe query.
func (k *cronJobKube) described() protocol.CronJobDescription {
	k.t.Helper()
	var description protocol.CronJobDescription
	value, err := k.environment.QueryWorkflow(protocol.DescribeQuery)
	if err == nil {
		err = value.Get(&description)
	}
	if err != nil {
		k.t.Errorf("query: %v", err)
	}
	return description
}

// ledger asks the ledger query.
func (k *cronJobKube) ledger(arguments ...any) protocol.LedgerPage {
	k.t.Helper()
	var page protocol.LedgerPage
	value, err := k.environment.QueryWorkflow(protocol.LedgerQuery, arguments...)
	if err == nil {
		err = value.Get(&page)
	}
	if err != nil {
		k.t.Errorf("query: %v", err)
	}
	return page
}

// details are the current details in the Temporal UI.
func (k *cronJobKube) details() string {
	k.t.Helper()
	var metadata sdkpb.WorkflowMetadata
	value, err := k.environment.QueryWorkflow("__temporal_workflow_metadata")
	if err == nil {
		err = value.Get(&metadata)
	}
	if err != nil {
		k.t.Errorf("query: %v", err)
	}
	return metadata.CurrentDetails
}

// scheduled lists the scheduled times, minutes and seconds, of the Jobs that were
// created; a trigger's with a +.
func (k *cronJobKube) scheduled() []string {
	times := []string{}
	for _, run := range k.jobs {
		text := run.Scheduled.UTC().Format("04:05")
		if run.Manual {
			text = "+" + text
		}
		times = append(times, text)
	}
	return times
}

func (k *cronJobKube) reasons() []string {
	reasons := []string{}
	for _, e := range k.events {
		reasons = append(reasons, e.Reason)
	}
	return reasons
}

func expectList(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}
