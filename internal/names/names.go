// Package names holds every name that Ostinato's processes and its users must agree on: workflow
// IDs, task queues, deterministic object names, labels and annotations.
package names

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	batchv1 "k8s.io/api/batch/v1"
)

const (
	// JobController is the value of a Job's spec.managedBy that hands the Job to Ostinato (KEP-4368).
	JobController = "ostinato.dev/job-controller"

	// FieldManagerPrefix begins the names of the field managers of Ostinato's writes.
	FieldManagerPrefix = "ostinato-"

	// TrackingFinalizer is the finalizer that keeps a finished Pod until it is counted; upstream's own, so that its
	// orphan clean-up works after an uninstall (parity 2.18).
	TrackingFinalizer = batchv1.JobTrackingFinalizer

	// ScheduledTimestampAnnotation carries a run's scheduled time (RFC 3339).
	ScheduledTimestampAnnotation = batchv1.CronJobScheduledTimestampAnnotation

	// InstantiateAnnotation marks a Job started by hand, as kubectl does.
	InstantiateAnnotation = "cronjob.kubernetes.io/instantiate"

	// ScheduledTimeVariableAnnotation is on a native CronJob what spec.scheduledTimeVariable is on one of ours.
	ScheduledTimeVariableAnnotation = "ostinato.dev/scheduled-time-variable"

	// BackfillAnnotation is put on the Job of a time that a backfill asked for; its value is the backfill's number.
	BackfillAnnotation = "ostinato.dev/backfill"

	// WatchBucketLabel is put on every Pod; its value (0 to WatchBuckets-1) says which PodWatch shard reports the Pod.
	WatchBucketLabel = "ostinato.dev/watch-bucket"

	// SuspendedByAnnotation, SuspendedAtAnnotation and SuspendNoteAnnotation say on the object who suspended or resumed
	// it by signal, when and why. Who is claimed: by the signal, and by anybody who may write the annotation. When is by Temporal's
	// clock alone. SuspendHeardAtAnnotation is when the last signal was heard that was taken, also one that changed nothing.
	SuspendedByAnnotation    = "ostinato.dev/suspend-claimed-by"
	SuspendedAtAnnotation    = "ostinato.dev/suspend-changed-at"
	SuspendNoteAnnotation    = "ostinato.dev/suspend-note"
	SuspendHeardAtAnnotation = "ostinato.dev/suspend-heard-at"

	// SuspendUserAnnotation and RunUserAnnotation are what deploy/components/who stamps: the user, as the
	// API server knows it, who has changed spec.suspend of a CronJob, or who has made a Job for one.
	SuspendUserAnnotation = "ostinato.dev/suspend-changed-by-user"
	RunUserAnnotation     = "ostinato.dev/run-by-user"

	// PendingDeadlineAnnotation says on a Job or its Pod template how many seconds a
	// Pod may wait for its start before its attempt fails. The Job's own wins.
	PendingDeadlineAnnotation = "ostinato.dev/pending-deadline-seconds"

	// BackoffBaseAnnotation and BackoffCapAnnotation say on a Job or its Pod
	// template how many seconds the first Pod after a failure waits, and any at most.
	BackoffBaseAnnotation = "ostinato.dev/backoff-base-seconds"
	BackoffCapAnnotation  = "ostinato.dev/backoff-cap-seconds"

	// StopAnnotation on a Job ends it: its Pods are deleted, and it is Failed. Its value says who does so, as claimed, and why
	// (job.Stop).
	StopAnnotation = "ostinato.dev/stop"

	// StopUserAnnotation is what deploy/components/who stamps: the user, as the API server knows it, who has written StopAnnotation.
	StopUserAnnotation = "ostinato.dev/stopped-by-user"

	// EvidenceSuccessesAnnotation on a Job, with the value true, has the end of the log of Pods that succeeded kept.
	EvidenceSuccessesAnnotation = "ostinato.dev/evidence-successes"

	// EvidenceAnnotation says on a Namespace, a Job, a Pod template or a Pod how much
	// of a failed Pod its workflow keeps (internal/evidence); the strictest wins.
	EvidenceAnnotation = "ostinato.dev/evidence"

	// TemporalLostData is the key, among the data of a namespace of Temporal, of what the server's databases have lost, in words.
	TemporalLostData = "ostinato.dev/lost"

	// TemporalShortData is the key of what the server is short of, in words.
	TemporalShortData = "ostinato.dev/short"

	// AcceptSignalsAnnotation says on a CronJob or Job which signals it takes from people (internal/steering).
	AcceptSignalsAnnotation = "ostinato.dev/accept-signals"

	// MovedFromAnnotation says on a CronJob which object a move made it from ("<API version>/<UID>"). LastScheduleTimeAnnotation
	// ("<time> noted <time>", RFC 3339) is the time up to which that one has run, and when this was noted: it stands in for
	// status.lastScheduleTime while there is no status, if the object is created within an hour after that.
	// SuspendedForMoveAnnotation (RFC 3339) says that a move has suspended the object, and when.
	MovedFromAnnotation        = "ostinato.dev/moved-from"
	LastScheduleTimeAnnotation = "ostinato.dev/last-schedule-time"
	SuspendedForMoveAnnotation = "ostinato.dev/suspended-for-move"

	// AskedByAnnotation and ChangedAnnotation say on a Job that a person makes for a CronJob who that is, as claimed,
	// and in what the Job is not as the CronJob prescribes it. The ledger has both.
	AskedByAnnotation = "ostinato.dev/run-claimed-by"
	ChangedAnnotation = "ostinato.dev/run-changed"

	// RemovedAnnotation is put on a Pod in the request that takes its finalizer off before it is
	// deleted uncounted: its end is no failure, even to a workflow that has lost its memory of it.
	RemovedAnnotation = "ostinato.dev/removed"

	// CountedAnnotation lists on a Job, separated by commas, the UIDs of the Pods that its counters
	// include and that may still carry the tracking finalizer. It is written in the same request as the
	// counters, so that who starts over from the Job counts no Pod twice.
	CountedAnnotation = "ostinato.dev/counted-pods"

	// WorkflowAnnotation links a Job to its workflow ("<namespace>/<workflow id>"), and a
	// native CronJob to the workflow that has written its status.
	WorkflowAnnotation = "ostinato.dev/workflow"

	// ObservedGenerationAnnotation and NextScheduleTimeAnnotation (RFC 3339) hold of a native CronJob what the status
	// of batch/v1 has no field for. ObservedUIDAnnotation names the CronJob that they belong to: who makes one from a
	// copy copies annotations. StatusRevisionAnnotation holds status.revision and status.planDigest. They are written in the same
	// request as the status.
	ObservedGenerationAnnotation = "ostinato.dev/observed-generation"
	ObservedUIDAnnotation        = "ostinato.dev/observed-uid"
	NextScheduleTimeAnnotation   = "ostinato.dev/next-schedule-time"
	StatusRevisionAnnotation     = "ostinato.dev/status-revision"
)

