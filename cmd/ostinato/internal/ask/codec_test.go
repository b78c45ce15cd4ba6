package ask_test

import (
	"context"
	"encoding/base64"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/ask"
	"ostinato.dev/ostinato/internal/codecserver"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/payloadcodec"
	"ostinato.dev/ostinato/internal/protocol"
)

// encrypted is a Temporal whose workflows answer with a key, and keep what they were asked.
type encrypted struct {
	workflowservice.UnimplementedWorkflowServiceServer
	codec converter.PayloadCodec
	mutex sync.Mutex
	asked []string
}

func (*encrypted) GetSystemInfo(context.Context, *workflowservice.GetSystemInfoRequest) (*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{}, nil
}

func (e *encrypted) QueryWorkflow(_ context.Context, request *workflowservice.QueryWorkflowRequest) (*workflowservice.QueryWorkflowResponse, error) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	for _, payload := range request.Query.QueryArgs.GetPayloads() {
		e.asked = append(e.asked, string(payload.Metadata[converter.MetadataEncoding]))
	}
	var answer any = protocol.JobDescription{Attempts: []job.Attempt{{Pod: "fails-a", Message: "swordfish"}}}
	if request.Query.QueryType == protocol.LedgerQuery {
		answer = protocol.LedgerPage{}
	}
	plain, err := converter.GetDefaultDataConverter().ToPayloads(answer)
	if err != nil {
		return nil, err
	}
	plain.Payloads, err = e.codec.Encode(plain.Payloads)
	return &workflowservice.QueryWorkflowResponse{QueryResult: plain}, err
}

// encryptedTemporal returns its address, and its codec.
func encryptedTemporal(t *testing.T) (*encrypted, string) {
	t.Helper()
	key := filepath.Join(t.TempDir(), "2026")
	require.NoError(t, os.WriteFile(key, []byte(base64.StdEncoding.EncodeToString([]byte(strings.Repeat("2026", 8)))), 0o600))
	codec, err := payloadcodec.New(payloadcodec.Options{Path: key, EncryptWith: "2026"})
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server, temporal := grpc.NewServer(), &encrypted{codec: codec}
	workflowservice.RegisterWorkflowServiceServer(server, temporal)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-ended; !errors.Is(err, grpc.ErrServerStopped) {
			require.NoError(t, err)
		}
	})
	t.Setenv("TEMPORAL_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
	for _, variable := range []string{"TEMPORAL_CODEC_ENDPOINT", "TEMPORAL_CODEC_AUTH", "TEMPORAL_NAMESPACE", "TEMPORAL_PROFILE"} {
		t.Setenv(variable, "")
		require.NoError(t, os.Unsetenv(variable))
	}
	return temporal, listener.Addr().String()
}

// door is a codec server behind something that lets in who has a token, and notes headers and paths.
type door struct {
	*httptest.Server
	mutex sync.Mutex
	seen  []string
}

func newDoor(t *testing.T, codec converter.PayloadCodec, token string) *door {
	t.Helper()
	made := &door{}
	behind := codecserver.NewHandler(codec, nil)
	made.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		made.mutex.Lock()
		made.seen = append(made.seen, r.URL.Path+" "+r.Header.Get("X-Namespace"))
		made.mutex.Unlock()
		if r.Header.Get("Authorization") != token {
			http.Error(w, "who are you?", http.StatusForbidden)
			return
		}
		behind.ServeHTTP(w, r)
	}))
	t.Cleanup(made.Close)
	return made
}

func evidence(t *testing.T, settings ask.Settings) (protocol.JobDescription, error) {
	t.Helper()
	workflows, err := ask.NewWorkflows(settings)
	require.NoError(t, err)
	return workflows.Evidence(t.Context(), ostinatov1.WorkflowReference{Namespace: "prod", ID: "job/shop/fails"})
}

