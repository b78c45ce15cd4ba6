package postgres

import (
	"strings"
	"testing"
)

// The server's own steps are in order, end where the server wants them, and fit into a transaction.
func TestTheServersSteps(t *testing.T) {
	for folder, want := range map[string]string{executionsSteps: "1.19", visibilitySteps: "1.14"} {
		steps, err := readSteps(folder)
		if err != nil {
			t.Fatal(err)
		}
		if got := steps[len(steps)-1].version.String(); got != want {
			t.Errorf("%s ends with %s, want %s: the versions of schema/postgresql/v12", folder, got, want)
		}
		statements := 0
		for n, one := range steps {
			if n > 0 && !steps[n-1].version.before(one.version) {
				t.Errorf("%s comes after %s", one.version, steps[n-1].version)
			}
			if one.manifest.Version != one.version.String() || one.manifest.Minimum == "" {
				t.Errorf("step %s has the manifest %+v", one.version, one.manifest)
			}
			for _, statement := range one.statements {
				statements++
				if strings.Contains(strings.ToUpper(statement), "CONCURRENTLY") {
					t.Errorf("step %s can't be in a transaction: %s", one.version, statement)
				}
			}
		}
		if statements < 30 {
			t.Errorf("%s has %d statements", folder, statements)
		}
	}
}
