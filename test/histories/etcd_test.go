package histories

import (
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
)

// etcdRestored has the API server's objects be what they were some time ago, while Temporal goes on. Revisions go on from the one of
// then. A Job that runs again ends soon.
type etcdRestored struct{ Ago time.Duration }

func (e etcdRestored) String() string { return fmt.Sprintf("etcd is restored to %s ago", e.Ago) }
func (e etcdRestored) trait() trait   { return trait{} }

// runsAgain is how long a Job that runs again after a restore does.
const runsAgain = 20 * time.Second

func (e etcdRestored) plan(w *world, at time.Time) {
	var before backup
	from := at.Add(-e.Ago)
	w.agenda.Plan(from, func() { before = w.cluster.backedUp() })
	w.agenda.Plan(at, func() {
		if before.cronJob == nil {
			return
		}
		w.cluster.restored(before, from)
		for _, one := range w.running() {
			w.jobGoes(&one, course{Takes: runsAgain})
		}
		// The bridge lists everything once more.
		w.agenda.Plan(time.Now().Add(time.Second), func() {
			w.bridge.tells(false)
			w.bridge.looks()
		})
	})
}

// backup is what etcd has.
type backup struct {
	cronJob  *ostinatov1.CronJob
	jobs     []batchv1.Job
	revision int
	// suspension is the one that was in force.
	suspension *suspension
}

func (c *cluster) backedUp() backup {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	all := c.jobs()
	for i := range all {
		all[i] = *all[i].DeepCopy()
	}
	return backup{c.stored(), all, c.revision, c.suspension}
}

// restored has the objects be what they were.
func (c *cluster) restored(to backup, since time.Time) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, one := range c.jobs() {
		must(c.objects.Delete(jobs, c.namespace, one.Name))
	}
	for _, one := range to.jobs {
		must(c.objects.Create(jobs, one.DeepCopy(), c.namespace))
	}
	stored := c.stored()
	if stored.UID != to.cronJob.UID {
		must(c.cronJobs.Vanish(c.namespace, c.name))
		must(c.cronJobs.Appear(to.cronJob.DeepCopy()))
	} else {
		must(c.cronJobs.Become(to.cronJob.DeepCopy()))
	}
	c.revision, c.suspension = to.revision, to.suspension
	c.note(taken{what: "restore", since: since.UTC()})
	c.note(taken{what: "edit"})
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// restores are the stretches of which the API server's objects know nothing.
func (o outcome) restores() (all []stretch) {
	for _, one := range o.taken {
		if one.what == "restore" {
			all = append(all, stretch{from: one.since, to: one.at})
		}
	}
	return all
}

// undone reports whether a restore has taken back what was at a time.
func (o outcome) undone(at time.Time) bool {
	return slices.ContainsFunc(o.restores(), func(one stretch) bool { return !at.Before(one.from) && at.Before(one.to) })
}

// ranAgain reports whether a Job ran that a restore has brought back.
func (o outcome) ranAgain(at time.Time) bool {
	for _, one := range o.restores() {
		if !at.Before(one.to) && at.Before(one.to.Add(2*time.Minute)) {
			return true
		}
	}
	return false
}
