package config

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	"ostinato.dev/ostinato/internal/command"
	"ostinato.dev/ostinato/internal/k8s"
)

// Kubernetes holds the settings of what a process does in Kubernetes.
type Kubernetes struct {
	// Namespaces are those whose CronJobs and Jobs to serve, and in which alone rights
	// are needed; empty means all. Worker and bridge of one cluster must agree.
	Namespaces []string
	// TakeOver says which unmarked objects are Ostinato's. Worker and bridge of one
	// cluster must agree.
	TakeOver TakeOver
	// KubeQPS and KubeBurst bound this process's requests to the API server; a
	// KubeQPS of 0 leaves that to the server's Priority and Fairness.
	KubeQPS   float64
	KubeBurst int
}

func (k *Kubernetes) addFlags(flags *command.Flags) {
	group := flags.Group(groupKubernetes)
	group.Var((*nameList)(&k.Namespaces), "namespaces", "comma-separated Kubernetes namespaces to serve, with rights in no other; empty means all; the same for worker and bridge")
	group.Var(&k.TakeOver, "takeover", "cronjobs, jobs or both: reconcile CronJobs of batch/v1, Jobs without managedBy too, where kube-controller-manager runs without its cronjob-controller, its job-controller (docs/takeover.md); the same for worker and bridge")
	group.Float64Var(&k.KubeQPS, "kube-qps", 0, "requests a second to the API server; 0 leaves the limit to its Priority and Fairness")
	group.IntVar(&k.KubeBurst, "kube-burst", 100, "requests to the API server at once above --kube-qps, where that is set")
}

func (k Kubernetes) validate(p *problems) {
	for i, namespace := range k.Namespaces {
		p.check(len(validation.IsDNS1123Label(namespace)) == 0, "namespaces", "%q is no namespace name; give names separated by commas", namespace)
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
