package activities

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

const (
	// mostRemembered bounds the objects of a kind that are remembered, largestRemembered the
	// encoded size of a Job that is.
	mostRemembered    = 4096
	largestRemembered = 16 << 10
	// jobRemembered is how long a Job is remembered: about as long as nothing but its own
	// workflow writes to it. PodWatch projects status.ready of Pods that last longer.
	jobRemembered = 2 * time.Second
)

// memory holds what this process has read or written last of CronJobs and Jobs with a run
// under way. It takes the place of a read before a write that the API server refuses
// unless the object is, in etcd, the one that was read; nothing else may rest on it.
type memory struct {
	clock    clock.PassiveClock
	cronJobs *lru.Cache
	jobs     *lru.Cache
}

func newMemory(clock clock.PassiveClock) *memory {
	return &memory{clock: clock, cronJobs: lru.New(mostRemembered), jobs: lru.New(mostRemembered)}
}

// rememberedCronJob is of a CronJob what a write of its status needs: its identity, its
// resourceVersion and its conditions. Spec and annotations may be large.
type rememberedCronJob struct {
	object *ostinatov1.CronJob
	digest string
}

// keepCronJob remembers a CronJob as the API server has returned it.
func (m *memory) keepCronJob(cronJob *ostinatov1.CronJob) {
	slim := &ostinatov1.CronJob{
		TypeMeta: cronJob.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{
			Namespace: cronJob.Namespace, Name: cronJob.Name, UID: cronJob.UID, ResourceVersion: cronJob.ResourceVersion,
		},
		Status: ostinatov1.CronJobStatus{Conditions: cronJob.Status.Conditions},
	}
	m.cronJobs.Add(cronJob.UID, rememberedCronJob{slim, schedule.SpecOf(cronJob).Digest()})
}

func (m *memory) forgetCronJob(uid types.UID) { m.cronJobs.Remove(uid) }

// cronJob returns what is remembered of a CronJob whose spec has the digest; nil for
// nothing.
func (m *memory) cronJob(reference protocol.ObjectReference, digest string) *ostinatov1.CronJob {
	value, ok := m.cronJobs.Get(types.UID(reference.UID))
	if !ok {
		return nil
	}
	known := value.(rememberedCronJob)
	if known.digest != digest || cronJobReference(known.object) != reference {
		return nil
	}
	return known.object
}

type rememberedJob struct {
	object *batchv1.Job
	at     time.Time
}

// keepJob remembers a Job of Ostinato's as the API server has returned it.
func (m *memory) keepJob(job *batchv1.Job) {
	if job.Size() > largestRemembered {
		m.forgetJob(job.UID)
		return
	}
	m.jobs.Add(job.UID, rememberedJob{job, m.clock.Now()})
}

func (m *memory) forgetJob(uid types.UID) { m.jobs.Remove(uid) }

// job returns the Job as it is remembered; nil for one that is not.
func (m *memory) job(reference protocol.ObjectReference) *batchv1.Job {
	value, ok := m.jobs.Get(types.UID(reference.UID))
	if !ok {
		return nil
	}
	known := value.(rememberedJob)
	if m.clock.Since(known.at) > jobRemembered || jobReference(known.object) != reference {
		return nil
	}
	return known.object
}
