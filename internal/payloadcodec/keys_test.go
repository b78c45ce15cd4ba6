package payloadcodec_test

import (
	"bytes"
	"encoding/base64"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"

	"ostinato.dev/ostinato/internal/payloadcodec"
)

// folder is a directory with keys.
type folder struct {
	t    testing.TB
	path string
}

func newFolder(t testing.TB, ids ...string) folder {
	t.Helper()
	f := folder{t, t.TempDir()}
	for _, id := range ids {
		f.put(id, key(id))
	}
	return f
}

// key returns a key's file for a word, always the same.
func key(word string) string {
	return base64.StdEncoding.EncodeToString([]byte((word + strings.Repeat(".", 32))[:32])) + "\n"
}

func (f folder) put(id, text string) {
	f.t.Helper()
	require.NoError(f.t, os.WriteFile(filepath.Join(f.path, id), []byte(text), 0o600))
}

func (f folder) remove(id string) {
	f.t.Helper()
	require.NoError(f.t, os.Remove(filepath.Join(f.path, id)))
}

// codec returns a codec that encrypts with a key of the folder.
func (f folder) codec(encryptWith string) converter.PayloadCodec {
	f.t.Helper()
	codec, err := payloadcodec.New(payloadcodec.Options{Path: f.path, EncryptWith: encryptWith})
	require.NoError(f.t, err)
	return codec
}

func TestKeysThatCantBeUsedSayWhatToChange(t *testing.T) {
	for _, test := range []struct {
		name string
		// files are in the folder; path is below it, and the folder itself when empty.
		files       map[string]string
		path        string
		encryptWith string
		want        string
	}{
		{name: "no such place", path: "absent", want: "no such file"},
		{name: "no key", want: "there are none; put a file there"},
		{name: "only what the kubelet keeps beside keys", files: map[string]string{"..data": key("a")}, want: "there are none"},
		{name: "the key that is to encrypt is missing", files: map[string]string{"old": key("a"), "older": key("b")}, encryptWith: "new", want: `"new", which is to encrypt, is not among old, older`},
		{name: "another file than the key that is to encrypt", files: map[string]string{"old": key("a")}, path: "old", encryptWith: "new", want: `"new", which is to encrypt, is not among old`},
		{name: "raw bytes", files: map[string]string{"a": strings.Repeat("\x01", 32)}, want: "it is not base64: want 32 random bytes in base64"},
		{name: "too short", files: map[string]string{"a": "c2VjcmV0"}, want: "it has 6 bytes: want 32"},
		{name: "empty", files: map[string]string{"a": ""}, want: "it has 0 bytes"},
		{name: "too large", files: map[string]string{"a": strings.Repeat("A", 2000)}, want: "larger than 1024 bytes"},
		{name: "a name that is none", files: map[string]string{"a key": key("a")}, want: `"a key" is no name`},
		{name: "a long name", files: map[string]string{strings.Repeat("k", 64): key("a")}, want: "at most 63 letters"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFolder(t)
			for id, text := range test.files {
				f.put(id, text)
			}
			_, err := payloadcodec.New(payloadcodec.Options{Path: filepath.Join(f.path, test.path), EncryptWith: test.encryptWith})
			require.ErrorContains(t, err, test.want)
			assert.Contains(t, err.Error(), f.path)
			for _, text := range test.files {
				if len(text) >= 6 {
					assert.NotContains(t, err.Error(), strings.TrimSpace(text), "an error repeats a key")
				}
			}
		})
	}
}

