package postgres

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.temporal.io/server/common/persistence"
	"go.temporal.io/server/schema"
)

// Where the server keeps the steps of its PostgreSQL schemas.
const (
	executionsSteps = "postgresql/v12/temporal/versioned"
	visibilitySteps = "postgresql/v12/visibility/versioned"
)

// step leads tables to a version.
type step struct {
	version    version
	manifest   manifest
	statements []string
}

// manifest is what the server says about a step.
type manifest struct {
	Version     string   `json:"CurrVersion"`
	Minimum     string   `json:"MinCompatibleVersion"`
	Description string   `json:"Description"`
	Files       []string `json:"SchemaUpdateCqlFiles"`
}

// concurrently can't be in a transaction, and serves writers that are there meanwhile. There are none.
var concurrently = regexp.MustCompile(`(?i)\bCREATE INDEX CONCURRENTLY\b`)

// readSteps returns the steps in a folder of the server's schemas, oldest first.
func readSteps(folder string) ([]step, error) {
	entries, err := fs.ReadDir(schema.Assets(), folder)
	if err != nil {
		return nil, fmt.Errorf("read the server's schemas: %w", err)
	}
	var steps []step
	for _, entry := range entries {
		one, err := readStep(path.Join(folder, entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("read the server's schema %s of %s: %w", entry.Name(), folder, err)
		}
		steps = append(steps, one)
	}
	slices.SortFunc(steps, func(a, b step) int {
		if a.version.before(b.version) {
			return -1
		}
		return 1
	})
	return steps, nil
}

func readStep(folder string) (step, error) {
	var one step
	data, err := fs.ReadFile(schema.Assets(), path.Join(folder, "manifest.json"))
	if err == nil {
		err = json.Unmarshal(data, &one.manifest)
	}
	if err == nil {
		one.version, err = parseVersion(strings.TrimPrefix(path.Base(folder), "v"))
	}
	if err != nil {
		return step{}, err
	}
	for _, file := range one.manifest.Files {
		text, err := fs.ReadFile(schema.Assets(), path.Join(folder, file))
		if err != nil {
			return step{}, err
		}
		statements, err := persistence.LoadAndSplitQueryFromReaders([]io.Reader{bytes.NewReader(text)})
		if err != nil {
			return step{}, err
		}
		for _, statement := range statements {
			one.statements = append(one.statements, concurrently.ReplaceAllString(statement, "CREATE INDEX"))
		}
	}
	return one, nil
}

func versions(steps []step) []version {
	var all []version
	for _, one := range steps {
		all = append(all, one.version)
	}
	return all
}
