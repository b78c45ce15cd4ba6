// Command requests compares forms of one request by what each costs kube-apiserver in processor time. It starts an API
// server and etcd of its own; --help lists what there is to compare.
//
//	go run ./dev/bench/requests --compare=releases
//
// The forms take turns, so that what else the machine does meets all of them; compare them with each other, not with
// those of another run.
package main
