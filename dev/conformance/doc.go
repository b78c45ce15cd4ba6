// Command conformance judges a Job controller by Kubernetes' own end-to-end suite, unmodified: the specs of Jobs and of
// their TTL. Run it by `make conformance`.
//
// It brings up a control plane and a real node (Linux, root), and one of two controllers: Ostinato, which takes over where
// kube-controller-manager runs without its own, or kube-controller-manager as it is. The suite's processes run specs in
// parallel and those that ask for it alone. What is found goes to docs/conformance/<controller>.json, and both together make
// docs/conformance.md.
package main
