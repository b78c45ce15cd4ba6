package bridge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/api/serviceerror"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"ostinato.dev/ostinato/internal/holder"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/starts"
	"ostinato.dev/ostinato/internal/testing/fake"
)

// listPage is how many workflows a page of a list has.
const listPage = 100

// fakeTemporal knows which workflows run, by ID and their object's UID, and
// records what it is told.
type fakeTemporal struct {
	mu      sync.Mutex
	running map[string]string
	// began is when workflows started; zero is long ago.
	began  map[string]time.Time
	calls  []string
	inputs []any
	// failures is how many of the next calls fail.
	failures int
	// held are workflows. Every message to one waits until its channel is closed.
	held map[string]chan struct{}
	// inside is how many messages are under way to a workflow, crowd the most there were.
	inside map[string]int
	crowd  int
	// looks is how often a workflow was asked for.
	looks map[string]int
	// blind makes lists fail, ghosts are listed and do not run, pages counts what was
	// read of lists.
	blind  bool
	ghosts map[string]bool
	pages  int
	// readThrough are lists that were read to their end.
	readThrough int
	// described is what Jobs' workflows say of themselves.
	described map[string]JobWorkflow
	// standing is that of what runs under an ID, where it is not ours.
	standing map[string]holder.Standing
}

func newFakeTemporal() *fakeTemporal {
	return &fakeTemporal{
		running: map[string]string{}, began: map[string]time.Time{}, held: map[string]chan struct{}{}, inside: map[string]int{}, looks: map[string]int{}, ghosts: map[string]bool{}, described: map[string]JobWorkflow{}, standing: map[string]holder.Standing{},
	}
}

// hold makes every message to a workflow wait until it is let go.
func (f *fakeTemporal) hold(workflowID string) (letGo func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	gate := make(chan struct{})
	f.held[workflowID] = gate
	return func() {
		f.mu.Lock()
		delete(f.held, workflowID)
		f.mu.Unlock()
		close(gate)
	}
}

// enter is the beginning of a message, leave its end.
func (f *fakeTemporal) enter(workflowID string) (leave func()) {
	f.mu.Lock()
	f.inside[workflowID]++
	f.crowd = max(f.crowd, f.inside[workflowID])
	gate := f.held[workflowID]
	f.mu.Unlock()
	if gate != nil {
		<-gate
	}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.inside[workflowID]--
	}
}

// underWay is how many messages there are to a workflow now.
func (f *fakeTemporal) underWay(workflowID string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.inside[workflowID]
}

// most is how many messages there were to one workflow at a time.
func (f *fakeTemporal) most() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.crowd
}

func (f *fakeTemporal) record(format string, arguments ...any) error {
	if f.failures > 0 {
		f.failures--
		return serviceerror.NewUnavailable("down")
	}
	f.calls = append(f.calls, fmt.Sprintf(format, arguments...))
	return nil
}

func (f *fakeTemporal) Start(_ context.Context, start starts.Start) (bool, error) {
	defer f.enter(start.ID)()
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.record("start %s", start.ID); err != nil {
		return false, err
	}
	if _, running := f.running[start.ID]; running {
		return true, nil
	}
	f.begin(start)
	return false, nil
}

func (f *fakeTemporal) SignalWithStart(_ context.Context, start starts.Start, signal Signal) error {
	defer f.enter(start.ID)()
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.record("signal-with-start %s %s", start.ID, describe(signal)); err != nil {
		return err
	}
	f.begin(start)
	return nil
}

func (f *fakeTemporal) begin(start starts.Start) {
	f.inputs = append(f.inputs, start.Input)
	switch input := start.Input.(type) {
	case protocol.CronJobInput:
		f.running[start.ID] = input.CronJob.UID
	case protocol.JobInput:
		f.running[start.ID] = input.Job.UID
	}
}

func (f *fakeTemporal) Signal(_ context.Context, workflowID string, signal Signal) (bool, error) {
	defer f.enter(workflowID)()
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.record("signal %s %s", workflowID, describe(signal)); err != nil {
		return false, err
	}
	uid, running := f.running[workflowID]
	if gone, ok := signal.Argument.(protocol.Deleted); ok && gone.UID == uid {
		delete(f.running, workflowID)
	}
	return running, nil
}

// Look counts the looks at a workflow.
func (f *fakeTemporal) Look(_ context.Context, workflowID string) (holder.Standing, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failures > 0 {
		f.failures--
		return "", serviceerror.NewUnavailable("down")
	}
	f.looks[workflowID]++
	return f.stands(workflowID), nil
}

func (f *fakeTemporal) stands(workflowID string) holder.Standing {
	if standing := f.standing[workflowID]; standing != "" {
		return standing
	}
	if _, running := f.running[workflowID]; running {
		return holder.Ours
	}
	return holder.Nobody
}

// Replace records a start, also of what runs.
func (f *fakeTemporal) Replace(_ context.Context, start starts.Start) (holder.Standing, error) {
	defer f.enter(start.ID)()
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.record("start %s", start.ID); err != nil {
		return "", err
	}
	found := f.stands(start.ID)
	if found == holder.Nobody || found == holder.Foreign {
		delete(f.standing, start.ID)
		f.begin(start)
	}
	return found, nil
}

