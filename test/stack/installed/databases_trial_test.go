//go:build linux && trial

package installed

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	devpostgres "ostinato.dev/ostinato/dev/devstack/postgres"
	"ostinato.dev/ostinato/dev/devstack/process"
)

var secrets = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// databaseSecret names the Secret with the address of PostgreSQL.
const databaseSecret = "database"

// startDatabase runs PostgreSQL on the host until the test ends.
func startDatabase(t *testing.T) *devpostgres.Server {
	t.Helper()
	port, err := process.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "ostinato-installed-postgres-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	server, err := devpostgres.Start(t.Context(), devpostgres.Options{
		Dir: filepath.Join(dir, "data"), Port: port, Connections: 100, LogFile: filepath.Join(dir, "log"), Log: t.Output(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := server.Stop()
		if err != nil {
			t.Error(err)
		}
	})
	return server
}

// moveTo returns an upgrade that has Temporal keep its data in a PostgreSQL outside the cluster.
func moveTo(server *devpostgres.Server) func(t *testing.T) {
	return func(t *testing.T) {
		inside, err := cluster.node.Admit(server.Address)
		if err != nil {
			t.Fatal(err)
		}
		create(t, secrets, namespace, decode(t, fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata: {name: %s}
stringData: {url: "postgres://%s:%s@%s/ostinato?sslmode=disable"}
`, databaseSecret, devpostgres.User, server.Password, inside)))
		before := productPods(t, "ostinato-temporal")
		upgrade(t, "--set=temporal.embedded.postgresql.secretName="+databaseSecret)
		awaitProduct(t, "ostinato-temporal", before)
	}
}

// moveBack is an upgrade that has Temporal keep its data on the volume again, where the database from before the move is.
func moveBack(t *testing.T) {
	before := productPods(t, "ostinato-temporal")
	upgrade(t, "--set=temporal.embedded.postgresql.secretName=")
	awaitProduct(t, "ostinato-temporal", before)
}

// upgrade has helm change values of the release.
func upgrade(t *testing.T, values ...string) {
	t.Helper()
	helm(t, append([]string{"upgrade", release, cluster.chart, "--version=" + chartVersion, "--plain-http", "--reuse-values", "--wait", "--timeout=5m"}, values...)...)
}
