// Command bench compares Ostinato with the controllers of kube-controller-manager, on one API server with simulated
// Pods, and prints tables and profiles. Run it by `make bench`; docs/performance.md says what the figures mean.
//
// Each column (a set of controllers) runs alone, each scenario starts from an empty namespace and a quiet machine. All
// times are taken when the bench's own watch sees a change, with the clock of this machine, since timestamps in objects
// have whole seconds only.
package main
