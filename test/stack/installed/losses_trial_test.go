//go:build linux && trial

package installed

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/dev/harness"
)

const (
	// losers is the namespace of the CronJobs that are due while something is lost, and loserCount how many there are.
	losers     = "losers"
	loserCount = 100
	// away is how long a node is away, and backupAge how much older a restored copy is than what it takes the place of.
	away      = 2 * time.Minute
	backupAge = 10 * time.Minute
	// recovered bounds the time from a loss to a run of every CronJob after it. The node starts a hundred containers a minute.
	recovered = 10 * time.Minute
)

var (
	statefulSets = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}
	products     = []string{"ostinato-temporal", "ostinato-worker", "ostinato-bridge"}
)

const loser = `
apiVersion: batch.ostinato.dev/v1
kind: CronJob
metadata: {name: loser-%03d}
spec:
  schedule: "* * * * *"
  concurrencyPolicy: %s
  catchUp: all
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, terminationGracePeriodSeconds: 0, containers: [{name: main, image: "busybox:1.28", command: [date]}]}}}}
`

// TestNothingIsMissedOrDoubledByALoss installs the product, has a hundred CronJobs due each minute, and takes from it one thing after
// another. Every CronJob starts every minute (catchUp: all), and a third of them wait for the run before. So each minute of each CronJob
// must have one Job.
func TestNothingIsMissedOrDoubledByALoss(t *testing.T) {
	apply(t, volume+"- {apiVersion: v1, kind: Namespace, metadata: {name: "+losers+"}}\n")
	helm(t, "install", release, cluster.chart, "--version="+chartVersion, "--plain-http", "--set=image.registry=localhost", "--wait", "--timeout=5m")
	database := startDatabase(t)
	book := record(t)
	for n := range loserCount {
		policy := "Allow"
		if n%3 == 0 {
			policy = "Queue"
		}
		create(t, cronJobs, losers, decode(t, fmt.Sprintf(loser, n, policy)))
	}
	first := time.Now().UTC().Truncate(time.Minute).Add(time.Minute)
	beginning := first
	book.awaitAll(t, first, first)
	kubectl(t, "exec", "ostinato-temporal-0", "--", "/temporal", "--data-dir=/data/temporal", "--backup-to=/data/backup")
	backup := time.Now()

	for _, loss := range []struct {
		name  string
		cause func(t *testing.T)
	}{
		{"every Pod of Temporal, worker and bridge is killed, one after another", killPods},
		{"the certificate authority is renewed, and the old one expires", renewAuthority},
		{"the database is deleted", func(t *testing.T) {
			withoutTemporal(t, func(databases string) error { return os.RemoveAll(databases) })
		}},
		{"a copy of ten minutes ago is put back", func(t *testing.T) {
			time.Sleep(time.Until(backup.Add(backupAge)))
			withoutTemporal(t, func(databases string) error {
				if err := os.RemoveAll(databases); err != nil {
					return err
				}
				return os.Rename(filepath.Join(cluster.volume, "backup"), databases)
			})
		}},
		{"an upgrade that moves the data to PostgreSQL", moveTo(database)},
		{"an upgrade that moves the data back to the volume", moveBack},
		{"the node is away for two minutes", loseNode},
		{"an upgrade to another build", func(t *testing.T) { upgrade(t, "--set=image.tag="+changedVersion) }},
		{"a roll-back to the build before", func(t *testing.T) { helm(t, "rollback", release, "--wait", "--timeout=5m") }},
	} {
		passed := t.Run(loss.name, func(t *testing.T) {
			began := time.Now()
			loss.cause(t)
			there := time.Now()
			last := book.awaitAll(t, first, there.Add(time.Minute))
			t.Logf("%s until it was there again; %s", there.Sub(began).Round(time.Second), book.account(t, first, last, began))
			first = last.Add(time.Minute)
		})
		if !passed {
			t.Fatalf("after this loss the next ones say nothing\n%s", told(t))
		}
	}
	// A run may be made again long after its time.
	t.Log(book.account(t, beginning, first.Add(-time.Minute), time.Now()))
}

// killPods kills the Pods of the product one at a time and waits for the next one of its kind.
func killPods(t *testing.T) {
	for _, name := range products {
		before := productPods(t, name)
		for pod := range before {
			now := int64(0)
			if err := cluster.client.Resource(pods).Namespace(namespace).Delete(t.Context(), pod, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
				t.Fatal(err)
			}
		}
		awaitProduct(t, name, before)
	}
}

// loseNode kills the node with everything on it, and has it back after a while as a machine that was started again.
func loseNode(t *testing.T) {
	if err := cluster.node.Processes()[0].Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cluster.node.Stop(); err != nil {
		t.Logf("the rest of the node: %v", err)
	}
	time.Sleep(away)
	changed := filepath.Join(t.TempDir(), "images")
	if err := buildImages(t.Context(), changed, changedVersion); err != nil {
		t.Fatal(err)
	}
	if err := startNode(context.Background(), filepath.Join(changed, "images.tar")); err != nil {
		t.Fatal(err)
	}
	for _, name := range products {
		awaitProduct(t, name, nil)
	}
}

// withoutTemporal does something with the folder of Temporal's databases while no Temporal runs, as docs/temporal.md says.
func withoutTemporal(t *testing.T, do func(databases string) error) {
	scale(t, 0)
	harness.Eventually(t, harness.Recovery, func(context.Context) error {
		if left := productPods(t, "ostinato-temporal"); len(left) > 0 {
			return fmt.Errorf("Temporal still runs: %v", left)
		}
		return nil
	})
	if err := do(filepath.Join(cluster.volume, "temporal", "databases")); err != nil {
		t.Fatal(err)
	}
	scale(t, 1)
	awaitProduct(t, "ostinato-temporal", nil)
}

func scale(t *testing.T, replicas int) {
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	if _, err := cluster.client.Resource(statefulSets).Namespace(namespace).Patch(t.Context(), "ostinato-temporal", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// kubectl runs as an administrator in the product's namespace.
func kubectl(t *testing.T, arguments ...string) {
	t.Helper()
	if err := command(t.Context(), "kubectl", append([]string{"--namespace=" + namespace}, arguments...)...); err != nil {
		t.Fatal(err)
	}
}