// WatchBuckets is how many hash buckets Pods are spread over. A PodWatch shard has those congruent to its number.
const WatchBuckets = 16

// CallerHeader is the header of a signal or update that holds how its sender is known and under what name, such as kubernetes:ada,
// as a Temporal server that knows its callers has set it. Any other Temporal server passes on what the sender writes there.
const CallerHeader = "ostinato-caller"

// KubernetesCaller is how people are known: by the name that the API server knows.
const KubernetesCaller = "kubernetes"

// maxUser bounds a user's name that is taken from CallerHeader, in bytes.
const maxUser = 512

// UserOf returns the user's name in a value of CallerHeader. It is empty for a program, and for a name that is too long or has
// characters that are not printable: without them it might be another user's.
func UserOf(caller string) string {
	user, isUser := strings.CutPrefix(caller, KubernetesCaller+":")
	unprintable := func(r rune) bool { return !unicode.IsPrint(r) }
	if !isUser || len(user) > maxUser || !utf8.ValidString(user) || strings.ContainsFunc(user, unprintable) {
		return ""
	}
	return user
}

// TemporalSigner is the signer of certificates by which people are known to a Temporal server of the installation's own.
const TemporalSigner = "ostinato.dev/temporal"

// Cluster is the optional name of the Kubernetes cluster, for a Temporal
// namespace that serves several. The empty Cluster adds no prefix.
type Cluster string

func (c Cluster) prefixed(id string) string {
	if c == "" {
		return id
	}
	return string(c) + "/" + id
}

// CronJobWorkflowID returns the ID of a CronJob's workflow.
func (c Cluster) CronJobWorkflowID(namespace, name string) string {
	return c.prefixed("cronjob/" + namespace + "/" + name)
}

// NativeCronJobWorkflowID returns that of a CronJob of batch/v1: one of batch.ostinato.dev may have the same name.
func (c Cluster) NativeCronJobWorkflowID(namespace, name string) string {
	return c.prefixed("batch-cronjob/" + namespace + "/" + name)
}

// JobWorkflowID returns the ID of a Job's workflow.
func (c Cluster) JobWorkflowID(namespace, name string) string {
	return c.prefixed("job/" + namespace + "/" + name)
}

