package play

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Temporal is what Temporal does for a workflow: it keeps the history, and has a process that has lost its memory play that again
// before it goes on. Message is what a workflow hears of.
type Temporal[Message any] struct {
	hearing
	Agenda *Agenda
	// Lost reports whether the process is lost.
	Lost func() bool
	// History are the workflow tasks; the last one is completed, so that what it has done is in the history, where recorded says so.
	History  []*Task[Message]
	recorded bool
	// Inbox are the messages that have come since the last task began.
	Inbox []Message
	// left are attempts that go on though Temporal does not want their answers.
	left []*running

	// Counts says that an attempt of a regular activity is told how often the call was tried: it knows then that the one before
	// may have sent something. tries is how often each was.
	Counts bool
	tries  map[int]int32

	// What follows is the process's, and is lost with it.

	alive context.Context
	// played are the tasks that the workflow has begun, locals, notes and asks the answers of local activities and the notes that it has
	// taken in the last of them, and what it has asked for there.
	played, locals, notes, asks int
	// attempt is that of a local activity under way, calls are the regular activities, asked is how many there were.
	attempt *running
	calls   []*call
	asked   int
	// commands are what Temporal does when the task is completed.
	commands []func()
}

// Task is a workflow task.
type Task[Message any] struct {
	At       time.Time
	Messages []Message
	// Call and Answer are those of the regular activity whose end began the task; none for another reason.
	Call   int
	Answer *Answer
	// locals are the answers of the local activities that ran in it, notes what it has noted.
	locals []Answer
	notes  []any
	// asked is what the workflow has asked for in it, in its order.
	asked []string
}

// LostProcess is the panic that ends a process.
type LostProcess struct{}

// NewTemporal returns a Temporal in which no workflow has run yet.
func NewTemporal[Message any](agenda *Agenda, lost func() bool) *Temporal[Message] {
	return &Temporal[Message]{Agenda: agenda, Lost: lost, recorded: true, tries: map[int]int32{}}
}

// next begins the next workflow task: that of the history, or as soon as there is a reason for another one.
func (t *Temporal[Message]) next(reason func() *Task[Message]) *Task[Message] {
	if t.played > 0 && t.asks < len(t.Task().asked) {
		panic(fmt.Sprintf("the workflow does not ask for %q again, which its history has", t.Task().asked[t.asks]))
	}
	commands := t.commands
	t.commands = nil
	if t.played == len(t.History) {
		t.recorded = true
		for _, carryOut := range commands {
			carryOut()
		}
		begun := reason()
		t.History, t.recorded = append(t.History, begun), false
	}
	t.played, t.locals, t.notes, t.asks = t.played+1, 0, 0, 0
	t.calls = slices.DeleteFunc(t.calls, func(c *call) bool { return c.number == t.Task().Call })
	return t.Task()
}

// Task is the task that goes on.
func (t *Temporal[Message]) Task() *Task[Message] { return t.History[t.played-1] }

// Length is how many events the history has, up to the task that goes on.
func (t *Temporal[Message]) Length() (events int) {
	for _, task := range t.History[:t.played] {
		events += 3 + len(task.Messages) + len(task.locals) + len(task.notes)
		if task.Answer != nil {
			events += 3
		}
	}
	return events
}

// begun is a task that begins now.
func (t *Temporal[Message]) begun(call int, answer *Answer) *Task[Message] {
	begun := &Task[Message]{At: time.Now().UTC(), Messages: t.Inbox, Call: call, Answer: answer}
	t.Inbox = nil
	return begun
}

// Next begins a task at once, whatever has come.
func (t *Temporal[Message]) Next() *Task[Message] {
	return t.next(func() *Task[Message] { return t.begun(0, nil) })
}

// Wait waits for a message, for the answer of a regular activity or until a time; a zero one never comes.
func (t *Temporal[Message]) Wait(until time.Time) *Task[Message] {
	return t.next(func() *Task[Message] { return t.come(until) })
}

// Asks notes what the workflow asks for. A workflow that asks for something else than its history has could not go on.
func (t *Temporal[Message]) Asks(what string) {
	task := t.Task()
	switch {
	case t.asks == len(task.asked):
		task.asked = append(task.asked, what)
	case task.asked[t.asks] != what:
		panic(fmt.Sprintf("the workflow asks for %q, and its history has %q", what, task.asked[t.asks]))
	}
	t.asks++
}

// Command has Temporal do something when the task is completed, and once.
func (t *Temporal[Message]) Command(carryOut func()) { t.commands = append(t.commands, carryOut) }

// Note returns what was noted in the history at this place, or notes it.
func (t *Temporal[Message]) Note(make func() any) any {
	task := t.Task()
	if t.notes == len(task.notes) {
		task.notes = append(task.notes, make())
	}
	t.notes++
	return task.notes[t.notes-1]
}

// Local runs a local activity. Its answer is in the history when the task is completed.
func (t *Temporal[Message]) Local(perform Attempt) Answer {
	task := t.Task()
	if t.locals == len(task.locals) {
		t.attempt = start(t.alive, t.Agenda, perform, 0, 0)
		given := t.Agenda.answer(t.attempt)
		t.attempt = nil
		t.lose()
		task.locals = append(task.locals, given)
	}
	t.locals++
	return task.locals[t.locals-1]
}

// Restart has another process play the history. A task that was lost begins anew; the messages that have come since are in it.
func (t *Temporal[Message]) Restart(alive context.Context) {
	t.alive, t.played, t.locals, t.notes, t.asks, t.asked, t.calls, t.commands = alive, 0, 0, 0, 0, 0, nil, nil
	if last := len(t.History) - 1; last >= 0 && !t.recorded {
		lost := t.History[last]
		again := t.begun(lost.Call, lost.Answer)
		again.Messages = append(lost.Messages, again.Messages...)
		t.History[last] = again
	}
}

// Anew drops the history, for a workflow that starts anew.
func (t *Temporal[Message]) Anew() {
	t.History, t.recorded, t.Inbox, t.tries = nil, true, nil, map[int]int32{}
}

// Forget takes Temporal back to what it was at an earlier time, as a restored backup does. What has come since is lost; it is
// returned.
func (t *Temporal[Message]) Forget(since time.Time) (lost []Message) {
	kept := len(t.History)
	for kept > 0 && t.History[kept-1].At.After(since) {
		kept--
	}
	for _, task := range t.History[kept:] {
		lost = append(lost, task.Messages...)
	}
	lost = append(lost, t.Inbox...)
	t.History, t.recorded, t.Inbox, t.tries = t.History[:kept], true, nil, map[int]int32{}
	return lost
}

// Leave leaves what goes on in a process to itself: Temporal wants nothing of it any more.
func (t *Temporal[Message]) Leave() {
	if t.attempt != nil {
		t.left = append(t.left, t.attempt)
	}
	for _, c := range t.calls {
		if c.running != nil {
			c.running.givenUp.Store(true)
			t.left = append(t.left, c.running)
		}
	}
	t.attempt, t.calls = nil, nil
}

// End waits for the end of what went on in processes that are lost.
func (t *Temporal[Message]) End() {
	t.Leave()
	for _, one := range t.left {
		<-one.done
	}
	t.left = nil
}

// lose ends the process where it is lost.
func (t *Temporal[Message]) lose() {
	if t.Lost() {
		panic(LostProcess{})
	}
}
