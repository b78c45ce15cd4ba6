// Package workflows holds the three Temporal workflows: CronJob (one per
// CronJob object), Job (one per Job object) and PodWatch (one per watch shard).
//
// They are thin, deterministic shells around the pure cores internal/schedule
// and internal/job: receive signals, ask the core, carry out what it says by
// activities, wait. They import names and API types only, no client.
package workflows