func TestEncryptedPayloadsAreReadThroughTheCodecServer(t *testing.T) {
	temporal, address := encryptedTemporal(t)
	server := newDoor(t, temporal.codec, "Bearer ada")

	_, err := evidence(t, ask.Settings{Address: address})
	assert.ErrorContains(t, err, "name a codec server by --codec-endpoint")

	kept, err := evidence(t, ask.Settings{Address: address, CodecEndpoint: server.URL + "/{namespace}/", CodecAuth: "Bearer ada"})
	require.NoError(t, err)
	assert.Equal(t, "swordfish", kept.Attempts[0].Message)
	assert.Equal(t, []string{"/prod/decode prod"}, server.seen, "the namespace is in path and header, as the temporal command sends it")

	_, err = evidence(t, ask.Settings{Address: address, CodecEndpoint: server.URL, CodecAuth: "Bearer eve"})
	assert.ErrorContains(t, err, "codec server "+server.URL+" does not decode: Forbidden: who are you?")
	assert.NotContains(t, err.Error(), "eve", "an error shows no token")

	_, err = evidence(t, ask.Settings{Address: address, CodecEndpoint: "http://127.0.0.1:1"})
	assert.ErrorContains(t, err, "codec server http://127.0.0.1:1 does not decode")
}

func TestWhatAPersonSendsIsEncryptedToo(t *testing.T) {
	temporal, address := encryptedTemporal(t)
	server := newDoor(t, temporal.codec, "")
	workflows, err := ask.NewWorkflows(ask.Settings{Address: address, CodecEndpoint: server.URL})
	require.NoError(t, err)
	cronJob := &ostinatov1.CronJob{}
	cronJob.Status.Workflow = &ostinatov1.WorkflowReference{Namespace: "default", ID: "cronjob/shop/report"}
	_, _, err = workflows.Ledger(t.Context(), cronJob, protocol.LedgerQuestion{Limit: 1})
	require.NoError(t, err)
	assert.Equal(t, []string{payloadcodec.Encoding}, temporal.asked)
}

func TestTheCodecServerIsFoundAsTheTemporalCommandFindsIt(t *testing.T) {
	temporal, address := encryptedTemporal(t)
	server := newDoor(t, temporal.codec, "Bearer ada")
	profile := filepath.Join(t.TempDir(), "temporal.toml")
	require.NoError(t, os.WriteFile(profile, []byte("[profile.default.codec]\nendpoint = \""+server.URL+"\"\nauth = \"Bearer ada\"\n"), 0o600))
	t.Run("by profile", func(t *testing.T) {
		t.Setenv("TEMPORAL_CONFIG_FILE", profile)
		_, err := evidence(t, ask.Settings{Address: address})
		assert.NoError(t, err)
	})
	t.Run("by environment", func(t *testing.T) {
		t.Setenv("TEMPORAL_CODEC_ENDPOINT", server.URL)
		t.Setenv("TEMPORAL_CODEC_AUTH", "Bearer ada")
		_, err := evidence(t, ask.Settings{Address: address})
		assert.NoError(t, err)
	})
	t.Run("a flag wins", func(t *testing.T) {
		t.Setenv("TEMPORAL_CODEC_ENDPOINT", "http://127.0.0.1:1")
		t.Setenv("TEMPORAL_CODEC_AUTH", "Bearer eve")
		_, err := evidence(t, ask.Settings{Address: address, CodecEndpoint: server.URL, CodecAuth: "Bearer ada"})
		assert.NoError(t, err)
	})
	t.Run("another server gets no token that was meant for the first", func(t *testing.T) {
		t.Setenv("TEMPORAL_CODEC_ENDPOINT", "http://127.0.0.1:1")
		t.Setenv("TEMPORAL_CODEC_AUTH", "Bearer ada")
		_, err := evidence(t, ask.Settings{Address: address, CodecEndpoint: server.URL})
		assert.ErrorContains(t, err, "Forbidden")
	})
	t.Run("an address that is none", func(t *testing.T) {
		t.Setenv("TEMPORAL_CODEC_ENDPOINT", "127.0.0.1:8085")
		_, err := ask.NewWorkflows(ask.Settings{Address: address})
		assert.ErrorContains(t, err, `"127.0.0.1:8085" is no address of a codec server; write http://127.0.0.1:8085`)
	})
}
