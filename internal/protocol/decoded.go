package protocol

// Decoded returns a new value of each type that bytes of strangers are decoded into: inputs and
// results of workflows and activities, arguments of signals, updates and queries, answers to queries, heartbeats,
// and recorded side effects. Whoever may write to Temporal may have written any of them, so each that holds lists
// or maps bounds itself before it takes memory (bounded.go).
func Decoded() []any {
	return []any{
		// Workflows.
		new(JobInput), new(CronJobInput), new(PodWatchInput), new(JobClosing),
		// Signals.
		new(CronJobSpec), new(JobSpec), new(PodFacts), new(JobClosed), new(JobSeen), new(Deleted),
		// Updates and queries.
		new(BackfillRequest), new(TriggerRequest), new(LedgerQuestion), new(JobDescription), new(CronJobDescription), new(Described),
		// Activities.
		new(StartRunRequest), new(StartRunResult), new(WriteStatusRequest), new(WriteStatusResult), new(FindRunsRequest), new(FindRunsResult),
		new(SignalAcceptedRequest), new(SignalAcceptedResult), new(JobRequest), new(JobResult),
		new(ListPodsRequest), new(TerminatePodsRequest), new(PodList), new(ReleaseOrphansRequest), new(ReleaseOrphansResult),
		new(SetSuspendRequest), new(SetSuspendResult),
		// Heartbeats.
		// Side effects.
		new(Evaluation), new(BackfillTimes),
	}
}
