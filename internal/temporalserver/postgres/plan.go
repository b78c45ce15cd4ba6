package postgres

import (
	"fmt"
	"strconv"
	"strings"
)

// version is the first two numbers of one.
type version struct{ major, minor int }

func (v version) String() string { return fmt.Sprintf("%d.%d", v.major, v.minor) }

func (v version) before(other version) bool {
	return v.major < other.major || v.major == other.major && v.minor < other.minor
}

// parseVersion reads a version such as 1.19 or 1.32.1.
func parseVersion(text string) (version, error) {
	major, rest, _ := strings.Cut(text, ".")
	minor, _, _ := strings.Cut(rest, ".")
	first, err := strconv.Atoi(major)
	if err != nil {
		return version{}, fmt.Errorf("%q is no version", text)
	}
	second, err := strconv.Atoi(minor)
	if err != nil {
		return version{}, fmt.Errorf("%q is no version", text)
	}
	return version{first, second}, nil
}

// state is what databases say about themselves.
type state struct {
	// tables is the version of the tables, empty where there are none.
	tables string
	// server is the version of the Temporal server that used the databases last, empty where they don't say.
	server string
}

// plan returns the versions to which tables have to be led, one after the other, for a server that wants the last of known.
//
// A server works with what the next minor version left, so that a roll-back finds its tables, but with nothing later. From
// further back than the minor version before its own Temporal has tested no way: plan refuses to skip one.
func plan(found state, server version, known []version) ([]version, error) {
	if found.tables == "" {
		return known, nil
	}
	tables, err := parseVersion(found.tables)
	if err != nil {
		return nil, fmt.Errorf("version of the tables: %w", err)
	}
	last := known[len(known)-1]
	if found.server == "" {
		if tables != last {
			return nil, fmt.Errorf("the tables have version %s, this version of Ostinato needs %s, and nothing says which Temporal server used them: lead them to %s by Temporal's own tool (temporal-sql-tool), or name a new database", tables, last, last)
		}
		return nil, nil
	}
	used, err := parseVersion(found.server)
	if err != nil {
		return nil, fmt.Errorf("version of the server that used the tables: %w", err)
	}
	next := version{used.major, used.minor + 1}
	switch {
	case server.major != used.major:
		return nil, fmt.Errorf("the databases were last used by Temporal %s, and this version of Ostinato has Temporal %s: there is no way from one to the other", used, server)
	case next.before(server):
		return nil, fmt.Errorf("the databases were last used by Temporal %s, and this version of Ostinato has Temporal %s: run a version of Ostinato with Temporal %s before, since none may be skipped", used, server, next)
	case server.minor+1 < used.minor:
		return nil, fmt.Errorf("the databases were last used by Temporal %s, and this version of Ostinato has Temporal %s, which can go back no further than from %d.%d: run a later version of Ostinato", used, server, server.major, server.minor+1)
	}
	if last.before(tables) {
		return nil, nil
	}
	for n, one := range known {
		if one == tables {
			return known[n+1:], nil
		}
	}
	return nil, fmt.Errorf("the tables have version %s, which Temporal %s does not know", tables, server)
}