func TestKeysOfAFileAndOfAMountedSecret(t *testing.T) {
	encrypted := encode(t, newFolder(t, "2026").codec("2026"), payload("hello"))

	t.Run("file", func(t *testing.T) {
		f := newFolder(t, "2026", "other")
		codec, err := payloadcodec.New(payloadcodec.Options{Path: filepath.Join(f.path, "2026"), EncryptWith: "2026"})
		require.NoError(t, err)
		assert.Equal(t, "hello", text(t, decode(t, codec, encrypted)))
	})
	t.Run("mounted Secret", func(t *testing.T) {
		// As the kubelet lays it out: links to a link to a folder.
		f := newFolder(t)
		require.NoError(t, os.Mkdir(filepath.Join(f.path, "..2026_01_02"), 0o700))
		f.put("..2026_01_02/2026", key("2026"))
		require.NoError(t, os.Symlink("..2026_01_02", filepath.Join(f.path, "..data")))
		require.NoError(t, os.Symlink("..data/2026", filepath.Join(f.path, "2026")))
		assert.Equal(t, "hello", text(t, decode(t, f.codec("2026"), encrypted)))
	})
}

// Keys come and go while the process runs.
func TestRotation(t *testing.T) { synctest.Test(t, testRotation) }

func testRotation(t *testing.T) {
	var log bytes.Buffer
	f := newFolder(t, "old")
	running, err := payloadcodec.New(payloadcodec.Options{
		Path: f.path, EncryptWith: "old", Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	require.NoError(t, err)
	before := encode(t, running, payload("before"))

	// The new key arrives, and a process that encrypts with it, before anybody looked again.
	f.put("new", key("new"))
	after := encode(t, f.codec("new"), payload("after"))
	_, err = running.Decode(after)
	require.ErrorContains(t, err, `its key "new" is not among the payload keys (old)`)
	time.Sleep(time.Second)
	assert.Equal(t, "after", text(t, decode(t, running, after)), "a key that is not known is looked for")
	assert.Equal(t, "before", text(t, decode(t, running, before)), "the old key decrypts on")
	assert.Equal(t, "old", keyOf(encode(t, running, payload("x"))), "which key encrypts is said by the option alone")

	// A key that was replaced under its name is another key.
	f.put("new", key("newer"))
	time.Sleep(10 * time.Second)
	_, err = running.Decode(after)
	require.ErrorContains(t, err, `key "new" is not the one of that name`)

	// What can't be used changes nothing, and is said once.
	f.put("new", "nonsense")
	for range 3 {
		time.Sleep(10 * time.Second)
		assert.Equal(t, "before", text(t, decode(t, running, before)))
	}
	assert.Equal(t, 1, strings.Count(log.String(), "can't be read anew"), log.String())
	f.put("new", key("new"))
	f.remove("old")
	time.Sleep(10 * time.Second)
	assert.Equal(t, "old", keyOf(encode(t, running, payload("x"))), "the key that encrypts can't be taken away")
	assert.Contains(t, log.String(), `\"old\", which is to encrypt, is not among new`)

	// A process started anew encrypts with the new one; without the old key the past is closed.
	next := f.codec("new")
	assert.Equal(t, "after", text(t, decode(t, next, after)))
	_, err = next.Decode(before)
	require.ErrorContains(t, err, `its key "old" is not among the payload keys (new)`)
	assert.NotContains(t, log.String(), strings.TrimSpace(key("old")))
}

// A key ID that somebody made up does not make a process read files for each payload.
func TestUnknownKeysAreLookedForOnceASecond(t *testing.T) {
	synctest.Test(t, testUnknownKeysAreLookedForOnceASecond)
}

func testUnknownKeysAreLookedForOnceASecond(t *testing.T) {
	f := newFolder(t, "mine")
	running, err := payloadcodec.New(payloadcodec.Options{Path: f.path})
	require.NoError(t, err)
	time.Sleep(time.Second)
	foreign := encode(t, newFolder(t, "foreign").codec("foreign"), payload("x"))
	_, err = running.Decode(foreign)
	require.Error(t, err)
	f.put("foreign", key("foreign"))
	_, err = running.Decode(foreign)
	require.Error(t, err, "it is looked for again within the same second")
	time.Sleep(time.Second)
	assert.Equal(t, "x", text(t, decode(t, running, foreign)))
}
