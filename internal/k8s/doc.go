// Package k8s holds Ostinato's dealings with the Kubernetes API: clients, the
// rendering of Jobs and Pods from their templates, the reading of Pods into
// facts, the Pod informer, and status by server-side apply.
//
// Rendering and reading are pure functions. What runs is always rendered from an
// object read from the API server, never from a workflow's input.
package k8s
