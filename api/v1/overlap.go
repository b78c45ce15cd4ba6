package v1

import batchv1 "k8s.io/api/batch/v1"

// QueueConcurrent is the concurrency policy of a run that waits until no other is active.
const QueueConcurrent batchv1.ConcurrencyPolicy = "Queue"
