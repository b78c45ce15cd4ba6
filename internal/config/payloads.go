package config

import (
	"log/slog"

	"github.com/spf13/pflag"
	"go.temporal.io/sdk/client"

	"ostinato.dev/ostinato/internal/command"
	"ostinato.dev/ostinato/internal/payloadcodec"
)

// Payloads holds the settings of what a process encrypts in Temporal.
type Payloads struct {
	// PayloadKeys is a file or directory; without it nothing is encrypted or decrypted.
	PayloadKeys string
	// PayloadEncryptionKey is the ID of the key that encrypts; without it the keys
	// only decrypt.
	PayloadEncryptionKey string
	EncryptFailures      bool
}

func (s *Payloads) addFlags(flags *command.Flags) {
	group := flags.Group(groupEncryption)
	s.addKeys(group)
	group.BoolVar(&s.EncryptFailures, "encrypt-failures", true, "encrypt messages and stack traces of failures too, if payloads are encrypted")
}

// addKeys declares the flags that the codec server has too.
func (s *Payloads) addKeys(group *pflag.FlagSet) {
	group.StringVar(&s.PayloadKeys, "payload-keys", "", "file with a key for what is kept in Temporal, or directory with a file for each (32 bytes in base64, named as the key); the same keys for worker, bridge and codecserver")
	group.StringVar(&s.PayloadEncryptionKey, "payload-encryption-key", "", "name of the key that encrypts; without it the keys only decrypt. Give every process the key before any encrypts with it")
}

func (s Payloads) validate(p *problems) {
	p.check(s.PayloadEncryptionKey == "" || s.PayloadKeys != "", "payload-encryption-key",
		"is %q, and there are no keys; set --payload-keys to where it is", s.PayloadEncryptionKey)
}

// Apply makes a Temporal client encrypt and decrypt what it sends and reads, if there
// are keys. The logger is told when they change.
func (s Payloads) Apply(options *client.Options, logger *slog.Logger) error {
	if s.PayloadKeys == "" {
		return nil
	}
	codec, err := payloadcodec.New(s.CodecOptions(logger))
	if err != nil {
		return err
	}
	payloadcodec.Apply(options, codec, s.PayloadEncryptionKey != "" && s.EncryptFailures)
	return nil
}

// CodecOptions returns the options of the codec.
func (s Payloads) CodecOptions(logger *slog.Logger) payloadcodec.Options {
	return payloadcodec.Options{Path: s.PayloadKeys, EncryptWith: s.PayloadEncryptionKey, Logger: logger}
}
