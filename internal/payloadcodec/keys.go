package payloadcodec

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	// keySize is AES-256's, in bytes.
	keySize = 32
	// maxKeyFile bounds what is read of a file: a key in base64, and white space.
	maxKeyFile = 1024
	// maxKeys bounds how many keys there may be.
	maxKeys = 100
)

// keyID is what a key's file may be called: a name that a Secret's data may have,
// which does not begin with a dot, as the files of the kubelet's own do.
var keyID = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,62}$`)

// keys are the keys by their IDs.
type keys map[string]key

// key seals and opens; its secret is for comparison.
type key struct {
	cipher.AEAD
	secret string
}

// readKeys reads the key in a file, or those in the files of a directory. A key's ID is its file's name.
func readKeys(path string) (keys, error) {
	read := keys{}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("look for payload keys: %w", err)
	}
	if !info.IsDir() {
		return read, read.add(path)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("list payload keys: %w", err)
	}
	for _, entry := range entries {
		file := filepath.Join(path, entry.Name())
		if strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		// A mounted Secret's files are links.
		info, err := os.Stat(file)
		switch {
		case err != nil:
			return nil, fmt.Errorf("look at payload key: %w", err)
		case info.IsDir():
			continue
		case len(read) == maxKeys:
			return nil, fmt.Errorf("payload keys in %s: there are more than %d; remove those that nothing is encrypted with any more", path, maxKeys)
		}
		if err := read.add(file); err != nil {
			return nil, err
		}
	}
	if len(read) == 0 {
		return nil, fmt.Errorf("payload keys in %s: there are none; put a file there for each key, named as the key is to be called", path)
	}
	return read, nil
}

// add reads one key.
func (k keys) add(file string) error {
	id := filepath.Base(file)
	if !keyID.MatchString(id) {
		return fmt.Errorf("payload key in %s: a key is called as its file, and %.80q is no name for one; use at most 63 letters, digits, dots, hyphens and underscores", file, id)
	}
	secret, err := readKey(file)
	if err != nil {
		return fmt.Errorf("payload key in %s: %w", file, err)
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return fmt.Errorf("payload key in %s: %w", file, err)
	}
	sealer, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return fmt.Errorf("payload key in %s: %w", file, err)
	}
	k[id] = key{sealer, string(secret)}
	return nil
}

// readKey reads a file that holds a key in base64. No error repeats what it holds.
func readKey(file string) ([]byte, error) {
	const want = "want 32 random bytes in base64, as `head -c 32 /dev/urandom | base64` writes them"
	stream, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	text, err := io.ReadAll(io.LimitReader(stream, maxKeyFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxKeyFile {
		return nil, fmt.Errorf("the file is larger than %d bytes: %s", maxKeyFile, want)
	}
	secret, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, errors.New("it is not base64: " + want)
	}
	if len(secret) != keySize {
		return nil, fmt.Errorf("it has %d bytes: %s", len(secret), want)
	}
	return secret, nil
}

// ids lists the keys, for people.
func (k keys) ids() []string { return slices.Sorted(maps.Keys(k)) }

func (k keys) equal(other keys) bool {
	return maps.EqualFunc(k, other, func(a, b key) bool { return a.secret == b.secret })
}
