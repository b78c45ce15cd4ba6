// Package payloadcodec encrypts what Ostinato keeps in Temporal: inputs, results, signals, queries, summaries and
// messages of failures. It is a converter.PayloadCodec (AES-256-GCM) with keys from files that can be changed while the
// process runs.
package payloadcodec

import (
	"cmp"
	"fmt"
	"log/slog"
	"strings"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/proto"
)

// What an encrypted payload's metadata says. Encoding and key are called as in
// Temporal's own samples, so that other tools show them.
const (
	// Encoding is the value of converter.MetadataEncoding.
	Encoding = "binary/encrypted"
	// MetadataKeyID names the key.
	MetadataKeyID = "encryption-key-id"
	// MetadataVersion says how Data is made; Version is the only one.
	MetadataVersion = "encryption-version"
	Version         = "ostinato/1"
)

// MaxSize bounds a payload, in bytes: more than any Temporal server takes.
const MaxSize = 16 << 20

// Options say where keys are and what they are used for.
type Options struct {
	// Path is a file with a key, or a directory (such as a mounted Secret) with a
	// file for each. A key's ID is its file's name; the file holds 32 bytes in base64.
	Path string
	// EncryptWith is the ID of the key that encrypts; every key decrypts. Without one nothing is encrypted.
	EncryptWith string
	// Logger is told when keys change, and when they can't be read.
	Logger *slog.Logger
}

// Apply makes a Temporal client, and the workers made of it, use the codec for all they send and read. With failures,
// messages and stack traces of failures are encoded too; those that are encoded are read either way.
func Apply(options *client.Options, codec converter.PayloadCodec, failures bool) {
	options.DataConverter = converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), codec)
	options.FailureConverter = temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter:          options.DataConverter,
		EncodeCommonAttributes: failures,
	})
}

// New reads the keys and returns a codec, which is safe for concurrent use and follows changes of the files within
// seconds. The error says what is wrong with the keys.
//
// Encode encrypts each payload whole, its metadata included, under a random nonce. Decode takes what Encode made, with
// any of the keys, and passes on as they are payloads of other encodings: what was written before encryption was
// switched on, and signals that people type. A payload that says it is encrypted and can't be decrypted is an error.
func New(options Options) (converter.PayloadCodec, error) {
	options.Logger = cmp.Or(options.Logger, slog.New(slog.DiscardHandler))
	ring := &keyring{Options: options}
	if err := ring.look(); err != nil {
		return nil, err
	}
	return ring, nil
}

// Encode implements converter.PayloadCodec.
func (r *keyring) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	if r.EncryptWith == "" {
		return payloads, nil
	}
	id, sealer := r.EncryptWith, r.keysFor(r.EncryptWith)[r.EncryptWith]
	encoded := make([]*commonpb.Payload, len(payloads))
	for i, payload := range payloads {
		plain, err := proto.Marshal(payload)
		if err != nil {
			return nil, fmt.Errorf("encrypt payload: %w", err)
		}
		if len(plain) > MaxSize {
			return nil, fmt.Errorf("encrypt payload: it has %d bytes, more than %d", len(plain), MaxSize)
		}
		encoded[i] = &commonpb.Payload{
			Metadata: map[string][]byte{
				converter.MetadataEncoding: []byte(Encoding),
				MetadataKeyID:              []byte(id),
				MetadataVersion:            []byte(Version),
			},
			Data: sealer.Seal(nil, nil, plain, authenticated(id)),
		}
	}
	return encoded, nil
}

// Decode implements converter.PayloadCodec.
func (r *keyring) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	decoded := make([]*commonpb.Payload, len(payloads))
	for i, payload := range payloads {
		if string(payload.GetMetadata()[converter.MetadataEncoding]) != Encoding {
			decoded[i] = payload
			continue
		}
		plain, err := r.decrypt(payload)
		if err != nil {
			return nil, fmt.Errorf("decrypt payload: %w", err)
		}
		decoded[i] = plain
	}
	return decoded, nil
}

func (r *keyring) decrypt(payload *commonpb.Payload) (*commonpb.Payload, error) {
	version, id := payload.GetMetadata()[MetadataVersion], string(payload.GetMetadata()[MetadataKeyID])
	if string(version) != Version {
		return nil, fmt.Errorf("its %s is %.40q, not %q: another program has encrypted it", MetadataVersion, version, Version)
	}
	known := r.keysFor(id)
	opener, ok := known[id]
	switch {
	case !ok:
		return nil, fmt.Errorf("its key %.80q is not among the payload keys (%s): put the key back, or wait until its file has arrived",
			id, strings.Join(known.ids(), ", "))
	case len(payload.GetData()) > MaxSize+opener.Overhead():
		return nil, fmt.Errorf("it has %d bytes, more than %d", len(payload.GetData()), MaxSize+opener.Overhead())
	}
	plain, err := opener.Open(nil, nil, payload.GetData(), authenticated(id))
	if err != nil {
		return nil, fmt.Errorf("it was changed, or key %q is not the one of that name that encrypted it: %w", id, err)
	}
	decrypted := &commonpb.Payload{}
	if err := proto.Unmarshal(plain, decrypted); err != nil {
		return nil, fmt.Errorf("there is no payload in it, though the key is right: %w", err)
	}
	return decrypted, nil
}

// authenticated is what a payload's data is sealed together with, so that its
// metadata can't be changed either. An ID has no zero byte.
func authenticated(id string) []byte { return []byte(Encoding + "\x00" + Version + "\x00" + id) }
