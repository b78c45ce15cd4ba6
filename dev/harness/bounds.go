package harness

import "time"

// What a wait may take, by what it waits for: each bound is that of the thing itself and Slack. A test that waits for
// something of its own adds that up in the same way; a wait with a number in place of a name fails in test/architecture.
const (
	// Slack is what a machine of two cores that does other things may add to a wait. Two runs of all tests side by side, and
	// a build beside them, have added more than 40 s; on a machine that had a third of its usual speed, waits of a minute
	// have ended too early in one run of all tests.
	Slack = 3 * time.Minute
	// Late is how late a run of a CronJob that is due every minute may start on such a machine: before the next is due.
	Late = 30 * time.Second
	// Prompt bounds what waits for no clock of anyone's: requests, signals, workflow tasks, watches that are open.
	Prompt = Slack
	// Bulk bounds the same for hundreds of Pods, which keep the machine itself busy.
	Bulk = 2 * Slack

	// ReflectorRetry is the longest that a reflector of client-go waits before it looks for an API server again that was
	// away: the cap of its back-off, doubled by jitter. The bridge, PodWatch, the simulated node and
	// kube-controller-manager watch through reflectors.
	ReflectorRetry = 2 * 30 * time.Second

	// HeartbeatTimeout is after what time Temporal gives the activity of a lost worker, PodWatch or bulk work, to another.
	HeartbeatTimeout = 10 * time.Second
	// WorkflowTaskTimeout is the same for a workflow task, Temporal's default.
	WorkflowTaskTimeout = 10 * time.Second
	// ActivityRetry is the longest pause between two attempts of an activity that the API server failed, and
	// BulkActivityRetry that of one that creates, deletes or releases many Pods.
	ActivityRetry, BulkActivityRetry = 10 * time.Second, 30 * time.Second
	// Recovery bounds how long a run takes to go on when workers, Temporal and the API server are there again.
	Recovery = HeartbeatTimeout + WorkflowTaskTimeout + ActivityRetry + Slack

	// AfterOutage bounds the same when it was the API server that was away.
	AfterOutage = ReflectorRetry + ActivityRetry + Slack

	// PodBackoff is the delay after the first failure of a Pod, which doubles with each more.
	PodBackoff = 10 * time.Second
	// RunRetry is the delay after the first refusal of a run's Job, which doubles with each more: what is still to wait
	// is at most the time since the first refusal and RunRetry. It is longer than that of a Pod's refusals, 1 s.
	RunRetry = 10 * time.Second
	// NextMinute bounds the wait for the next run of a CronJob that is due every minute, and for the run.
	NextMinute = time.Minute + Slack

	// CollectorPeriod is how often the garbage collector looks for new kinds of owners. It can't judge a dependent of one
	// that it does not know, and tries again with a back-off that doubles: in at most the time that has passed.
	CollectorPeriod = 30 * time.Second
	// Collected bounds how long dependents outlive their owner.
	Collected = 2*CollectorPeriod + Slack
	// NamespaceLook is the longest that the namespace controller waits before it looks again at what is left in a deleted
	// namespace: half a Pod's grace period and a second.
	NamespaceLook = 16 * time.Second
	// NamespaceRemoved bounds how long a deleted namespace is there: one look deletes, one finds Pods that are held by
	// their finalizer, one finds them gone.
	NamespaceRemoved = 3*NamespaceLook + Slack
	// ProbeWait is how long a bridge that is to take Jobs over waits for the built-in controller to give itself away.
	ProbeWait = 6 * time.Second
	// EventRetry is how long an Event that the API server failed waits in kube-controller-manager.
	EventRetry = 10 * time.Second
)

// The lease of bridges that run with ShortLease.
const (
	leaseDuration = 3 * time.Second
	// LeaseTakeOver is how long a killed bridge's lease keeps the next from leading: it has to see it unrenewed for its
	// duration, and tries at intervals of 2/15 of that, which jitter more than doubles.
	LeaseTakeOver = leaseDuration + 3*leaseDuration*2/15
)

// ShortLease returns arguments for bridges that are killed: by default one would hold its lease for 15 s.
func ShortLease() []string { return []string{"--lease-duration=" + leaseDuration.String()} }
