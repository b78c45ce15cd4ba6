package postgres

import (
	"slices"
	"strings"
	"testing"
)

func TestPlan(t *testing.T) {
	known := []version{{1, 0}, {1, 1}, {1, 9}, {1, 10}, {1, 19}}
	server := version{1, 32}
	for _, test := range []struct {
		name      string
		found     state
		want      []version
		wantError string
	}{
		{name: "no tables", want: known},
		{name: "no tables any more", found: state{server: "1.10.0"}, want: known},
		{name: "the same server", found: state{tables: "1.19", server: "1.32.0"}},
		{name: "a later patch of it", found: state{tables: "1.19", server: "1.32.9"}},
		{name: "the minor version before", found: state{tables: "1.9", server: "1.31.2"}, want: []version{{1, 10}, {1, 19}}},
		{name: "a process was killed between two steps", found: state{tables: "1.0", server: "1.32.1"}, want: []version{{1, 1}, {1, 9}, {1, 10}, {1, 19}}},
		{name: "nothing to do for the minor version before", found: state{tables: "1.19", server: "1.31.2"}},
		{name: "a minor version would be skipped", found: state{tables: "1.9", server: "1.30.4"}, wantError: "run a version of Ostinato with Temporal 1.31 before, since none may be skipped"},
		{name: "one would be skipped, even if no table changes", found: state{tables: "1.19", server: "1.30.4"}, wantError: "Temporal 1.31 before"},
		{name: "back by one minor version", found: state{tables: "1.20", server: "1.33.0"}},
		{name: "back by two", found: state{tables: "1.20", server: "1.34.0"}, wantError: "can go back no further than from 1.33"},
		{name: "another major version", found: state{tables: "1.19", server: "2.0.0"}, wantError: "there is no way from one to the other"},
		{name: "made by Temporal's own tool", found: state{tables: "1.19"}},
		{name: "made by Temporal's own tool for an earlier server", found: state{tables: "1.10"}, wantError: "temporal-sql-tool"},
		{name: "made by Temporal's own tool for a later server", found: state{tables: "1.20"}, wantError: "temporal-sql-tool"},
		{name: "tables of an unknown version", found: state{tables: "1.5", server: "1.31.0"}, wantError: "the tables have version 1.5, which Temporal 1.32 does not know"},
		{name: "no version", found: state{tables: "new", server: "1.31.0"}, wantError: `"new" is no version`},
		{name: "no version of a server", found: state{tables: "1.19", server: "1"}, wantError: `"1" is no version`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := plan(test.found, server, known)
			if test.wantError != "" {
				if err == nil || !strings.Contains(err.Error(), test.wantError) {
					t.Errorf("error = %v, want %q in it", err, test.wantError)
				}
				return
			}
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("plan = %v (%v), want %v", got, err, test.want)
			}
		})
	}
}
