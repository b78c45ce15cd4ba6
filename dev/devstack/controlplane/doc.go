// Package controlplane runs a real Kubernetes control plane as child processes on the loopback address: etcd,
// kube-apiserver and, as asked for, kube-controller-manager and kube-scheduler.
//
// Everything it keeps is under one folder. Starting again in the same folder finds all objects as they were, with the
// same certificate authority, service account key and, where they are still free, ports; the kubeconfig's path never
// changes. Access is by client certificates of an authority of its own and RBAC decides, as in a real cluster.
package controlplane
