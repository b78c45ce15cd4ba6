package ui_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ostinato.dev/ostinato/cmd/ostinato/internal/ui"
)

// opener replaces the program that opens browsers by one that writes its arguments to a file.
func opener(t *testing.T) (arguments string) {
	t.Helper()
	name := map[string]string{"linux": "xdg-open", "darwin": "open"}[runtime.GOOS]
	if name == "" {
		t.Skipf("no program is known that opens a browser on %s", runtime.GOOS)
	}
	bin, cache := t.TempDir(), t.TempDir()
	arguments = filepath.Join(bin, "arguments")
	require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\necho \"$@\" > "+arguments+".new && mv "+arguments+".new "+arguments+"\n"), 0o755))
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	return arguments
}

func TestTheBrowserIsLedByAFileOfThePersonAlone(t *testing.T) {
	arguments := opener(t)
	const address = "http://127.0.0.1:1/?token=a&b=\"c"
	remove, err := ui.Open(address)
	require.NoError(t, err)
	var given []byte
	require.Eventually(t, func() bool { given, err = os.ReadFile(arguments); return err == nil }, 10*time.Second, 10*time.Millisecond)
	file := string(given[:len(given)-1])
	assert.NotContains(t, file, "token", "everybody can read arguments")
	found, err := os.Stat(file)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), found.Mode().Perm())
	folder, err := os.Stat(filepath.Dir(file))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o700), folder.Mode().Perm())
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Contains(t, string(text), "url=http://127.0.0.1:1/?token=a&amp;b=&#34;c")
	remove()
	assert.NoFileExists(t, file)
}

func TestWithoutAProgramToOpenABrowserTheErrorSaysSo(t *testing.T) {
	opener(t)
	t.Setenv("PATH", t.TempDir())
	remove, err := ui.Open("http://127.0.0.1:1/")
	assert.ErrorContains(t, err, "open a browser")
	remove()
}
