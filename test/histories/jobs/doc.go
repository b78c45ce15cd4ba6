// Package jobs plays histories of a Job to the workflow of a Job and its activities, on a fake API server and a simulated clock: Pods
// that start, end and are deleted, the facts that PodWatch signals, edits, signals, an API server that refuses. Each history is played once
// to its end, and then again for every write to the API server, after which everything is lost that a worker has in its memory, as when
// a node goes down between a write and its answer.
//
// The workflow and the activities are the real ones. The part of Temporal is played by package play; PodWatch, the bridge and the
// kubelet are played here.
package jobs
