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
	keySize    = 32   // AES-256's, in bytes
	maxKeyFile = 1024 // bounds what is read of a file: a key in base64, and white space
	maxKeys    = 100  // bounds how many keys there may be
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
func (k keys) add(file string) (err error) {
	if k[filepath.Base(file)], err = readKey(file); err != nil {
		return fmt.Errorf("payload key in %s: %w", file, err)
	}
	return nil
}

// readKey reads a file that holds a key in base64. No error repeats what it holds.
func readKey(file string) (read key, err error) {
	const want = "want 32 random bytes in base64, as `head -c 32 /dev/urandom | base64` writes them"
	if id := filepath.Base(file); !keyID.MatchString(id) {
		return read, fmt.Errorf("a key is called as its file, and %.80q is no name for one; "+
			"use at most 63 letters, digits, dots, hyphens and underscores", id)
	}
	stream, err := os.Open(file)
	if err != nil {
		return read, err
	}
	defer stream.Close()
	text, err := io.ReadAll(io.LimitReader(stream, maxKeyFile+1))
	if err != nil {
		return read, err
	}
	secret, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	switch {
	case len(text) > maxKeyFile:
		return read, fmt.Errorf("the file is larger than %d bytes: %s", maxKeyFile, want)
	case err != nil:
		return read, errors.New("it is not base64: " + want)
	case len(secret) != keySize:
		return read, fmt.Errorf("it has %d bytes: %s", len(secret), want)
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return read, err
	}
	sealer, err := cipher.NewGCMWithRandomNonce(block)
	return key{sealer, string(secret)}, err
}

// ids lists the keys, for people.
func (k keys) ids() []string { return slices.Sorted(maps.Keys(k)) }

func (k keys) equal(other keys) bool {
	return maps.EqualFunc(k, other, func(a, b key) bool { return a.secret == b.secret })
}
