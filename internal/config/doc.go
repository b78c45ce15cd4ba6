// Package config reads the settings of the worker and the bridge.
//
// Every flag has an environment twin: --kube-qps is OSTINATO_KUBE_QPS. A flag wins over the environment, the environment over the
// default. The connection to Temporal is configured as every Temporal tool's is, by TEMPORAL_* variables and profile files
// (go.temporal.io/sdk/contrib/envconfig), and the connection to Kubernetes by KUBECONFIG or the Pod's service account.
//
// A file holds a group of settings: what they mean, their flags, and what is wrong with them.
//
// Words of Ostinato's own are in docs/glossary.md.
package config
