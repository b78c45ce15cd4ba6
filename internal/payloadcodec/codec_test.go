package payloadcodec_test

import (
	"bytes"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/proto"

	"ostinato.dev/ostinato/internal/payloadcodec"
)

func payload(text string) *commonpb.Payload {
	return &commonpb.Payload{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte("json/plain"), "note": []byte("kept")},
		Data:     []byte(text),
	}
}

func encode(t *testing.T, codec converter.PayloadCodec, payloads ...*commonpb.Payload) []*commonpb.Payload {
	t.Helper()
	encoded, err := codec.Encode(payloads)
	require.NoError(t, err)
	require.Len(t, encoded, len(payloads))
	return encoded
}

func decode(t *testing.T, codec converter.PayloadCodec, payloads []*commonpb.Payload) []*commonpb.Payload {
	t.Helper()
	decoded, err := codec.Decode(payloads)
	require.NoError(t, err)
	require.Len(t, decoded, len(payloads))
	return decoded
}

func text(t *testing.T, payloads []*commonpb.Payload) string {
	t.Helper()
	require.Len(t, payloads, 1)
	return string(payloads[0].GetData())
}

func keyOf(payloads []*commonpb.Payload) string {
	return string(payloads[0].GetMetadata()[payloadcodec.MetadataKeyID])
}

func TestPayloadsComeBackAsTheyWere(t *testing.T) {
	codec := newFolder(t, "a", "b").codec("b")
	for name, given := range map[string]*commonpb.Payload{
		"text":             payload("the password is swordfish"),
		"nothing":          {},
		"no metadata":      {Data: []byte("x")},
		"no data":          {Metadata: map[string][]byte{converter.MetadataEncoding: []byte("binary/null")}},
		"bytes":            payload("\x00\xff\x80"),
		"large":            payload(string(bytes.Repeat([]byte("x"), 2<<20))),
		"encrypted before": encode(t, newFolder(t, "c").codec("c"), payload("x"))[0],
	} {
		t.Run(name, func(t *testing.T) {
			original := proto.Clone(given)
			encoded := encode(t, codec, given)
			assert.True(t, proto.Equal(original, given), "Encode changed what it was given")
			assert.Equal(t, payloadcodec.Encoding, string(encoded[0].Metadata[converter.MetadataEncoding]))
			assert.Equal(t, "b", keyOf(encoded))
			if len(given.Data) > 1 {
				assert.NotContains(t, encoded[0].String(), string(given.Data))
			}
			assert.NotContains(t, encoded[0].String(), "json/plain", "metadata is encrypted too")
			kept := proto.Clone(encoded[0])
			decoded := decode(t, codec, encoded)
			assert.True(t, proto.Equal(original, decoded[0]), "%v", decoded[0])
			assert.True(t, proto.Equal(kept, encoded[0]), "Decode changed what it was given")
		})
	}
}

func TestEveryEncryptionIsAnother(t *testing.T) {
	codec := newFolder(t, "a").codec("a")
	seen := map[string]bool{}
	for range 1000 {
		for _, encoded := range encode(t, codec, payload("same"), payload("same")) {
			nonce := string(encoded.Data[:12])
			require.False(t, seen[nonce], "a nonce comes twice")
			seen[nonce] = true
		}
	}
}

// What is not encrypted passes: it was written before there was a key, or a person
// typed it.
func TestPlainPayloadsPass(t *testing.T) {
	f := newFolder(t, "a")
	for name, codec := range map[string]converter.PayloadCodec{"encrypting": f.codec("a"), "decrypting only": f.codec("")} {
		t.Run(name, func(t *testing.T) {
			mixed := append(encode(t, f.codec("a"), payload("encrypted")), payload("plain"), &commonpb.Payload{}, &commonpb.Payload{
				Metadata: map[string][]byte{converter.MetadataEncoding: []byte("binary/zlib"), payloadcodec.MetadataKeyID: []byte("a")},
			})
			decoded := decode(t, codec, mixed)
			assert.Equal(t, "encrypted", string(decoded[0].Data))
			for i := range decoded[1:] {
				assert.True(t, proto.Equal(mixed[i+1], decoded[i+1]))
			}
		})
	}
}

func TestWithoutAKeyToEncryptNothingIsEncrypted(t *testing.T) {
	assert.True(t, proto.Equal(payload("plain"), encode(t, newFolder(t, "a").codec(""), payload("plain"))[0]))
}

func TestTooLargePayloadsAreNotEncrypted(t *testing.T) {
	codec := newFolder(t, "a").codec("a")
	_, err := codec.Encode([]*commonpb.Payload{{Data: make([]byte, payloadcodec.MaxSize+1)}})
	assert.ErrorContains(t, err, "more than 16777216")
}

