package main

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAProgramIsNamedByItsCommit(t *testing.T) {
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef0123"}
	changed := debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	assert.Equal(t, "0123456789ab", commitOf([]debug.BuildSetting{commit, {Key: "vcs.modified", Value: "false"}}))
	assert.Equal(t, "0123456789ab with changes", commitOf([]debug.BuildSetting{changed, commit}))
	assert.Empty(t, commitOf([]debug.BuildSetting{{Key: "GOOS", Value: "linux"}}))
}

func TestTheReportSaysWhichTemporalRan(t *testing.T) {
	for _, test := range []struct {
		arguments []string
		want      []string
	}{
		{nil, []string{"embedded in one process", "tuned", "SQLite files", "GOGC=400"}},
		{[]string{"--temporal-in-memory"}, []string{"embedded in one process", "tuned", "nothing is kept"}},
		{[]string{"--temporal=postgres"}, []string{"a cluster", "PostgreSQL", "separate processes"}},
	} {
		o, err := parseOptions(test.arguments)
		assert.NoError(t, err)
		for _, want := range test.want {
			assert.Contains(t, describeTemporal(o), want, test.arguments)
		}
	}
}
