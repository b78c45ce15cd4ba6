package config

import "ostinato.dev/ostinato/internal/k8s"

// Kubernetes returns the options of this process's Kubernetes clients. Which API
// server comes from KUBECONFIG, else from the user's default file, else from the
// Pod's service account. Program is the name for the user agent.
func (c Common) Kubernetes(program string) k8s.ClientOptions {
	options := k8s.DefaultClientOptions(program)
	if c.KubeQPS > 0 {
		options.QPS, options.Burst = float32(c.KubeQPS), c.KubeBurst
	}
	return options
}