// put makes what runs under an ID stand so; ours again where it is empty. What is not ours is
// in no list.
func (f *fakeTemporal) put(workflowID string, standing holder.Standing) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.standing[workflowID] = standing
}

// starts starts a workflow that nobody here asked for.
func (f *fakeTemporal) starts(workflowID, uid string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running[workflowID] = uid
}

// DescribeJob tells what a test says, or of a workflow that has nothing to do.
func (f *fakeTemporal) DescribeJob(_ context.Context, workflowID string) (JobWorkflow, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	uid, running := f.running[workflowID]
	if !running {
		return JobWorkflow{}, nil
	}
	workflow := f.described[workflowID]
	workflow.Running, workflow.Description.Job.UID = true, uid
	return workflow, nil
}

// describes makes a Job's workflow one that knows this.
func (f *fakeTemporal) describes(workflowID string, workflow JobWorkflow) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.described[workflowID] = workflow
}

// lose ends a workflow as somebody does who cancels it.
func (f *fakeTemporal) lose(workflowID string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.running, workflowID)
}

// fail makes the next calls fail, and returns how many were still to.
func (f *fakeTemporal) fail(calls int) (before int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before, f.failures = f.failures, calls
	return before
}

// lookedAt is how often a workflow was looked at.
func (f *fakeTemporal) lookedAt(workflowID string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.looks[workflowID]
}

func (f *fakeTemporal) Terminate(_ context.Context, workflowID string, before time.Time, _ string) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, running := f.running[workflowID]; !running || !f.began[workflowID].Before(before) {
		return false, nil
	}
	delete(f.running, workflowID)
	return true, f.record("terminate %s", workflowID)
}

// Running lists every workflow for either type: IDs of the other kind must be left
// alone. It also lists those whose end visibility does not know yet.
func (f *fakeTemporal) Running(_ context.Context, _ string, visit func([]string) bool) error {
	f.mu.Lock()
	if f.blind {
		f.mu.Unlock()
		return serviceerror.NewUnavailable("visibility is down")
	}
	ids := slices.DeleteFunc(slices.Sorted(maps.Keys(f.running)), func(id string) bool { return f.standing[id] != "" })
	for id := range f.ghosts {
		ids = append(ids, id)
	}
	f.mu.Unlock()
	for page := range slices.Chunk(ids, listPage) {
		f.mu.Lock()
		f.pages++
		f.mu.Unlock()
		if !visit(page) {
			return nil
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readThrough++
	return nil
}

// scanned reports whether a new leader has read its lists: one for each kind of objects.
func (f *fakeTemporal) scanned() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.readThrough >= 3
}

// lists returns how many pages of lists were read.
func (f *fakeTemporal) lists() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pages
}

// asked returns how many looks at workflows there were.
func (f *fakeTemporal) asked() (looks int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, of := range f.looks {
		looks += of
	}
	return looks
}

func (f *fakeTemporal) ObjectUID(_ context.Context, workflowID string) (string, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	uid, ok := f.running[workflowID]
	if uid == "" && ok {
		return "", false, errors.New("no worker")
	}
	return uid, ok, nil
}

func (f *fakeTemporal) said() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

func (f *fakeTemporal) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = nil
}

// describe says in a line what a signal means.
func describe(signal Signal) string {
	switch argument := signal.Argument.(type) {
	case protocol.CronJobSpec:
		return fmt.Sprintf("%s %s generation %d overdue %v", signal.Name, argument.CronJob.UID, argument.Spec.Generation, argument.Overdue)
	case protocol.JobSpec:
		return fmt.Sprintf("%s %s generation %d deleting %v", signal.Name, argument.Input.Job.UID, argument.Input.Spec.Generation, argument.Input.Spec.Deleting)
	case protocol.Deleted:
		return fmt.Sprintf("%s %s", signal.Name, argument.UID)
	case protocol.JobSeen:
		return fmt.Sprintf("%s %s", signal.Name, argument.Name)
	}
	return signal.Name
}

// jobReactor answers every get of a Job with one, and says so.
func jobReactor(job *batchv1.Job, asked chan<- struct{}) clienttesting.ReactionFunc {
	return func(clienttesting.Action) (bool, runtime.Object, error) {
		asked <- struct{}{}
		return true, job, nil
	}
}

// refuseWhen fails requests while the switch is on.
func refuseWhen(on *atomic.Bool) clienttesting.ReactionFunc {
	return func(clienttesting.Action) (bool, runtime.Object, error) {
		return on.Load(), nil, errors.New("refused")
	}
}

// listed is the fake CronJob client, which has no streaming lists.
type listed struct{ client *fake.CronJobs }

func (l listed) CronJobs(namespace string) k8s.CronJobInterface {
	return listedClient{l.client.CronJobs(namespace)}
}

type listedClient struct{ k8s.CronJobInterface }

// IsWatchListSemanticsUnSupported is what client-go's reflector asks for.
func (listedClient) IsWatchListSemanticsUnSupported() bool { return true }
