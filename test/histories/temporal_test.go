package histories

import (
	"time"

	"ostinato.dev/ostinato/internal/schedule"
)

// temporal is what Temporal does for a workflow: it keeps the history, and has a process that has lost its memory play that again
// before it goes on.
type temporal struct {
	world   *world
	process *process
	// input is the spec with which the workflow was started.
	input schedule.Spec
	// history are the workflow tasks, recorded says that the last one is completed: what it has done is in the history.
	history  []*task
	recorded bool
	// inbox are the messages that have come since the last task began.
	inbox []message

	// What follows is the process's, and is lost with it.

	// played are the tasks that the workflow has begun, and answered the answers of local activities that it has taken in the
	// last of them.
	played, answered int
	// call is the regular activity under way.
	call *call
}

// task is a workflow task.
type task struct {
	at       time.Time
	messages []message
	// answer is that of the regular activity whose end began the task; nil for another reason.
	answer *answer
	// local are the answers of the local activities that ran in it.
	local []answer
}

// answer is that of an activity.
type answer struct {
	result any
	err    error
}

// lostProcess is the panic that ends a process.
type lostProcess struct{}

// next begins the next workflow task: that of the history, or as soon as there is a reason for another one.
func (t *temporal) next(reason func() *task) *task {
	if t.played == len(t.history) {
		t.recorded = true
		begun := reason()
		t.history, t.recorded = append(t.history, begun), false
	}
	t.played, t.answered = t.played+1, 0
	return t.task()
}

func (t *temporal) task() *task { return t.history[t.played-1] }

// begun is a task that begins now.
func (t *temporal) begun(answer *answer) *task {
	begun := &task{at: time.Now().UTC(), messages: t.inbox, answer: answer}
	t.inbox = nil
	return begun
}

// restart has another process play the history. A task that was lost begins anew; the messages that have come since are in it.
func (t *temporal) restart(process *process) {
	t.process, t.played, t.answered, t.call = process, 0, 0, nil
	if last := len(t.history) - 1; last >= 0 && !t.recorded {
		lost := t.history[last]
		again := t.begun(lost.answer)
		again.messages = append(lost.messages, again.messages...)
		t.history[last] = again
	}
}

// forget takes Temporal back to what it was at an earlier time, as a restored backup does. What has come since is lost.
func (t *temporal) forget(since time.Time) {
	for len(t.history) > 0 && t.history[len(t.history)-1].at.After(since) {
		t.history = t.history[:len(t.history)-1]
	}
	t.recorded, t.inbox = true, nil
}

// wait waits for a message or until a time; a zero one never comes.
func (t *temporal) wait(until time.Time) {
	t.next(func() *task {
		t.world.until(until, func() bool { return len(t.inbox) > 0 })
		return t.begun(nil)
	})
}

// local runs an attempt of a local activity. Its answer is in the history when the task is completed.
func (t *temporal) local(perform attempt) answer {
	task := t.task()
	if t.answered == len(task.local) {
		given := t.process.local(perform)
		t.lose()
		task.local = append(task.local, given)
	}
	t.answered++
	return task.local[t.answered-1]
}

// lose ends the process where the API server has lost it.
func (t *temporal) lose() {
	if t.world.cluster.isLost() {
		panic(lostProcess{})
	}
}

// call is a regular activity under way.
type call struct {
	// running is the attempt under way; nil where the next one is waited for.
	running *running
	// failures and retry are how often it has failed, and when it is tried again.
	failures int
	retry    time.Time
}

// regular runs a regular activity, which is tried until it has an answer. givesWay is asked whenever something comes; true gives it
// up, unless it has been carried out.
func (t *temporal) regular(perform attempt, first time.Duration, givesWay func(*task) bool) (given answer, gaveWay bool) {
	for {
		task := t.next(func() *task { return t.try(perform, first) })
		if task.answer != nil {
			return *task.answer, false
		}
		if !givesWay(task) {
			continue
		}
		if task = t.next(t.giveUp); task.answer != nil && task.answer.err == nil {
			return *task.answer, false
		}
		return answer{}, true
	}
}

// try waits until the regular activity is answered or something comes.
func (t *temporal) try(perform attempt, first time.Duration) *task {
	if t.call == nil {
		t.call = &call{retry: time.Now()}
	}
	c := t.call
	for {
		if c.running == nil {
			if t.world.until(c.retry, func() bool { return len(t.inbox) > 0 }); len(t.inbox) > 0 {
				return t.begun(nil)
			}
			c.running = t.process.start(perform)
		}
		given := t.world.answer(c.running, func() bool { return len(t.inbox) > 0 })
		t.lose()
		if given == nil {
			return t.begun(nil)
		}
		if c.running = nil; given.err == nil || final(given.err) {
			t.call = nil
			return t.begun(given)
		}
		c.retry = time.Now().Add(min(first<<min(c.failures, 10), 10*time.Second))
		c.failures++
	}
}

// giveUp ends the attempt under way and waits for its end.
func (t *temporal) giveUp() *task {
	given := &answer{err: errGaveWay}
	if t.call != nil && t.call.running != nil {
		t.call.running.cancel()
		given = t.world.answer(t.call.running, nil)
		t.lose()
	}
	t.call = nil
	return t.begun(given)
}
