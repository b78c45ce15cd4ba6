// Package encryption tests Ostinato with encrypted payloads: a real Temporal, and
// worker and bridge with keys.
package encryption

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"ostinato.dev/ostinato/dev/devstack"
	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/payloadcodec"
)

// The keys of worker and bridge: the newer encrypts.
const (
	oldKey = "2025"
	newKey = "2026"
)

var (
	// stack has a Temporal client without keys, as anybody's.
	stack *harness.Harness
	// reader is the same stack with keys.
	reader *harness.Harness
	// codec is the reader's.
	codec converter.PayloadCodec
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	keys, err := os.MkdirTemp("", "ostinato-keys-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(keys)
	for _, id := range []string{oldKey, newKey} {
		text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat(id, 8)))
		if err := os.WriteFile(filepath.Join(keys, id), []byte(text), 0o600); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	if codec, err = payloadcodec.New(payloadcodec.Options{Path: keys, EncryptWith: newKey}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	options := devstack.Options{Env: []string{"OSTINATO_PAYLOAD_KEYS=" + keys, "OSTINATO_PAYLOAD_ENCRYPTION_KEY=" + newKey}}
	return harness.Main(m, options, func(h *harness.Harness) {
		stack = h
		withKeys := *h
		options := client.Options{Namespace: client.DefaultNamespace}
		payloadcodec.Apply(&options, codec, true)
		if withKeys.Temporal, err = client.NewClientFromExisting(h.Temporal, options); err != nil {
			panic(err)
		}
		reader = &withKeys
	})
}
