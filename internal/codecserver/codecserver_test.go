package codecserver_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"ostinato.dev/ostinato/internal/codecserver"
	"ostinato.dev/ostinato/internal/payloadcodec"
)

const ui = "https://temporal.example"

// server is a running codec server, and what it encrypts with.
type server struct {
	t     *testing.T
	url   string
	codec converter.PayloadCodec
}

func newServer(t *testing.T, origins ...string) server {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), []byte(base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("k"), 32))), 0o600))
	codec, err := payloadcodec.New(payloadcodec.Options{Path: dir, EncryptWith: "a"})
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- codecserver.Serve(ctx, listener, codecserver.NewHandler(codec, origins)) }()
	t.Cleanup(func() {
		stop()
		assert.NoError(t, <-ended)
	})
	return server{t, "http://" + listener.Addr().String(), codec}
}

func plain() *commonpb.Payload {
	return &commonpb.Payload{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte("json/plain")},
		Data:     []byte(`"the password is swordfish"`),
	}
}

// encrypted returns a request's body.
func (s server) encrypted() string {
	s.t.Helper()
	payloads, err := s.codec.Encode([]*commonpb.Payload{plain()})
	require.NoError(s.t, err)
	body, err := protojson.Marshal(&commonpb.Payloads{Payloads: payloads})
	require.NoError(s.t, err)
	return string(body)
}

// ask sends a request with headers given as pairs.
func (s server) ask(method, path, body string, headers ...string) (*http.Response, string) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	require.NoError(s.t, err)
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(s.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	return response, string(text)
}

// The temporal command, and every SDK, speaks to it as to any codec server; the
// command puts the namespace into the path.
func TestProgramsDecodeAndEncode(t *testing.T) {
	s := newServer(t)
	for _, endpoint := range []string{s.url, s.url + "/default"} {
		remote := converter.NewRemotePayloadCodec(converter.RemotePayloadCodecOptions{Endpoint: endpoint})
		encoded, err := remote.Encode([]*commonpb.Payload{plain()})
		require.NoError(t, err)
		assert.NotContains(t, encoded[0].String(), "swordfish")
		for name, codec := range map[string]converter.PayloadCodec{"server": remote, "worker": s.codec} {
			decoded, err := codec.Decode(encoded)
			require.NoError(t, err, name)
			assert.True(t, proto.Equal(plain(), decoded[0]), "%s: %v", name, decoded)
		}
	}
}

func TestOnlyTheUIsPageMayAsk(t *testing.T) {
	s := newServer(t, "https://other.example:8443", ui)
	decode := s.encrypted()
	for _, test := range []struct {
		name   string
		origin string
		want   int
	}{
		{"the UI", ui, http.StatusOK},
		{"another one that is named", "https://other.example:8443", http.StatusOK},
		{"another page", "https://evil.example", http.StatusForbidden},
		{"the UI's host by another scheme", "http://temporal.example", http.StatusForbidden},
		{"a page below the UI's name", "https://temporal.example.evil.example", http.StatusForbidden},
		{"a page without an origin", "null", http.StatusForbidden},
		{"a page by a name that leads here", s.url, http.StatusForbidden},
	} {
		t.Run(test.name, func(t *testing.T) {
			response, body := s.ask(http.MethodPost, "/decode", decode, "Origin", test.origin, "Content-Type", "application/json", "X-Namespace", "default")
			assert.Equal(t, test.want, response.StatusCode, body)
			allowed := test.want == http.StatusOK
			// The bytes of the payload are in base64.
			assert.Equal(t, allowed, strings.Contains(body, base64.StdEncoding.EncodeToString(plain().Data)), body)
			assert.Equal(t, allowed, response.Header.Get("Access-Control-Allow-Origin") == test.origin)

			asked, _ := s.ask(http.MethodOptions, "/decode", "", "Origin", test.origin, "Access-Control-Request-Method", "POST",
				"Access-Control-Request-Headers", "authorization,authorization-extras,content-type,x-namespace", "Access-Control-Request-Private-Network", "true")
			assert.Equal(t, allowed, asked.Header.Get("Access-Control-Allow-Origin") == test.origin, "the question before")
			assert.Equal(t, allowed, asked.Header.Get("Access-Control-Allow-Private-Network") == "true")
			assert.Equal(t, allowed, strings.Contains(asked.Header.Get("Access-Control-Allow-Headers"), "x-namespace"))
			assert.Empty(t, asked.Header.Get("Access-Control-Allow-Credentials"))
		})
	}
}

func TestBadRequestsGetAnAnswer(t *testing.T) {
	s := newServer(t)
	for _, test := range []struct {
		name, method, path, body string
		want                     int
	}{
		{"something else", http.MethodPost, "/keys", "{}", http.StatusNotFound},
		{"a look", http.MethodGet, "/decode", "", http.StatusNotFound},
		{"no JSON", http.MethodPost, "/decode", "x", http.StatusBadRequest},
		{"nothing in it", http.MethodPost, "/decode", "{}", http.StatusOK},
		{"a payload that was changed", http.MethodPost, "/decode", strings.Replace(s.encrypted(), `"data":"`, `"data":"AAAA`, 1), http.StatusBadRequest},
		{"too large", http.MethodPost, "/encode", `{"payloads":[{"data":"` + strings.Repeat("A", 8<<20) + `"}]}`, http.StatusBadRequest},
	} {
		t.Run(test.name, func(t *testing.T) {
			response, body := s.ask(test.method, test.path, test.body)
			assert.Equal(t, test.want, response.StatusCode, "%.200s", body)
		})
	}
}
