package postgres

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// installed makes folders of programs as Debian's packages do, and returns the pattern that finds them.
func installed(t *testing.T, versions ...string) (root, pattern string) {
	t.Helper()
	root = t.TempDir()
	for _, version := range versions {
		folder := filepath.Join(root, version, "bin")
		require.NoError(t, os.MkdirAll(folder, 0o755))
		for _, program := range programs {
			require.NoError(t, os.WriteFile(filepath.Join(folder, program), nil, 0o755))
		}
	}
	return root, filepath.Join(root, "*", "bin")
}

func TestTheNewestCompletePostgreSQLIsUsed(t *testing.T) {
	root, pattern := installed(t, "9", "15", "17")
	require.NoError(t, os.Remove(filepath.Join(root, "17", "bin", "initdb")))
	found, err := find(pattern)
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(root, "15", "bin"), found)
}

func TestPostgreSQLOnThePathIsUsedWhereDebianHasNone(t *testing.T) {
	root, _ := installed(t, "16")
	t.Setenv("PATH", filepath.Join(root, "16", "bin"))
	found, err := find(filepath.Join(t.TempDir(), "*"))
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(root, "16", "bin"), found)
}

func TestWithoutPostgreSQLTheErrorSaysWhatToInstall(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := find(filepath.Join(t.TempDir(), "*"))
	require.ErrorIs(t, err, ErrMissing)
	assert.ErrorContains(t, err, "apt-get install postgresql")
}
