package config

import (
	"fmt"
	"slices"

	"ostinato.dev/ostinato/internal/command"
	"ostinato.dev/ostinato/internal/k8s"
)

// Kubernetes holds the settings of what a process does in Kubernetes.
type Kubernetes struct {
	// Namespaces are those to serve; empty means all.
	Namespaces []string
	TakeOver   TakeOver
	// KubeQPS is 0 for no limit of this process's own.
	KubeQPS   float64
	KubeBurst int
}

func (k *Kubernetes) addFlags(flags *command.Flags) {
	group := flags.Group(groupKubernetes)
	group.Var((*nameList)(&k.Namespaces), "namespaces", "comma-separated Kubernetes namespaces to serve, with rights in no other; empty means all; the same for worker and bridge")
	group.Var(&k.TakeOver, "takeover", "replace kube-controller-manager's controllers of batch/v1 CronJobs (cronjobs), of Jobs without managedBy (jobs), or both, which must be off (docs/takeover.md); the same for worker and bridge")
	group.Float64Var(&k.KubeQPS, "kube-qps", 0, "requests a second to the API server; 0 leaves the limit to the server's Priority and Fairness")
	group.IntVar(&k.KubeBurst, "kube-burst", 100, "requests in a burst above --kube-qps; counts only with --kube-qps")
}

func (k Kubernetes) validate(p *problems) {
	for i, namespace := range k.Namespaces {
		p.namespace(namespace, "namespaces", "give names separated by commas")
		p.check(!slices.Contains(k.Namespaces[:i], namespace), "namespaces", "%q is there twice; name it once", namespace)
	}
	p.check(k.KubeQPS >= 0, "kube-qps", "is %v; set it to 0 or more", k.KubeQPS)
	p.atLeast(k.KubeBurst, 1, "kube-burst")
}

// ClientOptions returns the options of this process's Kubernetes clients. Which API
// server comes from KUBECONFIG, else from the user's default file, else from the
// Pod's service account. Program is the name for the user agent.
func (k Kubernetes) ClientOptions(program string) k8s.ClientOptions {
	options := k8s.ClientOptions{UserAgent: program, QPS: -1}
	if k.KubeQPS > 0 {
		options.QPS, options.Burst = float32(k.KubeQPS), k.KubeBurst
	}
	return options
}

// TakeOver says which objects of batch/v1 are Ostinato's without being marked.
// Worker and bridge of one cluster must agree, and kube-controller-manager must
// run without the controllers taken over (docs/takeover.md).
type TakeOver struct {
	// Jobs are those that name the built-in job controller in spec.managedBy, or nobody.
	Jobs bool
	// CronJobs are those of batch/v1, all of them.
	CronJobs bool
}

// The names of what can be taken over.
const (
	takeOverCronJobs = "cronjobs"
	takeOverJobs     = "jobs"
)

// Any reports whether anything is to be taken over.
func (t TakeOver) Any() bool { return t.Jobs || t.CronJobs }

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
	if err := list.Set(value); err != nil {
		return err
	}
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
