package commands

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
	"ostinato.dev/ostinato/cmd/ostinato/internal/ask"
	"ostinato.dev/ostinato/internal/names"
)

// programDeployment is a Deployment as deploy/base makes it.
func programDeployment(part, image string, ready int32) appsv1.Deployment {
	made := appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: systemNamespace, Name: "ostinato-" + part, Labels: map[string]string{programName: "ostinato-" + part},
	}}
	made.Spec.Replicas, made.Status.ReadyReplicas = ptr.To[int32](2), ready
	made.Spec.Template.Spec.Containers = []corev1.Container{{Name: "sidecar", Image: "proxy:9"}, {Name: part, Image: image}}
	return made
}

// healthy gives the world an installation where all is as it should be.
func healthy(w *world) {
	w.api.deployments = []appsv1.Deployment{programDeployment("worker", "ostinato:v1.2.3", 2), programDeployment("bridge", "ostinato:v1.2.3", 2)}
	w.api.policies = answer.Policies
}

// embedded gives it a Temporal of its own, whose volume waits for a storage class.
func embedded(w *world) {
	healthy(w)
	labels := map[string]string{programName: "ostinato-temporal"}
	temporal := appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: "ostinato-temporal", Labels: labels}}
	temporal.Spec.Template.Spec.Containers = []corev1.Container{{Name: "temporal", Image: "ostinato-temporal:v1.2.3"}}
	temporal.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "scratch"}, {Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "ostinato-temporal"},
	}}}
	w.api.temporals = []appsv1.StatefulSet{temporal}
	claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: "ostinato-temporal", Labels: labels}}
	claim.Status.Phase = corev1.ClaimPending
	w.api.claims = []corev1.PersistentVolumeClaim{claim}
	w.api.classes = []storagev1.StorageClass{{ObjectMeta: metav1.ObjectMeta{Name: "slow"}}}
}

// ailing gives it one where much is not.
func ailing(w *world) {
	w.api.deployments = []appsv1.Deployment{programDeployment("worker", "ostinato:v1.2.3", 0), programDeployment("bridge", "ostinato:v1.1.0", 2)}
	w.api.policies = answer.Policies[1:]
	w.temporal.unpolled = []string{"ostinato-jobs"}
}

var statusScenes = []scene{
	{row: "status", given: healthy, arguments: "status"},
	{row: "status", given: healthy, arguments: "status -A --no-headers"},
	{row: "status", given: ailing, arguments: "status -o json"},
	{row: "status", given: embedded, arguments: "status"},
	{row: "status", given: func(w *world) {
		healthy(w)
		w.temporal.lost = "They hold 5 workflows, of them 2 that had not ended; new ones began empty. The old ones are in /data/temporal/databases-of-a."
	}, arguments: "status"},
	{row: "status", arguments: "status -o name"},
	{row: "status", given: func(w *world) { ailing(w); w.api.cronJobs = w.api.cronJobs[:1] }, arguments: "status"},
	{row: "status", given: func(w *world) { viewer(w); away(w) }, arguments: "status"},
}

func healthOf(t *testing.T, w *world, part string) answer.Health {
	t.Helper()
	p := &person{now: func() time.Time { return now }, system: systemNamespace, temporal: ask.Settings{Address: w.temporal.address}}
	cluster, err := ask.NewCluster(&rest.Config{Host: w.api.URL}, "shop", "")
	require.NoError(t, err)
	cronJobs, err := cluster.CronJobs(t.Context())
	require.NoError(t, err)
	for _, one := range p.health(t.Context(), cluster, cronJobs) {
		if one.Part == part {
			return one
		}
	}
	t.Fatalf("the health has no %s", part)
	return answer.Health{}
}

func TestTheClockIsComparedWithTheAPIServers(t *testing.T) {
	w := newWorld(t)
	healthy(w)
	assert.Equal(t, answer.HealthOK, healthOf(t, w, "clocks").Is)
	for slow, want := range map[time.Duration]string{2 * time.Hour: "ahead of", -2 * time.Hour: "behind"} {
		w.api.slow = slow
		clocks := healthOf(t, w, "clocks")
		assert.Equal(t, answer.HealthWrong, clocks.Is)
		assert.Contains(t, clocks.Why, want+" the API server")
	}
}

