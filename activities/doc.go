// Package activities carries out, against the Kubernetes API, what workflows have planned, and reports Pods to Job workflows.
//
// Every write is idempotent: names are deterministic, owners' UIDs are verified, deletes and patches carry the UID they
// are meant for, status is applied whole. So an activity may be repeated, or run twice at a time, at any point.
//
// What the API server refuses is data in the result, to plan with. Errors are outages, which Temporal retries. What
// runs is always rendered from the CronJob or Job object as the API server has it.
//
// Words of Ostinato's own are in docs/glossary.md.
package activities
