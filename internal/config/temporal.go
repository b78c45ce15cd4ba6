package config

import (
	"cmp"
	"fmt"
	"log/slog"
	"regexp"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"

	"ostinato.dev/ostinato/internal/command"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/payloadcodec"
)

// Temporal holds the settings of what a process has in Temporal.
type Temporal struct {
	// Cluster prefixes every workflow ID and task queue, for a Temporal namespace
	// that serves several clusters. Worker and bridge of one cluster must agree.
	Cluster names.Cluster
}

func (t *Temporal) addFlags(flags *command.Flags) {
	group := flags.Group(groupTemporal)
	group.StringVar((*string)(&t.Cluster), "cluster", "", "name of this Kubernetes cluster, for a Temporal namespace that serves several; the same for worker and bridge")
}

// clusterName keeps workflow IDs and task queue names readable and unambiguous.
var clusterName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$`)

func (t Temporal) validate(p *problems) {
	p.check(t.Cluster == "" || clusterName.MatchString(string(t.Cluster)), "cluster",
		"%q; use at most 63 lower case letters, digits, dots and hyphens", t.Cluster)
	for _, reserved := range []string{"cronjob", "job", "podwatch", "ostinato"} {
		p.check(string(t.Cluster) != reserved, "cluster", "%q is used in workflow IDs; choose another name", t.Cluster)
	}
}

// ClientOptions returns the options of a Temporal client as the SDK's own environment configuration gives them: TEMPORAL_ADDRESS,
// TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, TEMPORAL_TLS_*, TEMPORAL_PROFILE and the profile file. The namespace is filled in when
// nothing names one. Files of certificates are read anew for each connection. Requests are not compressed: ours are a few hundred bytes, and gzip took 7 % of the worker's processor time.
func (t Temporal) ClientOptions() (client.Options, error) {
	options, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return client.Options{}, fmt.Errorf("read the Temporal settings (TEMPORAL_* variables and profile file): %w", err)
	}
	err = renewTLS(&options)
	if err != nil {
		return client.Options{}, err
	}
	options.HostPort = cmp.Or(options.HostPort, client.DefaultHostPort)
	options.Namespace = cmp.Or(options.Namespace, client.DefaultNamespace)
	options.ConnectionOptions.GrpcCompression = &client.GrpcCompressionNone{}
	return options, nil
}

// Payloads holds the settings of what a process encrypts in Temporal.
type Payloads struct {
	// PayloadKeys is a file or directory; without it nothing is encrypted or decrypted.
	PayloadKeys string
	// PayloadEncryptionKey is the ID of the key that encrypts; without it the keys only decrypt.
	PayloadEncryptionKey string
}

func (s *Payloads) addFlags(flags *command.Flags) {
	group := flags.Group(groupEncryption)
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
	payloadcodec.Apply(options, codec, s.PayloadEncryptionKey != "")
	return nil
}

// CodecOptions returns the options of the codec.
func (s Payloads) CodecOptions(logger *slog.Logger) payloadcodec.Options {
	return payloadcodec.Options{Path: s.PayloadKeys, EncryptWith: s.PayloadEncryptionKey, Logger: logger}
}