// A namespace of Ostinato's is enough, if the person names it.
func TestDeploymentsAreFoundInTheNamespaceThatThePersonMayRead(t *testing.T) {
	w := newWorld(t)
	healthy(w)
	w.api.refuseAt = func(wanted request) *metav1.Status {
		if wanted.resource == "deployments" && wanted.namespace == "" {
			return forbidden("list deployments")("list deployments")
		}
		return nil
	}
	assert.Equal(t, answer.Health{Part: "worker", Is: answer.HealthOK, Why: "2 of 2 ready in ostinato-system/ostinato-worker, image ostinato:v1.2.3"}, healthOf(t, w, "worker"))
}

// A part that never answers costs seconds, and the others are shown.
func TestHealthIsNeverSlow(t *testing.T) {
	w := newWorld(t)
	healthy(w)
	w.temporal.silent = true
	begun := time.Now()
	temporal := healthOf(t, w, "temporal")
	assert.Less(t, time.Since(begun), 2*healthWithin)
	assert.Equal(t, answer.HealthUnseen, temporal.Is)
	assert.Contains(t, temporal.Why, "--temporal-address")
}

func TestTheVolumeOfTemporalNeedsAStorageClass(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*world)
		is     string
	}{
		"none is the default":       {func(*world) {}, answer.HealthWrong},
		"there is none":             {func(w *world) { w.api.classes = nil }, answer.HealthWrong},
		"one is the default":        {func(w *world) { w.api.classes[0].Annotations = map[string]string{defaultClass: "true"} }, answer.HealthWrong},
		"the claim has its volume":  {func(w *world) { w.api.claims[0].Status.Phase = corev1.ClaimBound }, answer.HealthOK},
		"the claim may not be read": {func(w *world) { w.api.refuse = forbidden("get persistentvolumeclaims") }, answer.HealthUnseen},
	} {
		w := newWorld(t)
		embedded(w)
		row.change(w)
		volume := healthOf(t, w, "volume")
		assert.Equal(t, row.is, volume.Is, name)
		assert.Equal(t, name == "none is the default" || name == "there is none", strings.Contains(volume.Why, "none of the cluster is the default"), name)
	}
}

// What stands still when Ostinato goes is what is marked as its own and has not ended.
func TestJobsUnderWayAreNamed(t *testing.T) {
	w := newWorld(t)
	healthy(w)
	running, other := jobOf("orders", "orders-29541340", at(9, 30), "", ""), jobOf("orders", "theirs", at(9, 30), "", "")
	other.Spec.ManagedBy = ptr.To("example.com/other")
	w.api.jobs = append(w.api.jobs, running, other)
	for n := range w.api.jobs {
		if w.api.jobs[n].Spec.ManagedBy == nil {
			w.api.jobs[n].Spec.ManagedBy = ptr.To(names.JobController)
		}
	}
	assert.Equal(t, answer.Health{Part: "jobs", Is: answer.HealthOK, Why: "1 under way: shop/orders-29541340"}, healthOf(t, w, "jobs"))
}

func TestWhereOstinatoIsInTemporal(t *testing.T) {
	worker := programDeployment("worker", "o", 1)
	container := &worker.Spec.Template.Spec.Containers[1]
	container.Env = []corev1.EnvVar{{Name: "TEMPORAL_NAMESPACE", Value: "jobs"}, {Name: "OSTINATO_CLUSTER", Value: "blue"}}
	flagged := *worker.DeepCopy()
	flagged.Spec.Template.Spec.Containers[1].Args = []string{"--cluster=green"}
	seen := report()
	seen.Status.Workflow = &ostinatov1.WorkflowReference{Namespace: "prod", ID: "red/cronjob/shop/report"}
	unseen := report()
	unseen.Status.Workflow = nil
	for name, row := range map[string]struct {
		cronJobs    []ostinatov1.CronJob
		deployments []appsv1.Deployment
		namespace   string
		cluster     names.Cluster
	}{
		"a CronJob's workflow says it":   {[]ostinatov1.CronJob{unseen, seen}, []appsv1.Deployment{worker}, "prod", "red"},
		"no cluster":                     {[]ostinatov1.CronJob{report()}, nil, "default", ""},
		"without one, a worker's values": {[]ostinatov1.CronJob{unseen}, []appsv1.Deployment{worker}, "jobs", "blue"},
		"a flag wins":                    {nil, []appsv1.Deployment{flagged}, "jobs", "green"},
		"nobody says it":                 {},
	} {
		namespace, cluster := placeOf(row.cronJobs, row.deployments)
		assert.Equal(t, row.namespace, namespace, name)
		assert.Equal(t, row.cluster, cluster, name)
	}
}
