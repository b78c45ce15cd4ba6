package payloadcodec_test

import (
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"

	"ostinato.dev/ostinato/internal/payloadcodec"
)

// FuzzDecode: whatever somebody writes into a history, Decode answers with an error,
// with the payload as it is when it does not claim to be encrypted, or with what was
// encrypted, and with nothing else.
func FuzzDecode(f *testing.F) {
	codec := newFolder(f, "a").codec("a")
	original := payload("the password is swordfish")
	encrypted, err := codec.Encode([]*commonpb.Payload{original})
	if err != nil {
		f.Fatal(err)
	}
	genuine := encrypted[0]
	f.Add([]byte(payloadcodec.Encoding), []byte(payloadcodec.Version), []byte("a"), genuine.Data)
	f.Add([]byte(payloadcodec.Encoding), []byte(payloadcodec.Version), []byte("b"), genuine.Data)
	f.Add([]byte(payloadcodec.Encoding), []byte("ostinato/2"), []byte("a"), genuine.Data)
	f.Add([]byte(payloadcodec.Encoding), []byte(payloadcodec.Version), []byte("a"), genuine.Data[:20])
	f.Add([]byte("json/plain"), []byte(nil), []byte(nil), []byte(`{"note":"maintenance"}`))
	f.Add([]byte(nil), []byte(nil), []byte(nil), []byte(nil))
	f.Fuzz(func(t *testing.T, encoding, version, id, data []byte) {
		given := &commonpb.Payload{
			Metadata: map[string][]byte{
				converter.MetadataEncoding: encoding, payloadcodec.MetadataVersion: version, payloadcodec.MetadataKeyID: id,
			},
			Data: data,
		}
		before := proto.Clone(given)
		decoded, err := codec.Decode([]*commonpb.Payload{given})
		if !proto.Equal(before, given) {
			t.Fatal("Decode changed what it was given")
		}
		switch {
		case string(encoding) != payloadcodec.Encoding:
			if err != nil || len(decoded) != 1 || !proto.Equal(given, decoded[0]) {
				t.Fatalf("a payload that is not encrypted gives %v, %v", decoded, err)
			}
		case err != nil:
			if decoded != nil || len(err.Error()) > 1024 {
				t.Fatalf("an error of %d bytes with %v", len(err.Error()), decoded)
			}
		case len(decoded) != 1 || !proto.Equal(original, decoded[0]):
			t.Fatalf("somebody without the key made %v", decoded)
		}
	})
}
