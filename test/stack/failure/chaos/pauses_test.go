package chaos

import (
	"context"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ostinato.dev/ostinato/dev/devstack/process"
	"ostinato.dev/ostinato/dev/harness"
)

const (
	// pauseMinutes is how many minutes the pauses are spread over, and pausesEach how many each kind of process has.
	pauseMinutes, pausesEach = 6, 6
	// shortestPause and longestPause bound each, and leastBetween is how long a kind of process runs between two.
	shortestPause, longestPause, leastBetween = 3 * time.Second, 25 * time.Second, 2 * time.Second
	// bridgeLook is how often somebody looks whether the bridge has ended.
	bridgeLook = 500 * time.Millisecond
	// aThird of the CronJobs keep no Job that has ended.
	aThird = 3
)

// bridges is how the names of bridges begin.
const bridges = "bridge"

// stopped are the kinds of processes that stand still, by the beginnings of their names.
var stopped = []string{"worker", bridges, "temporal", "kube-apiserver", "etcd"}

// pause is a time during which a kind of process stands still.
type pause struct {
	from, until time.Time
	// which is the one of several processes; all of them where it is as large as their number.
	which int
}

// 1,000 fires and 100 Jobs, while workers, bridge, Temporal, kube-apiserver and etcd stand still (SIGSTOP), each kind six
// times for 3 to 25 s, at moments that overlap. What stood still goes on with what it had in its hands, where a process that
// was killed has forgotten it. A third of the CronJobs delete their Jobs as soon as they have ended, so that nothing but the
// accounts keeps a run from being made again. The accounts are those of TestChaos. It runs for `make trial-pauses` alone.
func TestPauses(t *testing.T) {
	if !harness.Trial() {
		t.Skip("OSTINATO_TRIAL is not set: make trial-pauses")
	}
	c := begin(t, pauseMinutes)
	c.create(t, keepsOrNot)
	triggers, jobs, pauses := c.planTriggers(), c.planJobs(), c.planPauses()
	steady := slices.DeleteFunc(stack.Stack.Processes(), func(member *process.Process) bool { return strings.HasPrefix(member.Name(), bridges) })
	t.Cleanup(func() { signalAll(t, stack.Stack.Processes(), syscall.SIGCONT) })
	var pausing, sending sync.WaitGroup
	sending.Go(func() { c.send(t, triggers) })
	sending.Go(func() { c.createJobs(t, jobs) })
	watching, unwatched := context.WithCancel(t.Context())
	for _, kind := range stopped {
		c.kills[kind] = len(pauses[kind])
		if kind == bridges {
			sending.Go(func() { pauseBridge(watching, t, c, pauses[kind]) })
			continue
		}
		members := named(steady, kind)
		pausing.Go(func() {
			for _, pause := range pauses[kind] {
				sleepUntil(t.Context(), pause.from)
				c.standStill(t, members, pause)
			}
		})
	}
	pausing.Wait()
	sleepUntil(t.Context(), c.end)
	unwatched()
	sending.Wait()
	survive(t, steady)
	c.endsWell(t)
	c.accountsForJobs(t, jobs)
	c.keepsNoMore(t)
	c.noWorkflowIsLeft(t)
}

// keepsOrNot is the history limit of the n-th CronJob.
func keepsOrNot(n int) int32 {
	if n%aThird == 0 {
		return 0
	}
	return keepsAll
}

// planPauses draws when each kind of process stands still: how long each time, and how what is left of the minutes lies
// between.
func (c *chaos) planPauses() map[string][]pause {
	pauses := map[string][]pause{}
	for _, kind := range stopped {
		lasting, free := [pausesEach]time.Duration{}, c.end.Sub(c.first)-pausesEach*leastBetween
		for n := range lasting {
			lasting[n] = shortestPause + time.Duration(c.random.Int64N(int64(longestPause-shortestPause)))
			free -= lasting[n]
		}
		before := [pausesEach]time.Duration{}
		for n := range before {
			before[n] = time.Duration(c.random.Int64N(int64(free)))
		}
		slices.Sort(before[:])
		at := c.first
		for n, lasts := range lasting {
			from := at.Add(before[n])
			pauses[kind] = append(pauses[kind], pause{from: from, until: from.Add(lasts), which: c.random.IntN(workers + 1)})
			at = at.Add(lasts + leastBetween)
		}
	}
	return pauses
}

// standStill stops processes of a kind until the end of the pause.
func (c *chaos) standStill(t *testing.T, members []*process.Process, pause pause) {
	if len(members) > 1 && pause.which < len(members) {
		members = members[pause.which : pause.which+1]
	}
	began := time.Now()
	signalAll(t, members, syscall.SIGSTOP)
	sleepUntil(t.Context(), began.Add(pause.until.Sub(pause.from)))
	signalAll(t, members, syscall.SIGCONT)
	var names []string
	for _, member := range members {
		names = append(names, member.Name())
	}
	t.Logf("%6.1f s: %s stood still for %s", began.Sub(c.first).Seconds(), strings.Join(names, " and "), time.Since(began).Round(100*time.Millisecond))
}

// pauseBridge has the bridge stand still, and starts it again whenever it has ended, which it does by itself when it could
// not renew its lease. It comes back later while the API server or Temporal stand still, and its next pause then too.
func pauseBridge(ctx context.Context, t *testing.T, c *chaos, pauses []pause) {
	for t.Context().Err() == nil && (ctx.Err() == nil || len(pauses) > 0) {
		// One that could not begin is started again too.
		if err := harness.Poll(t.Context(), bridgeLook, harness.AfterOutage, stack.ReviveBridge); err != nil {
			t.Errorf("start a bridge: %v", err)
			return
		}
		if len(pauses) > 0 && time.Now().After(pauses[0].from) {
			c.standStill(t, stack.Bridges(), pauses[0])
			pauses = pauses[1:]
		}
		sleepUntil(t.Context(), time.Now().Add(bridgeLook))
	}
}

// named returns the processes whose names begin so.
func named(members []*process.Process, kind string) []*process.Process {
	return slices.DeleteFunc(slices.Clone(members), func(member *process.Process) bool { return !strings.HasPrefix(member.Name(), kind) })
}

func signalAll(t *testing.T, members []*process.Process, signal syscall.Signal) {
	for _, member := range members {
		if err := member.Signal(signal); err != nil {
			t.Error(err)
		}
	}
}

// sleepUntil waits for a point in time, or until the context is done.
func sleepUntil(ctx context.Context, at time.Time) {
	select {
	case <-time.After(time.Until(at)):
	case <-ctx.Done():
	}
}
