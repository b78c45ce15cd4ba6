package histories

import (
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
)

// crowd has CronJobs of another namespace, which the same worker serves, start a run right before each of the CronJob's: the admission
// of their namespace hangs, and then refuses.
type crowd struct {
	Of    int
	Hangs time.Duration
	// Schedule is theirs.
	Schedule string
}

func (c crowd) String() string {
	return fmt.Sprintf("%d CronJobs of another namespace run %q, where admission hangs for %s", c.Of, c.Schedule, c.Hangs)
}

func (c crowd) trait() trait { return trait{requests: true} }

const neighbourhood = "neighbours"

func (c crowd) plan(w *world, at time.Time) {
	s := scenario{
		Name: "neighbour", Begins: w.scenario.Begins, Lasts: w.scenario.Lasts, Lead: w.scenario.Lead,
		Spec:  cron(c.Schedule, batchv1.ForbidConcurrent),
		Steps: []step{faulty(at.Sub(w.begin), slow{Kind: "create jobs", Of: 1, Takes: c.Hangs, Lasts: w.scenario.Lasts, Fails: "webhook"})},
	}
	w.neighbours = map[string]*world{}
	for n := range c.Of {
		name := fmt.Sprintf("neighbour%d", n)
		w.neighbours[name] = newWorld(neighbourhood, name, s, 0)
	}
}

// hosts has a process serve the neighbours, the first one for all time.
func (w *world) hosts(p *process) {
	for _, one := range w.neighbours {
		if one.host != nil {
			return
		}
		one.host = p
		w.beside.Go(func() { one.play(0) })
	}
}

// to is the connection for the requests about a CronJob.
func (w wire) to(namespace, name string) wire {
	if namespace == neighbourhood && namespace != w.world.cluster.namespace {
		w.world = w.world.neighbours[name]
	}
	return w
}

// ownerOf is the CronJob of a Job, by their names.
func ownerOf(job string) string {
	if i := strings.LastIndex(job, "-"); i > 0 {
		return job[:i]
	}
	return job
}

// crowded returns the scenario without neighbours, and whether there are any.
func (s scenario) crowded() (without scenario, crowded bool) {
	without = s
	without.Steps = slices.DeleteFunc(slices.Clone(s.Steps), func(one step) bool {
		_, found := one.Fault.(crowd)
		return found
	})
	return without, len(without.Steps) < len(s.Steps)
}

// losses are the writes after which the process is lost. With neighbours a history takes long, and the process is lost in none.
func (s scenario) losses() []int {
	if _, crowded := s.crowded(); crowded {
		return []int{}
	}
	return s.Losses
}

// neighbourly is how much later a run may start for what happens in another namespace.
const neighbourly = 2 * time.Second

// delayed finds scheduled runs that have started later than without neighbours.
func (o outcome) delayed(without outcome) (wrong []string) {
	started := map[string]time.Time{}
	for _, one := range without.taken {
		if one.what == "create" {
			started[one.job.Name] = one.at
		}
	}
	for _, one := range o.taken {
		before, known := started[nameOfJob(one)]
		if one.what == "create" && known && one.at.Sub(before) > neighbourly {
			wrong = append(wrong, fmt.Sprintf("%s was created at %s, and %s without neighbours", one.job.Name, one.at.Format(time.TimeOnly), before.Format(time.TimeOnly)))
		}
	}
	return wrong
}

func nameOfJob(one taken) string {
	if one.job == nil {
		return ""
	}
	return one.job.Name
}
