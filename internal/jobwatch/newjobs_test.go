package jobwatch

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"ostinato.dev/ostinato/internal/protocol"
)

var noon = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

func jobNamed(namespace, name string) protocol.ObjectReference {
	return protocol.ObjectReference{Namespace: namespace, Name: name, UID: name}
}

// wait returns how long the workflow of a Job waits, and whether there is one to start.
func (n newJobs) wait(job protocol.ObjectReference, now time.Time) (time.Duration, bool) {
	input, again := n.next(job, now)
	return again, input != nil
}

func TestWorkflowsOfANamespaceWaitForItsFirstPods(t *testing.T) {
	one, two, other := jobNamed("shop", "one"), jobNamed("shop", "two"), jobNamed("elsewhere", "other")
	jobs := newJobs{}
	for _, job := range []protocol.ObjectReference{one, two, other} {
		jobs.see(job, false, noon)
	}
	assert.Equal(t, []protocol.ObjectReference{other}, jobs.made(other, &protocol.JobInput{Job: other}))
	wait, begins := jobs.wait(other, noon)
	assert.True(t, begins)
	assert.Zero(t, wait, "another namespace's Pods hold it up")

	assert.Equal(t, []protocol.ObjectReference{one}, jobs.made(one, &protocol.JobInput{Job: one}))
	wait, _ = jobs.wait(one, noon.Add(time.Second))
	assert.Equal(t, 2*time.Second, wait)
	wait, _ = jobs.wait(one, noon.Add(podsFirst))
	assert.Zero(t, wait, "the last Job was seen three seconds ago")

	assert.Equal(t, []protocol.ObjectReference{one, two}, jobs.made(two, &protocol.JobInput{Job: two}), "all have their Pods")
	wait, _ = jobs.wait(one, noon.Add(time.Second))
	assert.Zero(t, wait)
}

func TestAWorkflowWaitsForTenSecondsAtTheMost(t *testing.T) {
	first := jobNamed("shop", "first")
	jobs := newJobs{}
	jobs.see(first, false, noon)
	jobs.made(first, &protocol.JobInput{Job: first})
	for second := range 12 {
		now := noon.Add(time.Duration(second) * time.Second)
		jobs.see(jobNamed("shop", now.String()), false, now)
		wait, begins := jobs.wait(first, now)
		assert.True(t, begins)
		assert.Equal(t, min(podsFirst, max(patience-now.Sub(noon), 0)), wait, "after %d s", second)
	}
}

func TestAJobIsForgottenWhenItsWorkflowIsStarted(t *testing.T) {
	one, two := jobNamed("shop", "one"), jobNamed("shop", "two")
	jobs := newJobs{}
	jobs.see(one, false, noon)
	jobs.see(two, false, noon)
	assert.Equal(t, []protocol.ObjectReference{one}, jobs.made(one, nil), "one that is new no more has no workflow to start")
	assert.False(t, jobs.has(one))
	jobs.made(two, &protocol.JobInput{Job: two})
	assert.True(t, jobs.has(two))
	jobs.begin(two, noon)
	assert.True(t, jobs.has(two))
	jobs.started(two, true, nil)
	assert.False(t, jobs.has(two))
	assert.Empty(t, jobs.begun(two))
	assert.Empty(t, jobs)
	_, begins := jobs.wait(two, noon)
	assert.False(t, begins)
}

func TestAsManyWorkflowsOfANamespaceBeginAtATime(t *testing.T) {
	const others = 3
	jobs, names := newJobs{}, []protocol.ObjectReference{}
	for n := range maxBeginning + others {
		names = append(names, jobNamed("shop", fmt.Sprint(n)))
		jobs.see(names[n], false, noon)
		jobs.made(names[n], &protocol.JobInput{Job: names[n]})
	}
	for _, name := range names[:maxBeginning] {
		wait, _ := jobs.wait(name, noon)
		assert.Zero(t, wait)
		jobs.begin(name, noon)
		jobs.started(name, true, nil)
	}
	later := names[maxBeginning:]
	for _, name := range later {
		wait, begins := jobs.wait(name, noon.Add(10*time.Second))
		assert.True(t, begins)
		assert.Equal(t, 50*time.Second, wait, "those that begin do so for a minute at the most")
	}
	assert.Equal(t, later[:1], jobs.begun(names[0]))
	assert.Equal(t, later[1:], jobs.begun(names[1]), "as many as there is room for, if none has begun meanwhile")
	wait, _ := jobs.wait(later[0], noon.Add(10*time.Second))
	assert.Zero(t, wait)
	jobs.begin(later[0], noon.Add(time.Minute))
	wait, _ = jobs.wait(later[1], noon.Add(time.Minute))
	assert.Zero(t, wait, "the others have not written a status within a minute")
}

func TestAStartThatFailsTakesNoPlace(t *testing.T) {
	job := jobNamed("shop", "one")
	jobs := newJobs{}
	jobs.see(job, false, noon)
	jobs.made(job, &protocol.JobInput{Job: job})
	jobs.begin(job, noon)
	jobs.started(job, true, errors.New("Temporal is away"))
	assert.Empty(t, jobs["shop"].beginning)
	wait, begins := jobs.wait(job, noon)
	assert.True(t, begins)
	assert.Zero(t, wait)
}

func TestAJobThatIsNewNoMoreWhenItsWorkflowStartsTakesNoPlace(t *testing.T) {
	job := jobNamed("shop", "one")
	jobs := newJobs{}
	jobs.see(job, false, noon)
	jobs.made(job, &protocol.JobInput{Job: job})
	jobs.begin(job, noon)
	jobs.started(job, false, nil)
	assert.Empty(t, jobs)
}
