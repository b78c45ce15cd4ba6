package bridge

import (
	"log/slog"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/clock"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
)

// builtInLogPeriod is the shortest time between two lines about the built-in
// controllers' writes.
const builtInLogPeriod = time.Minute

// rivalry reports that a built-in controller has written the status of something that is
// taken over. The probe at start may have come before it was started.
type rivalry struct {
	metrics *Metrics
	logger  *slog.Logger
	clock   clock.WithTicker

	mu     sync.Mutex
	logged time.Time
}

func (r *rivalry) foughtJob(job *batchv1.Job) {
	r.metrics.builtInWrites.Inc()
	r.say("kube-controller-manager wrote the status of a Job taken over, so its job controller runs too; "+
		"run it with --controllers=*,-job-controller (docs/takeover.md), or bridge and workers without --takeover=jobs",
		job.Namespace, job.Name)
}

func (r *rivalry) foughtCronJob(cronJob *ostinatov1.CronJob) {
	r.metrics.builtInCronJobWrites.Inc()
	r.say("kube-controller-manager wrote the status of a CronJob taken over, so its cronjob controller runs too; "+
		"run it with --controllers=*,-cronjob-controller (docs/takeover.md), or bridge and workers without --takeover=cronjobs",
		cronJob.Namespace, cronJob.Name)
}

func (r *rivalry) say(message, namespace, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.clock.Now(); now.Sub(r.logged) >= builtInLogPeriod {
		r.logged = now
		r.logger.Error(message, "namespace", namespace, "name", name)
	}
}
