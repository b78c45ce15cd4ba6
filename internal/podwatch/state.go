package podwatch

// state says what is owed to a workflow about a Pod, and whether the watch sees it.
type state int

const (
	// stateNew: nothing is known of the Pod yet.
	stateNew state = iota
	// stateQuiet: the Pod can run, and there is nothing to say.
	stateQuiet
	// stateDue: the workflow has to hear of the Pod as it is: that it exists, has
	// restarted, is being deleted, or has ended.
	stateDue
	// stateLeaving: the Pod is being deleted and can run yet; the workflow knows.
	stateLeaving
	// stateTold: the workflow knows the Pod's end, and has not released it.
	stateTold
	// stateSettled: nobody needs to hear of the Pod, which the watch sees: it has ended
	// and was released, or its Job has no workflow any more or is another controller's.
	stateSettled
	// stateMissing: the workflow knows of the Pod, which has left the watch's sight or may
	// not be the Job's any more: only a look at the API server tells.
	stateMissing
	// stateUnproven: the same of a Pod about which something is due or nothing was said yet.
	stateUnproven
	// stateParting: the workflow has to hear of the Pod for the last time: it is gone, or
	// not the Job's any more, or the watch will not see it again.
	stateParting
	// stateForgotten: the Pod is dropped from memory.
	stateForgotten
	states
)

// event is what happens to a Pod.
type event int

const (
	// The watch sees the Pod, or a look has found it: it can run, and the workflow has to
	// hear of it only when it hears of nothing else; ...
	seenAlive event = iota
	// ... or it can run, and the workflow may not know that it exists; ...
	seenMadeElsewhere
	// ... or it has restarted, which counts, since the workflow last heard; ...
	seenRestarted
	// ... or it is being deleted; ...
	seenLeaving
	// ... or it has ended with the tracking finalizer; ...
	seenEnded
	// ... or it has ended without; ...
	seenReleased
	// ... or its labels may not match the Job's selector.
	seenUnproven
	// left: it has left the watch's sight, and may exist.
	left
	// vanished: it has left the watch's sight while it was being deleted.
	vanished
	// foundGone: a look found that it does not exist.
	foundGone
	// foundForeign: a look found that it is not the Job's.
	foundForeign
	// foundOut: a look found that it has ended and was released, so that the watch will not see it again.
	foundOut
	// The workflow took a fact of the Pod: that it can run, ...
	tookAlive
	// ... is being deleted, ...
	tookLeaving
	// ... or is over.
	tookEnd
	// settled: nobody is to be told of the Job's Pods any more.
	settled
	events
)

// effect is what an event changes of what is known of the Pod.
type effect int

const (
	// learn: the Pod is as the event says.
	learn effect = 1 << iota
	// lose: it is gone.
	lose
	// disown: it is not the Job's any more.
	disown
	// note: the workflow has heard what the event says.
	note
)

// transition is what an event does to a Pod.
type transition struct {
	effects effect
	// to is the next state from each state; an event that has none means nothing there.
	to [states]state
}

// transitions is the life of a watched Pod: what every event does, and the state that
// it leads to. No event meets a forgotten Pod.
var transitions = func() [events]transition {
	const (
		New, Quiet, Due, Leaving, Told = stateNew, stateQuiet, stateDue, stateLeaving, stateTold
		Settled, Missing, Unproven     = stateSettled, stateMissing, stateUnproven
		Parting, Forgotten             = stateParting, stateForgotten
	)
	type to = [states]state
	return [events]transition{
		seenAlive: {learn, to{
			New: Quiet, Quiet: Quiet, Due: Due, Leaving: Leaving, Told: Due, Settled: Settled, Missing: Quiet, Unproven: Quiet, Parting: Quiet,
		}},
		seenMadeElsewhere: {learn, to{
			New: Due, Quiet: Quiet, Due: Due, Leaving: Leaving, Told: Due, Settled: Settled, Missing: Quiet, Unproven: Due, Parting: Due,
		}},
		seenRestarted: {learn, to{
			New: Due, Quiet: Due, Due: Due, Leaving: Due, Told: Due, Settled: Settled, Missing: Due, Unproven: Due, Parting: Due,
		}},
		seenLeaving: {learn, to{
			New: Due, Quiet: Due, Due: Due, Leaving: Leaving, Told: Due, Settled: Settled, Missing: Due, Unproven: Due, Parting: Due,
		}},
		seenEnded: {learn, to{
			New: Due, Quiet: Due, Due: Due, Leaving: Due, Told: Told, Settled: Settled, Missing: Due, Unproven: Due, Parting: Due,
		}},
		seenReleased: {learn, to{
			New: Settled, Quiet: Due, Due: Due, Leaving: Due, Told: Settled, Settled: Settled, Missing: Due, Unproven: Due, Parting: Due,
		}},
		seenUnproven: {learn, to{
			New: Unproven, Quiet: Missing, Due: Unproven, Leaving: Missing, Told: Unproven, Settled: Settled, Missing: Missing, Unproven: Unproven, Parting: Missing,
		}},
		left: {learn, to{
			Quiet: Missing, Due: Unproven, Leaving: Missing, Told: Forgotten, Settled: Forgotten, Missing: Missing, Unproven: Unproven,
		}},
		vanished: {learn | lose, to{
			Quiet: Parting, Due: Parting, Leaving: Parting, Told: Forgotten, Settled: Forgotten, Missing: Parting, Unproven: Parting,
		}},

		// An answer of the API server is about a Pod that is missing. Where it is not any
		// more, the watch has seen it in the meantime, and knows more.
		foundGone:    {lose, to{Missing: Parting, Unproven: Parting}},
		foundForeign: {disown, to{Missing: Parting, Unproven: Parting}},
		foundOut:     {learn, to{Missing: Parting, Unproven: Parting}},

		// What the workflow took was read off the Pod some time ago: it may be over by now,
		// or over no more, since another controller has given it back.
		tookAlive: {note, to{
			Quiet: Quiet, Due: Quiet, Leaving: Leaving, Told: Told, Settled: Settled, Missing: Missing, Unproven: Missing, Parting: Parting,
		}},
		tookLeaving: {note, to{
			Quiet: Leaving, Due: Leaving, Leaving: Leaving, Told: Told, Settled: Settled, Missing: Missing, Unproven: Missing, Parting: Parting,
		}},
		tookEnd: {note, to{
			Quiet: Due, Due: Told, Leaving: Due, Told: Told, Settled: Settled, Missing: Forgotten, Unproven: Forgotten, Parting: Forgotten,
		}},

		settled: {0, to{
			Quiet: Settled, Due: Settled, Leaving: Settled, Told: Settled, Settled: Settled, Missing: Forgotten, Unproven: Forgotten, Parting: Forgotten,
		}},
	}
}()