// PodWatchWorkflowID returns the ID of the workflow of one watch shard.
func (c Cluster) PodWatchWorkflowID(shard, shards int) string {
	return c.prefixed(fmt.Sprintf("podwatch/%d-of-%d", shard, shards))
}

// ControlTaskQueue is where CronJob and PodWatch workflows run, with their short activities.
func (c Cluster) ControlTaskQueue() string { return c.prefixed("ostinato") }

// JobTaskQueue is where Job workflows run, with their short activities: apart from the CronJob
// workflows, so that a burst of runs in progress does not delay runs that are due.
func (c Cluster) JobTaskQueue() string { return c.prefixed("ostinato-jobs") }

// BulkTaskQueue is where bulk Pod creates and deletes run, rate limited.
func (c Cluster) BulkTaskQueue() string { return c.prefixed("ostinato-bulk") }

// WatchTaskQueue is where the PodWatch activity runs.
func (c Cluster) WatchTaskQueue() string { return c.prefixed("ostinato-watch") }

// ParseCronJobWorkflowID is the inverse of CronJobWorkflowID; ok is false for another cluster's ID or another kind's.
func (c Cluster) ParseCronJobWorkflowID(id string) (namespace, name string, ok bool) {
	return c.parse("cronjob", id)
}

// ParseNativeCronJobWorkflowID is the inverse of NativeCronJobWorkflowID.
func (c Cluster) ParseNativeCronJobWorkflowID(id string) (namespace, name string, ok bool) {
	return c.parse("batch-cronjob", id)
}

// ParseJobWorkflowID is the inverse of JobWorkflowID.
func (c Cluster) ParseJobWorkflowID(id string) (namespace, name string, ok bool) {
	return c.parse("job", id)
}

func (c Cluster) parse(kind, id string) (namespace, name string, ok bool) {
	rest, ok := strings.CutPrefix(id, c.prefixed(kind+"/"))
	namespace, name, _ = strings.Cut(rest, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return "", "", false
	}
	return namespace, name, true
}

// ScheduledJob returns the name of the Job for a scheduled time: CronJob and minutes since the epoch (parity 1.7).
func ScheduledJob(cronJob string, scheduled time.Time) string {
	return cronJob + "-" + strconv.FormatInt(scheduled.Unix()/60, 10)
}

// TriggeredJob returns the name of the Job for the CronJob's sequence-th manual trigger. Its suffix has the
// 11 characters that CronJob names leave free, and a letter first, unlike that of a ScheduledJob.
func TriggeredJob(cronJob, cronJobUID string, sequence int64) string {
	return cronJob + "-t" + digest(cronJobUID, strconv.FormatInt(sequence, 10))
}

// BackfilledJob returns the name of the Job for a scheduled time that the CronJob's sequence-th backfill runs. Each
// backfill runs a time anew, and no name equals that of a ScheduledJob or a TriggeredJob.
func BackfilledJob(cronJob, cronJobUID string, sequence int64, scheduled time.Time) string {
	return cronJob + "-b" + digest(cronJobUID, strconv.FormatInt(sequence, 10), strconv.FormatInt(scheduled.Unix(), 10))
}

// podBase is how long a Pod's name may be before its suffix of five characters, as upstream generates it (parity 2.5).
const podBase = 58

// Pod returns the name of a Job's attempt-th Pod: the Job's name and a suffix made from its UID and
// the attempt, so that a repeated create meets its own Pod and a re-created Job does not.
func Pod(job, jobUID string, attempt int64) string {
	return podPrefix(job) + podSuffix(jobUID, attempt)
}

// IndexedPod returns the name of the attempt-th Pod of a completion index.
func IndexedPod(job, jobUID string, index int32, attempt int64) string {
	return IndexedPodPrefix(job, index) + podSuffix(jobUID, attempt)
}

// IndexedPodPrefix is upstream's generateName for the Pods of a completion index
// (parity 2.10): the Job's name is cut where the whole would be too long.
func IndexedPodPrefix(job string, index int32) string {
	suffix := "-" + strconv.Itoa(int(index)) + "-"
	return job[:min(len(job), podBase-len(suffix))] + suffix
}

// InShard reports whether one of the PodWatch shards watches a Job and its Pods.
func InShard(jobUID string, shard, shards int) bool { return watchBucket(jobUID)%shards == shard }

// WatchBucket returns the value of WatchBucketLabel for the Pods of a Job.
func WatchBucket(jobUID string) string { return strconv.Itoa(watchBucket(jobUID)) }

func watchBucket(jobUID string) int {
	hash := fnv.New32a()
	hash.Write([]byte(jobUID))
	return int(hash.Sum32() % WatchBuckets)
}

// digest returns nine characters, lower case letters and digits 2 to 7.
func digest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:9]
}
