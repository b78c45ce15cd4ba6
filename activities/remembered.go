package activities

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// mostRemembered bounds the CronJobs that are remembered.
const mostRemembered = 4096

// memory holds what this process has read or written last of CronJobs with a run under
// way. It takes the place of a read before a write that the API server refuses unless the
// object is, in etcd, the one that was read; nothing else may rest on it.
type memory struct {
	cronJobs *lru.Cache
}

func newMemory() *memory { return &memory{cronJobs: lru.New(mostRemembered)} }

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
