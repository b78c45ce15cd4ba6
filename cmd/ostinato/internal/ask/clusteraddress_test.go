package ask_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/contrib/envconfig"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/ask"
	"ostinato.dev/ostinato/internal/protocol"
)

// canary is in every setting of the person of these tests.
const canary = "canary-of-ada"

// spy is a Temporal that keeps what reaches it: bytes as they come, metadata and requests.
type spy struct {
	workflowservice.UnimplementedWorkflowServiceServer
	address string

	mutex sync.Mutex
	calls int
	heard bytes.Buffer
}

func newSpy(t *testing.T) *spy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	made := &spy{address: listener.Addr().String()}
	server := grpc.NewServer(grpc.UnaryInterceptor(made.hear))
	workflowservice.RegisterWorkflowServiceServer(server, made)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(tapped{listener, made}) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-ended; !errors.Is(err, grpc.ErrServerStopped) {
			require.NoError(t, err)
		}
	})
	return made
}

func (*spy) GetSystemInfo(context.Context, *workflowservice.GetSystemInfoRequest) (*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{}, nil
}

func (s *spy) hear(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	sent, _ := metadata.FromIncomingContext(ctx)
	s.mutex.Lock()
	s.calls++
	fmt.Fprintf(&s.heard, "\n%s %v %v\n", info.FullMethod, sent, request)
	s.mutex.Unlock()
	return handle(ctx, request)
}

// Write keeps the bytes of a connection.
func (s *spy) Write(raw []byte) (int, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.heard.Write(raw)
}

// all returns how often the spy was called, and what it heard.
func (s *spy) all() (calls int, heard string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.calls, s.heard.String()
}

// tapped is a listener whose connections show a spy what they read.
type tapped struct {
	net.Listener
	spy *spy
}

func (l tapped) Accept() (net.Conn, error) {
	connection, err := l.Listener.Accept()
	return tappedConnection{connection, l.spy}, err
}

type tappedConnection struct {
	net.Conn
	spy *spy
}

func (c tappedConnection) Read(into []byte) (int, error) {
	n, err := c.Conn.Read(into)
	_, _ = c.spy.Write(into[:n])
	return n, err
}

// withoutSettings is a person who has set nothing of Temporal's.
func withoutSettings(t *testing.T) {
	t.Helper()
	for _, line := range os.Environ() {
		if name, value, _ := strings.Cut(line, "="); strings.HasPrefix(name, "TEMPORAL_") {
			t.Setenv(name, value) // It is set again after the test.
			require.NoError(t, os.Unsetenv(name))
		}
	}
	t.Setenv("TEMPORAL_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
}

// askAll asks a Temporal in every way in which a namespace, an argument or a header is sent. Its answers are errors.
func askAll(t *testing.T, settings ask.Settings) {
	t.Helper()
	workflows, err := ask.NewWorkflows(settings)
	if err != nil {
		t.Logf("the settings are refused: %v", err)
		return
	}
	_, err = workflows.Pollers(t.Context(), "", "")
	t.Logf("pollers at %s: %v", workflows.Address(), err)
	cronJob := &ostinatov1.CronJob{}
	cronJob.Status.Workflow = &ostinatov1.WorkflowReference{Namespace: "jobs", ID: "cronjob/shop/report"}
	_, err = workflows.Trigger(t.Context(), cronJob, protocol.TriggerRequest{})
	t.Logf("trigger at %s: %v", workflows.Address(), err)
}

// hearsNothingOf asks the Temporal that a ConfigMap names, by an address and by a Service, and returns how many calls
// have arrived there.
func hearsNothingOf(t *testing.T, how string, change func(*ask.Settings)) (calls int) {
	t.Helper()
	for way, service := range map[string]bool{"an address": false, "a Service": true} {
		temporal := newSpy(t)
		cluster := install(t, temporal.address)
		if !service {
			cluster.settings.Data["TEMPORAL_ADDRESS"] = temporal.address
		}
		settings := cluster.asking(t)
		change(&settings)
		askAll(t, settings)
		arrived, heard := temporal.all()
		calls += arrived
		if at := strings.Index(heard, canary); at >= 0 {
			t.Errorf("%s, %s: arrived in %d calls: %q", how, way, arrived, heard[max(0, at-60):at+len(canary)])
		}
	}
	return calls
}

// fill puts the canary wherever a value has room for it, whatever the type has.
func fill(value reflect.Value) {
	switch value.Kind() {
	case reflect.String:
		value.SetString(canary)
	case reflect.Bool:
		value.SetBool(true)
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
		fill(value.Elem())
	case reflect.Struct:
		for n := range value.NumField() {
			fill(value.Field(n))
		}
	case reflect.Slice:
		if value.Type().Elem().Kind() == reflect.Uint8 {
			value.SetBytes([]byte(canary))
			return
		}
		value.Set(reflect.MakeSlice(value.Type(), 1, 1))
		fill(value.Index(0))
	case reflect.Map:
		key, element := reflect.New(value.Type().Key()).Elem(), reflect.New(value.Type().Elem()).Elem()
		fill(key)
		fill(element)
		value.Set(reflect.MakeMap(value.Type()))
		value.SetMapIndex(key, element)
	default:
		panic("this test can't fill a " + value.Type().String())
	}
}

func TestNothingOfAProfileGoesToAnAddressThatTheClusterNames(t *testing.T) {
	withoutSettings(t)
	fields := reflect.TypeFor[envconfig.ClientConfigProfile]()
	for n := range fields.NumField() {
		t.Run(fields.Field(n).Name, func(t *testing.T) {
			var profile envconfig.ClientConfigProfile
			fill(reflect.ValueOf(&profile).Elem().Field(n))
			file := filepath.Join(t.TempDir(), "temporal.toml")
			config := envconfig.ClientConfig{Profiles: map[string]*envconfig.ClientConfigProfile{"default": &profile, "production": &profile}}
			written, err := config.ToTOML(envconfig.ClientConfigToTOMLOptions{})
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(file, written, 0o600))
			t.Setenv("TEMPORAL_CONFIG_FILE", file)
			read, err := envconfig.LoadClientConfigProfile(envconfig.LoadClientConfigProfileOptions{})
			require.NoError(t, err)
			require.False(t, reflect.ValueOf(read).Field(n).IsZero(), "a profile file says nothing of the field: set it in another way here")

			calls := hearsNothingOf(t, "a profile", func(*ask.Settings) {})
			calls += hearsNothingOf(t, "a profile that a flag names", func(settings *ask.Settings) { settings.Profile = "production" })
			if fields.Field(n).Name == "Namespace" {
				assert.Positive(t, calls, "a namespace alone leads to where the workers ask")
			}
		})
	}
}

