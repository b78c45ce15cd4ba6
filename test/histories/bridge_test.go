package histories

import (
	"maps"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/test/histories/play"
)

// bridge is what the bridge does for a CronJob: it tells the workflow of edits, and reminds it of what the status does not say.
type bridge struct {
	world *world
	// silent is the generation of which nothing is told.
	silent int64
}

const (
	// closedGrace is how long a workflow has to learn by itself that a run has ended, unlistedGrace to list one in the status, and
	// overdueGrace to start one.
	closedGrace   = 10 * time.Second
	unlistedGrace = 30 * time.Second
	overdueGrace  = 15 * time.Second
	// tick is how often it looks at all.
	tick = time.Minute
)

func (w *world) reference(stored *ostinatov1.CronJob) protocol.ObjectReference {
	return protocol.ObjectReference{Namespace: stored.Namespace, Name: stored.Name, UID: string(stored.UID), Native: w.scenario.Native}
}

// watches has it look now and then.
func (b *bridge) watches() {
	b.world.agenda.Plan(time.Now().Add(tick-5*time.Second+2*offset), func() {
		b.looks()
		b.watches()
	})
}

// tells tells the CronJob as it is.
func (b *bridge) tells(overdue bool) {
	stored := b.world.cluster.peek()
	b.world.over = false
	b.world.tell(play.Signal{Name: protocol.CronJobSpecSignal, Argument: protocol.CronJobSpec{
		CronJob: b.world.reference(stored), Spec: schedule.SpecOf(stored), Overdue: overdue,
	}})
}

// looks reminds the workflow of what the status does not say.
func (b *bridge) looks() {
	stored, now := b.world.cluster.peek(), time.Now()
	switch next := stored.Status.NextScheduleTime; {
	case b.world.over:
		// It starts the workflow of a CronJob that has none, now and then.
		b.tells(false)
	case stored.Generation == b.silent, now.Sub(stored.CreationTimestamp.Time) < tick/2:
	case stored.Status.ObservedGeneration != stored.Generation || stored.Status.Workflow == nil:
		b.tells(false)
	case next != nil && now.Sub(next.Time) > overdueGrace && !ptr.Deref(stored.Spec.Suspend, false):
		b.tells(true)
	}
	b.remindsOfRuns(stored)
}

// remindsOfRuns tells of runs that the status lists and that have ended, and of those that go on and that it does not list.
func (b *bridge) remindsOfRuns(stored *ostinatov1.CronJob) {
	now := time.Now()
	running, ended := map[types.UID]batchv1.Job{}, map[types.UID]*batchv1.JobCondition{}
	for _, one := range b.world.cluster.jobs() {
		if !claim.OfCronJob(&one, stored.Name, stored.UID) {
			continue
		}
		if finished := claim.Finished(&one); finished != nil {
			ended[one.UID] = finished
		} else {
			running[one.UID] = one
		}
	}
	for _, listed := range stored.Status.Active {
		if _, runs := running[listed.UID]; runs {
			delete(running, listed.UID)
			continue
		}
		if finished := ended[listed.UID]; finished != nil && now.Sub(finished.LastTransitionTime.Time) < closedGrace {
			continue
		}
		b.world.tell(play.Signal{Name: protocol.JobSeenSignal, Argument: protocol.JobSeen{
			CronJobUID: string(stored.UID), Name: listed.Name, UID: string(listed.UID),
		}})
	}
	for _, one := range sorted(running) {
		if now.Sub(one.CreationTimestamp.Time) >= unlistedGrace {
			b.world.tell(play.Signal{Name: protocol.JobSeenSignal, Argument: protocol.JobSeen{
				CronJobUID: string(stored.UID), Name: one.Name, UID: string(one.UID),
			}})
		}
	}
}

// sorted are Jobs in the order of their names.
func sorted(all map[types.UID]batchv1.Job) []batchv1.Job {
	return slices.SortedFunc(maps.Values(all), func(a, b batchv1.Job) int { return strings.Compare(a.Name, b.Name) })
}
