// Package protocol is the wire contract between the bridge, the workflows and the activities: workflow types and
// inputs, signals, queries, activity names, requests and results. All of it ends up in Temporal histories, so a change
// must keep old histories readable: add optional fields, never rename or reuse.
//
// No type here holds a Pod template, an image, a command or a service account: Kubernetes RBAC stays the only authority
// over what runs.
//
// Words of Ostinato's own are in docs/glossary.md.
package protocol