func TestWhatCantBeDecryptedIsAClearError(t *testing.T) {
	f := newFolder(t, "a", "b")
	codec := f.codec("a")
	wrongKey := newFolder(t)
	wrongKey.put("a", key("not a"))
	metadata := func(key, value string) func(*commonpb.Payload) {
		return func(p *commonpb.Payload) { p.Metadata[key] = []byte(value) }
	}
	for _, test := range []struct {
		name   string
		change func(*commonpb.Payload)
		want   string
	}{
		{"unchanged", func(*commonpb.Payload) {}, ""},
		{"metadata of others", metadata("storage", "elsewhere"), ""},
		{"no data", func(p *commonpb.Payload) { p.Data = nil }, "it was changed"},
		{"less than a nonce", func(p *commonpb.Payload) { p.Data = p.Data[:11] }, "it was changed"},
		{"a nonce alone", func(p *commonpb.Payload) { p.Data = p.Data[:12] }, "it was changed"},
		{"truncated", func(p *commonpb.Payload) { p.Data = p.Data[:len(p.Data)-1] }, "it was changed"},
		{"longer", func(p *commonpb.Payload) { p.Data = append(p.Data, 0) }, "it was changed"},
		{"flipped bit of the nonce", func(p *commonpb.Payload) { p.Data[0] ^= 1 }, "it was changed"},
		{"flipped bit of the text", func(p *commonpb.Payload) { p.Data[20] ^= 0x80 }, "it was changed"},
		{"flipped bit of the tag", func(p *commonpb.Payload) { p.Data[len(p.Data)-1] ^= 1 }, "it was changed"},
		{"another known key's ID", metadata(payloadcodec.MetadataKeyID, "b"), `key "b" is not the one`},
		{"unknown key ID", metadata(payloadcodec.MetadataKeyID, "zebra"), `its key "zebra" is not among the payload keys (a, b)`},
		{"no key ID", func(p *commonpb.Payload) { delete(p.Metadata, payloadcodec.MetadataKeyID) }, `its key "" is not among`},
		{"a path as key ID", metadata(payloadcodec.MetadataKeyID, "../../etc/passwd"), `its key "../../etc/passwd" is not among`},
		{"a huge key ID", metadata(payloadcodec.MetadataKeyID, string(make([]byte, 1<<20))), "is not among the payload keys"},
		{"another version", metadata(payloadcodec.MetadataVersion, "ostinato/2"), `is "ostinato/2", not "ostinato/1"`},
		{"no version: another program's", func(p *commonpb.Payload) { delete(p.Metadata, payloadcodec.MetadataVersion) }, "another program has encrypted it"},
		{"too large", func(p *commonpb.Payload) { p.Data = make([]byte, payloadcodec.MaxSize+29) }, "more than"},
	} {
		t.Run(test.name, func(t *testing.T) {
			encrypted := encode(t, codec, payload("the password is swordfish"))[0]
			test.change(encrypted)
			decoded, err := codec.Decode([]*commonpb.Payload{payload("plain"), encrypted})
			if test.want == "" {
				require.NoError(t, err)
				assert.True(t, proto.Equal(payload("the password is swordfish"), decoded[1]))
				return
			}
			require.ErrorContains(t, err, test.want)
			assert.Less(t, len(err.Error()), 1024)
			assert.Nil(t, decoded)
		})
	}
	t.Run("wrong key", func(t *testing.T) {
		_, err := wrongKey.codec("a").Decode(encode(t, codec, payload("x")))
		assert.ErrorContains(t, err, `key "a" is not the one of that name that encrypted it`)
	})
	t.Run("nothing at all", func(t *testing.T) {
		decoded, err := codec.Decode([]*commonpb.Payload{nil})
		require.NoError(t, err)
		assert.Equal(t, []*commonpb.Payload{nil}, decoded)
	})
}

func TestACodecIsSafeForConcurrentUse(t *testing.T) {
	codec := newFolder(t, "a").codec("a")
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 100 {
				encoded, err := codec.Encode([]*commonpb.Payload{payload("x")})
				if err == nil {
					_, err = codec.Decode(encoded)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

// The SDK's converters with the codec: values, and messages of failures where wanted.
func TestApply(t *testing.T) {
	codec := newFolder(t, "a").codec("a")
	for _, test := range []struct {
		name     string
		failures bool
	}{{"failures too", true}, {"failures not", false}} {
		t.Run(test.name, func(t *testing.T) {
			var options client.Options
			payloadcodec.Apply(&options, codec, test.failures)
			encoded, err := options.DataConverter.ToPayload("swordfish")
			require.NoError(t, err)
			assert.NotContains(t, encoded.String(), "swordfish")
			var value string
			require.NoError(t, options.DataConverter.FromPayload(encoded, &value))
			assert.Equal(t, "swordfish", value)

			failure := options.FailureConverter.ErrorToFailure(temporal.NewApplicationError("swordfish failed", "Kind", "swordfish"))
			assert.Equal(t, test.failures, !bytes.Contains([]byte(failure.String()), []byte("swordfish")), "%v", failure)
			var application *temporal.ApplicationError
			require.True(t, errors.As(options.FailureConverter.FailureToError(failure), &application))
			assert.Equal(t, "swordfish failed", application.Message())
			assert.Equal(t, "Kind", application.Type())
			require.NoError(t, application.Details(&value))
			assert.Equal(t, "swordfish", value)

			// A client that only decrypts reads both.
			var reader client.Options
			payloadcodec.Apply(&reader, codec, !test.failures)
			assert.Contains(t, reader.FailureConverter.FailureToError(failure).Error(), "swordfish failed")
		})
	}
}
