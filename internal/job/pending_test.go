package job_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/job"
)

// TestWhenAPodIsGivenUp: each container has the time from when it may start.
func TestWhenAPodIsGivenUp(t *testing.T) {
	const deadline = 2 * time.Minute
	waits := func(change func(*job.PodFact)) func(*job.PodFact) {
		return func(fact *job.PodFact) {
			fact.Phase, fact.Pending = corev1.PodPending, job.PendingImagePull
			if change != nil {
				change(fact)
			}
		}
	}
	initializes := func(fact *job.PodFact) { fact.Phase = corev1.PodPending }
	for name, test := range map[string]struct {
		// is says what the Pod is like, from each of these times after it was made.
		is map[time.Duration]func(*job.PodFact)
		// given is when it is given up, 0 for never within ten minutes.
		given time.Duration
	}{
		"no container starts": {map[time.Duration]func(*job.PodFact){0: waits(nil)}, deadline},
		"one waits beside a container that has started": {
			map[time.Duration]func(*job.PodFact){0: waits(func(fact *job.PodFact) { fact.Started = start })}, deadline,
		},
		"one waits behind a sidecar, which took a while to start": {
			map[time.Duration]func(*job.PodFact){0: waits(func(fact *job.PodFact) { fact.PendingSince = start.Add(time.Minute) })},
			time.Minute + deadline,
		},
		"one waits from a time that has not come, by its node's clock": {
			map[time.Duration]func(*job.PodFact){0: waits(func(fact *job.PodFact) { fact.PendingSince = start.Add(3 * time.Minute) })},
			3*time.Minute + deadline,
		},
		"one waits after an init container": {
			map[time.Duration]func(*job.PodFact){
				0:               initializes,
				5 * time.Minute: waits(func(fact *job.PodFact) { fact.PendingSince = start.Add(5 * time.Minute) }),
			},
			5*time.Minute + deadline,
		},
		"an init container runs": {map[time.Duration]func(*job.PodFact){0: initializes}, 0},
		"all start after an init container": {
			map[time.Duration]func(*job.PodFact){0: initializes, 5 * time.Minute: func(fact *job.PodFact) { fact.Phase = corev1.PodRunning }}, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec := specOf(1, 1)
			spec.PendingDeadlineSeconds, spec.BackoffLimit = int64(deadline.Seconds()), 3
			d := &desk{t: t, spec: spec, state: job.State{}.Of("default", "hello", "uid-1"), now: start}
			d.make()
			given := time.Duration(0)
			for d.now.Sub(start) < 10*time.Minute && given == 0 {
				plan := d.decide()
				if plan.List {
					d.pods[0] = factAt(d.pods[0], test.is, d.now.Sub(start))
					d.listed()
					plan = d.decide()
				}
				if len(plan.Deletes) > 0 {
					given = d.now.Sub(start.Truncate(time.Second))
					continue
				}
				wake := plan.Wake.At
				d.apply(plan, job.Report{})
				if wake.IsZero() {
					break
				}
				d.now = wake
			}
			equal(t, "given up after", given.Truncate(time.Second), test.given)
		})
	}
}

// factAt is the Pod as it is then: as the latest change has it.
func factAt(pod job.PodFact, is map[time.Duration]func(*job.PodFact), after time.Duration) job.PodFact {
	fact, latest := job.PodFact{Name: pod.Name, UID: pod.UID, Attempt: pod.Attempt, Tracked: true, Version: pod.Version + 1}, time.Duration(-1)
	for at := range is {
		if at <= after && at > latest {
			latest = at
		}
	}
	is[latest](&fact)
	return fact
}
