package play

import (
	"context"
	"errors"
	"time"
)

// Temporal is what Temporal does for a workflow: it keeps the history, and has a process that has lost its memory play that again
// before it goes on. Message is what a workflow hears of.
type Temporal[Message any] struct {
	Agenda *Agenda
	// Lost reports whether the process is lost.
	Lost func() bool
	// History are the workflow tasks; the last one is completed, so that what it has done is in the history, where recorded says so.
	History  []*Task[Message]
	recorded bool
	// Inbox are the messages that have come since the last task began.
	Inbox []Message

	// What follows is the process's, and is lost with it.

	alive context.Context
	// played are the tasks that the workflow has begun, and answered the answers of local activities that it has taken in the
	// last of them.
	played, answered int
	// attempt is that of a local activity under way, call the regular activity.
	attempt *Running
	call    *call
}

// Task is a workflow task.
type Task[Message any] struct {
	At       time.Time
	Messages []Message
	// Answer is that of the regular activity whose end began the task; nil for another reason.
	Answer *Answer
	// local are the answers of the local activities that ran in it.
	local []Answer
}

// LostProcess is the panic that ends a process.
type LostProcess struct{}

// ErrGaveWay says that a call was given up for something that came meanwhile.
var ErrGaveWay = errors.New("the call gave way")

// NewTemporal returns a Temporal in which no workflow has run yet.
func NewTemporal[Message any](agenda *Agenda, lost func() bool) *Temporal[Message] {
	return &Temporal[Message]{Agenda: agenda, Lost: lost, recorded: true}
}

// next begins the next workflow task: that of the history, or as soon as there is a reason for another one.
func (t *Temporal[Message]) next(reason func() *Task[Message]) *Task[Message] {
	if t.played == len(t.History) {
		t.recorded = true
		begun := reason()
		t.History, t.recorded = append(t.History, begun), false
	}
	t.played, t.answered = t.played+1, 0
	if t.Task().Answer != nil {
		t.call = nil
	}
	return t.Task()
}

// Task is the task that goes on.
func (t *Temporal[Message]) Task() *Task[Message] { return t.History[t.played-1] }

// begun is a task that begins now.
func (t *Temporal[Message]) begun(answer *Answer) *Task[Message] {
	begun := &Task[Message]{At: time.Now().UTC(), Messages: t.Inbox, Answer: answer}
	t.Inbox = nil
	return begun
}

// Next begins a task at once, whatever has come.
func (t *Temporal[Message]) Next() *Task[Message] {
	return t.next(func() *Task[Message] { return t.begun(nil) })
}

// Restart has another process play the history. A task that was lost begins anew; the messages that have come since are in it.
func (t *Temporal[Message]) Restart(alive context.Context) {
	t.alive, t.played, t.answered, t.call = alive, 0, 0, nil
	if last := len(t.History) - 1; last >= 0 && !t.recorded {
		lost := t.History[last]
		again := t.begun(lost.Answer)
		again.Messages = append(lost.Messages, again.Messages...)
		t.History[last] = again
	}
}

// Anew drops the history, for a workflow that starts anew.
func (t *Temporal[Message]) Anew() { t.History, t.recorded, t.Inbox = nil, true, nil }

// Forget takes Temporal back to what it was at an earlier time, as a restored backup does. What has come since is lost.
func (t *Temporal[Message]) Forget(since time.Time) {
	for len(t.History) > 0 && t.History[len(t.History)-1].At.After(since) {
		t.History = t.History[:len(t.History)-1]
	}
	t.recorded, t.Inbox = true, nil
}

// End waits for the end of what went on in a process that is lost.
func (t *Temporal[Message]) End() {
	if t.attempt != nil {
		<-t.attempt.done
	}
	if call := t.call; call != nil && call.running != nil {
		<-call.running.done
	}
	t.attempt, t.call = nil, nil
}

// Wait waits for a message, for the answer of the regular activity under way or until a time; a zero one never comes.
func (t *Temporal[Message]) Wait(until time.Time) *Task[Message] {
	return t.next(func() *Task[Message] { return t.come(until) })
}

// Local runs an attempt of a local activity. Its answer is in the history when the task is completed.
func (t *Temporal[Message]) Local(perform Attempt) Answer {
	task := t.Task()
	if t.answered == len(task.local) {
		t.attempt = start(t.alive, perform, 0)
		given := t.Agenda.Answer(t.attempt, nil)
		t.attempt = nil
		t.lose()
		task.local = append(task.local, *given)
	}
	t.answered++
	return task.local[t.answered-1]
}

// lose ends the process where it is lost.
func (t *Temporal[Message]) lose() {
	if t.Lost() {
		panic(LostProcess{})
	}
}
