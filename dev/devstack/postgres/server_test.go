package postgres

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ostinato.dev/ostinato/dev/devstack/process"
)

// patience bounds a whole test: data is made in seconds.
const patience = 2 * time.Minute

// A server that was killed goes on where it was, with the same password, and never as root.
func TestAKilledServerGoesOn(t *testing.T) {
	if _, err := Ensure(t.Context(), t.Output()); errors.Is(err, ErrMissing) && os.Getenv("CI") == "" {
		t.Skip(err)
	} else {
		require.NoError(t, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	// As the folder of a stack: nobody else gets in, until the server has to.
	stack, err := os.MkdirTemp("", "ostinato-postgres-")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(stack) })
	port, err := process.FreePort()
	require.NoError(t, err)
	options := Options{Dir: filepath.Join(stack, "postgres"), Port: port, Connections: 20, LogFile: filepath.Join(stack, "postgres.log")}

	first, err := Start(ctx, options)
	require.NoError(t, err)
	assert.NotZero(t, owns(t, first.process.PID()), "PostgreSQL runs as root")
	require.NoError(t, first.process.Kill())

	second, err := Start(ctx, options)
	require.NoError(t, err)
	assert.Equal(t, first.Password, second.Password)
	assert.Equal(t, first.Address, second.Address)
	require.NoError(t, second.Stop())
	assert.True(t, process.PortIsFree(port))
}

// owns returns the user that a process runs as.
func owns(t *testing.T, pid int) uint32 {
	t.Helper()
	info, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid)))
	require.NoError(t, err)
	return info.Sys().(*syscall.Stat_t).Uid
}

// Of a stack's folder the server's user may pass through, and no more. A folder above it that is closed stays closed, and
// the data is elsewhere, unless all of it is temporary.
func TestTheServersUserIsLetThroughTheStacksFolderOnly(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root runs PostgreSQL as somebody else")
	}
	as, err := chooseOwner()
	require.NoError(t, err)
	for name, test := range map[string]struct {
		above     fs.FileMode
		temporary bool
		elsewhere bool
		stack     fs.FileMode
	}{
		"an open folder above":                 {above: 0o755, stack: 0o710},
		"a closed folder above":                {above: 0o700, stack: 0o700, elsewhere: true},
		"a closed folder above, all temporary": {above: 0o700, stack: 0o710, temporary: true},
	} {
		t.Run(name, func(t *testing.T) {
			root, err := os.MkdirTemp("", "ostinato-postgres-")
			require.NoError(t, err)
			t.Cleanup(func() { os.RemoveAll(root) })
			require.NoError(t, os.Chmod(root, 0o755))
			above := filepath.Join(root, "above")
			stack := filepath.Join(above, "stack")
			require.NoError(t, os.MkdirAll(stack, 0o700))
			require.NoError(t, os.Chmod(above, test.above))
			t.Setenv("TMPDIR", filepath.Join(root, "elsewhere"))
			if test.temporary {
				t.Setenv("TMPDIR", root)
			}

			home, err := as.home(filepath.Join(stack, "postgres"))
			require.NoError(t, err)
			t.Cleanup(func() { os.Remove(home) })
			assert.Equal(t, test.elsewhere, filepath.Dir(home) == sharedState, home)
			assert.Equal(t, test.stack, mode(t, stack))
			if !test.temporary {
				assert.Equal(t, test.above, mode(t, above))
			}
		})
	}
}

func mode(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	return info.Mode().Perm()
}