// lookups is an environment that notes which variables are looked up.
type lookups struct{ asked map[string]bool }

func (lookups) Environ() []string { return nil }

func (l lookups) LookupEnv(name string) (string, bool) {
	l.asked[name] = true
	return "", false
}

func TestNoVariableGoesToAnAddressThatTheClusterNames(t *testing.T) {
	withoutSettings(t)
	// These are found by their prefix.
	read := lookups{map[string]bool{"TEMPORAL_GRPC_META_AUTHORIZATION": true, "TEMPORAL_GRPC_META_X_TOKEN": true}}
	var profile envconfig.ClientConfigProfile
	require.NoError(t, profile.ApplyEnvVars(read))
	require.Contains(t, read.asked, "TEMPORAL_API_KEY")
	for name := range read.asked {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, canary)
			hearsNothingOf(t, "a variable", func(*ask.Settings) {})
		})
	}
	t.Run("all but an address", func(t *testing.T) {
		for name := range read.asked {
			if name != "TEMPORAL_ADDRESS" {
				t.Setenv(name, canary)
			}
		}
		hearsNothingOf(t, "all variables", func(*ask.Settings) {})
	})
	t.Run("what goes to the codec server", func(t *testing.T) {
		calls := hearsNothingOf(t, "a flag", func(settings *ask.Settings) {
			settings.CodecEndpoint, settings.CodecAuth = "http://127.0.0.1:1/"+canary, canary
		})
		assert.Positive(t, calls)
	})
}

func TestAPersonWhoSaysWhatToSendIsAskedForAnAddress(t *testing.T) {
	for _, variable := range []string{
		"TEMPORAL_API_KEY", "TEMPORAL_GRPC_META_AUTHORIZATION", "TEMPORAL_CLIENT_AUTHORITY", "TEMPORAL_TLS_SERVER_NAME",
	} {
		t.Run(variable, func(t *testing.T) {
			withoutSettings(t)
			t.Setenv(variable, canary)
			cluster := install(t, "127.0.0.1:1")
			workflows, err := ask.NewWorkflows(cluster.asking(t))
			require.NoError(t, err)
			assert.Equal(t, "localhost:7233", workflows.Address())
			assert.Empty(t, cluster.asked)
			// No call is sent: something may listen on that port.
			over, end := context.WithCancel(t.Context())
			end()
			_, err = workflows.Pollers(over, "", "")
			assert.ErrorContains(t, err, "name the address too, by TEMPORAL_ADDRESS or --temporal-address")
			assert.NotContains(t, err.Error(), canary, "an error shows no secret")
		})
	}
}
