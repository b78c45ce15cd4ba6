package podwatch

// state says what is owed to a workflow about a Pod, and whether the watch sees it.
type state int

const (
	stateNew       state = iota // nothing is known of the Pod yet
	stateQuiet                  // it can run, and there is nothing to say
	stateDue                    // the workflow has to hear that it exists, has restarted, is being deleted, or has ended
	stateLeaving                // it is being deleted and can run yet; the workflow knows
	stateTold                   // the workflow knows its end, and has not released it
	stateSettled                // no workflow needs to hear of it: it was released, or its Job has no workflow or is not ours
	stateMissing                // it has left the watch's sight, or may not be the Job's any more: only a look tells
	stateUnproven               // the same of a Pod about which something is due or nothing was said yet
	stateParting                // the workflow has to hear its end: gone, not the Job's any more, or out of sight for good
	stateForgotten              // it is dropped from memory
	states
)

// event is what happens to a Pod.
type event int

const (
	// The watch sees the Pod, or a look has found it:
	seenAlive         event = iota // it can run, and the workflow has to hear of it only when it hears of nothing else
	seenMadeElsewhere              // it can run, and the workflow may not know that it exists
	seenRestarted                  // it has restarted, which counts, since the workflow last heard
	seenLeaving                    // it is being deleted
	seenRemoved                    // the same, by a plan that removes it uncounted, and knows
	seenEnded                      // it has ended with the tracking finalizer
	seenReleased                   // it has ended without
	seenUnproven                   // its labels may not match the Job's selector

	left     // it has left the watch's sight, and may exist
	vanished // it has left the watch's sight while it was being deleted

	foundGone    // a look found that it does not exist
	foundForeign // a look found that it is not the Job's
	foundOut     // a look found that it has ended and was released, so that the watch will not see it again

	tookAlive   // the workflow took a fact of the Pod: it can run
	tookLeaving // the same: it is being deleted
	tookEnd     // the same: it is over

	settled // the Job has no workflow that has to hear of its Pods
	events
)

// effect is what an event changes of what is known of the Pod.
type effect int

const (
	learn  effect = 1 << iota // the Pod is as the event says
	lose                      // it is gone
	disown                    // it is not the Job's any more
	note                      // the workflow has heard what the event says
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
		seenRemoved: {learn | note, to{
			New: Leaving, Quiet: Leaving, Due: Leaving, Leaving: Leaving, Told: Due, Settled: Settled, Missing: Leaving, Unproven: Leaving, Parting: Leaving,
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
