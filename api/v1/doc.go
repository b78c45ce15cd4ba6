// Package v1 holds the types of batch.ostinato.dev/v1.
//
// A CronJob has every field of batch/v1 CronJob with the same meaning, so that a
// manifest moves by a change of its apiVersion.
//
// Words of Ostinato's own are in docs/glossary.md.
//
// +kubebuilder:object:generate=true
// +groupName=batch.ostinato.dev
package v1
