// Package architecture asserts the import rules of docs/architecture.md.
package architecture

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "ostinato.dev/ostinato/"

// product is the programs that an installation runs and that its users call.
var product = []string{"./cmd/worker", "./cmd/bridge", "./cmd/codecserver", "./cmd/ostinato", temporal}

// temporal is the only one of them that links the Temporal server.
const temporal = "./cmd/temporal"

// dependencies lists what a package imports, itself and through others.
func dependencies(t *testing.T, pkg string) []string {
	t.Helper()
	return list(t, "-deps", pkg)
}

// imports lists what a package imports itself, tests left out.
func imports(t *testing.T, pkg string) []string {
	t.Helper()
	return list(t, "-f", `{{join .Imports "\n"}}`, pkg)
}

func list(t *testing.T, args ...string) []string {
	t.Helper()
	command := exec.Command("go", append([]string{"list"}, args...)...)
	command.Dir = "../.."
	output, err := command.Output()
	if err != nil {
		t.Fatalf("go list %s: %v", strings.Join(args, " "), err)
	}
	return strings.Fields(string(output))
}

func TestNoTemporalServerInTheOtherPrograms(t *testing.T) {
	for _, pkg := range product {
		for _, dependency := range dependencies(t, pkg) {
			if pkg != temporal && strings.HasPrefix(dependency, "go.temporal.io/server") || strings.HasPrefix(dependency, "k8s.io/kubernetes") {
				t.Errorf("%s links %s", pkg, dependency)
			}
		}
	}
}

func TestFewPackagesLinkTheTemporalServer(t *testing.T) {
	allowed := []string{
		module + "internal/temporalserver", module + "cmd/temporal", module + "deploy/temporal-authorizer",
		module + "dev/devstack/temporalcluster/host", module + "dev/cmd/temporalhost", module + "dev/harness/losetimers",
	}
	for _, pkg := range list(t, "./...") {
		if matches(pkg, allowed) {
			continue
		}
		for _, imported := range imports(t, pkg) {
			if strings.HasPrefix(imported, "go.temporal.io/server") {
				t.Errorf("%s imports %s", pkg, imported)
			}
		}
	}
}

func TestTheCoreIsPure(t *testing.T) {
	forbidden := []string{
		"context", "log", "log/slog", "net", "net/http", "os", "os/exec", "math/rand", "math/rand/v2", "sync",
		"k8s.io/client-go", "go.temporal.io", "github.com/prometheus", module + "workflows", module + "activities",
		module + "internal/k8s", module + "internal/protocol", module + "internal/config", module + "internal/telemetry",
	}
	for _, pkg := range []string{"./internal/times", "./internal/ledger", "./internal/schedule", "./internal/job", "./internal/event", "./internal/names", "./internal/claim", "./internal/evidence", "./internal/steering", "./internal/clip"} {
		for _, imported := range imports(t, pkg) {
			if matches(imported, forbidden) {
				t.Errorf("%s imports %s", pkg, imported)
			}
		}
	}
}

// The CronJob's core is of several packages, so that a reader knows what a line may touch.
func TestTheCoreOfACronJobHasWalls(t *testing.T) {
	kubernetes := []string{"k8s.io/api", "k8s.io/apimachinery", "k8s.io/utils/ptr", module + "api/v1"}
	for pkg, allowed := range map[string][]string{
		"./internal/times":    {"github.com/robfig/cron/v3"},
		"./internal/ledger":   append(kubernetes, module+"internal/clip"),
		"./internal/schedule": append(kubernetes, module+"internal/clip", module+"internal/times", module+"internal/ledger", module+"internal/event", module+"internal/names"),
	} {
		for _, imported := range imports(t, pkg) {
			if first, _, _ := strings.Cut(imported, "/"); strings.Contains(first, ".") && !matches(imported, allowed) {
				t.Errorf("%s imports %s", pkg, imported)
			}
		}
	}
}

// What decides the order of work knows of Temporal only how a priority is written.
func TestOrderIsPureButForTheTypeOfAPriority(t *testing.T) {
	for _, imported := range imports(t, "./internal/order") {
		if matches(imported, []string{"context", "log", "net", "os", "sync", "time", "k8s.io", "go.temporal.io", "ostinato.dev"}) && imported != "go.temporal.io/sdk/temporal" {
			t.Errorf("internal/order imports %s", imported)
		}
	}
}

func TestWorkflowsImportNoClient(t *testing.T) {
	for _, dependency := range dependencies(t, "./workflows") {
		if matches(dependency, []string{module + "activities", module + "internal/k8s", module + "internal/bridge", "k8s.io/client-go"}) {
			t.Errorf("workflows depends on %s", dependency)
		}
	}
}

func TestImportsPointOneWay(t *testing.T) {
	for pkg, forbidden := range map[string][]string{
		"./activities":        {module + "workflows", module + "internal/bridge"},
		"./internal/k8s":      {module + "workflows", module + "activities", module + "internal/bridge", module + "internal/protocol"},
		"./internal/bridge":   {module + "workflows", module + "activities"},
		"./internal/protocol": {module + "workflows", module + "activities", module + "internal/k8s", module + "internal/bridge"},
		"./api/v1":            {"ostinato.dev"},
	} {
		for _, imported := range imports(t, pkg) {
			if matches(imported, forbidden) {
				t.Errorf("%s imports %s", pkg, imported)
			}
		}
	}
}

func TestDevelopmentStackAndTestSupportStayOutOfTheProduct(t *testing.T) {
	forbidden := []string{module + "dev", module + "internal/testing"}
	for _, pkg := range product {
		for _, dependency := range dependencies(t, pkg) {
			if matches(dependency, forbidden) {
				t.Errorf("%s links %s", pkg, dependency)
			}
		}
	}
}

func matches(imported string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool {
		return imported == prefix || strings.HasPrefix(imported, strings.TrimSuffix(prefix, "/")+"/")
	})
}
