// Package integration tests Ostinato as its users meet it: real API server and
// etcd, real Temporal, worker and bridge as processes, Pods on a simulated node.
package integration

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"ostinato.dev/ostinato/dev/devstack"
	"ostinato.dev/ostinato/dev/harness"
)

var (
	stack *harness.Harness
	// auditLog is where the API server writes every change it was asked for, and what those of auditedNamespace read.
	auditLog string
	// record makes TestHistory keep what it reads for the replay tests.
	record = flag.Bool("record", false, "write histories to workflows/testdata/history")
)

// auditedNamespace is that of the service accounts whose every request is logged.
const auditedNamespace = "audited"

// auditPolicy logs requests, without bodies, once they are answered.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- level: Metadata
  verbs: [create, update, patch, delete]
- level: Metadata
  userGroups: ["system:serviceaccounts:` + auditedNamespace + `"]
- level: None
`

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "ostinato-audit-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	policy := filepath.Join(dir, "policy.yaml")
	auditLog = filepath.Join(dir, "audit.log")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	options := devstack.Options{
		APIServerFlags: []string{"--audit-policy-file=" + policy, "--audit-log-path=" + auditLog, "--audit-log-mode=blocking"},
	}
	return harness.Main(m, options, func(h *harness.Harness) { stack = h })
}
