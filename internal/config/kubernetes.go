package config

import (
	"fmt"
	"math"
	"slices"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"ostinato.dev/ostinato/internal/command"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/order"
)

// Kubernetes holds the settings of what a process does in Kubernetes.
type Kubernetes struct {
	// Namespaces are those to serve; empty means all.
	Namespaces []string
	TakeOver   TakeOver
	// KubeQPS is 0 for no limit of this process's own.
	KubeQPS float64
}

func (k *Kubernetes) addFlags(flags *command.Flags) {
	group := flags.Group(groupKubernetes)
	group.Var((*nameList)(&k.Namespaces), "namespaces", "comma-separated Kubernetes namespaces to serve, with rights in no other; empty means all; the same for worker and bridge")
	group.Var(&k.TakeOver, "takeover", "replace kube-controller-manager's controllers of batch/v1 CronJobs (cronjobs), of Jobs without managedBy (jobs), or both, which must be off (docs/takeover.md); the same for worker and bridge")
	group.Float64Var(&k.KubeQPS, "kube-qps", 0, "requests a second to the API server, and as many in a burst; 0 leaves the limit to the server's Priority and Fairness")
}

func (k Kubernetes) validate(p *problems) {
	for i, namespace := range k.Namespaces {
		p.namespace(namespace, "namespaces", "give names separated by commas")
		p.check(!slices.Contains(k.Namespaces[:i], namespace), "namespaces", "%q is there twice; name it once", namespace)
	}
	p.check(k.KubeQPS >= 0, "kube-qps", "is %v; set it to 0 or more", k.KubeQPS)
}

// RESTConfig returns the configuration of this process's Kubernetes clients: that of KUBECONFIG, else of ~/.kube/config,
// else of the Pod's service account. userAgent names the process in the API server's audit log.
func (k Kubernetes) RESTConfig(userAgent string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("load Kubernetes client configuration: %w", err)
	}
	// By default there is no limit of our own: requests are already bounded by the number of workers, and the API server's
	// Priority and Fairness, which sees all clients, is the better judge of what it can take. It answers 429 with
	// Retry-After, which client-go and the activities honour.
	config.UserAgent, config.QPS = userAgent, -1
	if k.KubeQPS > 0 {
		config.QPS, config.Burst = float32(k.KubeQPS), int(math.Ceil(k.KubeQPS))
	}
	return config, nil
}

// TakeOver says which objects of batch/v1 are Ostinato's without being marked. Worker and bridge of one cluster must
// agree, and kube-controller-manager must run without the controllers taken over (docs/takeover.md).
type TakeOver struct {
	// Jobs are those that name the built-in job controller in spec.managedBy, or no controller.
	Jobs bool
	// CronJobs are those of batch/v1, all of them.
	CronJobs bool
}

// The names of what can be taken over.
const takeOverCronJobs, takeOverJobs = "cronjobs", "jobs"

// String, Type and Set make *TakeOver a flag: a comma-separated list.
func (t *TakeOver) String() string {
	var names nameList
	if t.CronJobs {
		names = append(names, takeOverCronJobs)
	}
	if t.Jobs {
		names = append(names, takeOverJobs)
	}
	return names.String()
}

// Type is what help calls the value.
func (t *TakeOver) Type() string { return "names" }

// Set reads the list; the last one given counts.
func (t *TakeOver) Set(value string) error {
	var list nameList
	_ = list.Set(value) // Every text is a list.
	*t = TakeOver{}
	for _, name := range list {
		switch name {
		case takeOverJobs:
			t.Jobs = true
		case takeOverCronJobs:
			t.CronJobs = true
		default:
			return fmt.Errorf("%q can't be taken over; use cronjobs, jobs or both, or leave it empty", name)
		}
	}
	return nil
}

// Jobs holds the settings of how Jobs are run.
type Jobs struct {
	// JobDefaults are what a Job gets that does not say it itself, in whole seconds.
	// Worker and bridge of one cluster must agree: either may read a Job first.
	JobDefaults job.Defaults
	// Weights are the shares of Kubernetes namespaces. Worker and bridge of one cluster should agree: either starts workflows.
	Weights order.Weights
}

func (j *Jobs) addFlags(flags *command.Flags) {
	group := flags.Group(groupJobs)
	group.DurationVar(&j.JobDefaults.BackoffBase, "pod-backoff-base", job.DefaultBackoffBase,
		"wait before the next Pod after a failure, doubled with each failure; a Job's annotation wins; the same for worker and bridge")
	group.DurationVar(&j.JobDefaults.BackoffCap, "pod-backoff-cap", job.DefaultBackoffCap,
		"longest wait before a Pod after failures; a Job's annotation wins; the same for worker and bridge")
	flags.Group(groupWork).Var(&j.Weights, "fairness-weights",
		"comma-separated namespace=weight, 0.001 to 1000: the share of a Kubernetes namespace when runs wait, relative to others, which have 1; the same for worker and bridge")
}

func (j Jobs) validate(p *problems) {
	base, limit := j.JobDefaults.BackoffBase, j.JobDefaults.BackoffCap
	p.wholeSeconds(base, "pod-backoff-base")
	p.wholeSeconds(limit, "pod-backoff-cap")
	p.check(base <= limit, "pod-backoff-base", "is %v; set it to --pod-backoff-cap, %v, or less", base, limit)
	for _, namespace := range j.Weights.Namespaces() {
		p.namespace(namespace, "fairness-weights", "give namespace=weight, separated by commas")
	}
}
