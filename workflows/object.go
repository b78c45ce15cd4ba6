package workflows

import (
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/steering"
)

// object is what the workflow of a CronJob and that of a Job both know of their object, and what signals have asked for and is not
// done yet. What they say is not believed: it is a reason to look. Input is the workflow's.
type object[Input any] struct {
	reference protocol.ObjectReference
	mailbox   *mailbox
	alarm     alarm
	// pause follows calls that failed.
	pause backoff
	// unknown are the unknown signals of the minute.
	unknown steering.Unknown
	// stale: the object may have been edited or deleted.
	stale bool
	// successor is the input for another object of the name: a successor's, or a late one for a predecessor.
	successor *Input
	// wishes are those of people to suspend and resume, in their order.
	wishes wishes
	// gone says that the object no longer exists: an activity has seen it.
	gone bool
}
