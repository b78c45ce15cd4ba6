//go:build linux

package doors

import (
	"slices"
	"strings"
)

// row is a kind of port: what it answers a stranger, and why.
type row struct {
	// answers are the requests that succeed; one that ends with * stands for all that begin so. All others must fail.
	answers []string
	// why says what keeps a stranger out, and what the answers give away.
	why string
}

// pattern returns which of the answers stands for a request, "" where none does.
func (r row) pattern(request string) string {
	for _, pattern := range r.answers {
		if begin, some := strings.CutSuffix(pattern, "*"); pattern == request || some && strings.HasPrefix(request, begin) {
			return pattern
		}
	}
	return ""
}

// health is what says only whether a server lives.
var health = []string{"GET /healthz", "GET /livez", "GET /readyz"}

// severalRoles is a program of which not every stack with it has all roles.
const severalRoles = "temporalhost"

// kubeletDoor is the port of a real node, whose network is its own: the program that started the stack passes on to the kubelet
// what comes there.
const kubeletDoor = "doors.test"

// table has every port of the development stack, by the program that listens and the flag or variable that gives it the
// port, or says what the process is.
var table = map[string]row{
	"etcd --listen-client-urls":             {why: "the API server and the stack have certificates of an authority that signs for nothing else"},
	"etcd --listen-peer-urls":               {why: "the same; there is no other member"},
	"kube-apiserver --secure-port":          {answers: health, why: "RBAC decides about the rest"},
	"kube-controller-manager --secure-port": {answers: []string{"GET /healthz"}, why: "the API server is asked who may read the rest"},
	"kube-scheduler --secure-port":          {answers: health, why: "the API server is asked who may read the rest"},
	"kwok --node-port": {
		answers: slices.Concat(health, []string{
			"GET /containerLogs/default/" + thePod + "/" + thePod,
			"GET /containerLogs/default/no-such-pod/no-such-container",
			"GET /discovery/prometheus", "GET /metrics",
		}),
		why: "kwok wants no credentials, and has nothing: numbers about itself, one sentence as the log of every Pod, also of " +
			"one that does not exist, and a port forward that leads to Temporal",
	},
	kubeletDoor: {why: "it leads to the kubelet, and only the API server has a certificate of the authority that the kubelet trusts"},

	"temporal --address": {answers: []string{"gRPC *"}, why: "Temporal is open to every user of this machine, as make dev says"},
	"temporal --ui-address": {
		answers: []string{"GET *"},
		why:     "Temporal's UI is open to every user of this machine, as make dev says, but changes nothing for a page of another origin",
	},
	"temporal": {answers: []string{"gRPC *"}, why: "history, matching and Temporal's own worker: Temporal is open"},

	"worker OSTINATO_HEALTH_ADDRESS":  {answers: []string{"GET /healthz", "GET /readyz"}, why: "it says only whether the worker lives"},
	"worker OSTINATO_METRICS_ADDRESS": {answers: []string{"GET /metrics"}, why: "numbers, by names of queues and namespaces"},
	"bridge OSTINATO_HEALTH_ADDRESS":  {answers: []string{"GET /healthz", "GET /readyz"}, why: "it says only whether the bridge lives"},
	"bridge OSTINATO_METRICS_ADDRESS": {answers: []string{"GET /metrics"}, why: "numbers, by names of queues and namespaces"},

	"postgres":                     {why: "it wants a password"},
	"temporalhost --role=frontend": {why: "clients have certificates; at the other port hosts find one another"},
	"temporalhost --role=history":  {why: "hosts have certificates; at the other port they find one another"},
	"temporalhost --role=matching": {why: "hosts have certificates; at the other port they find one another"},
	"temporalhost --role=worker":   {why: "hosts have certificates; at the other port they find one another"},
	"temporalhost --role=ui": {
		answers: []string{"GET *"},
		why:     "Temporal's UI is open to every user of this machine, as make dev says, and may only read",
	},
}
