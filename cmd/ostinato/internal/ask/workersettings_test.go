package ask_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"ostinato.dev/ostinato/cmd/ostinato/internal/ask"
	"ostinato.dev/ostinato/internal/temporalserver/authority"
)

// installation is an API server of a cluster where Ostinato and Temporal are installed. It forwards ports as one before Kubernetes 1.30
// does, which takes no WebSockets.
type installation struct {
	*httptest.Server
	settings *corev1.ConfigMap
	service  *corev1.Service
	pods     []corev1.Pod
	// authorities is what a Temporal that asks the API server who may call it has made, or left behind.
	authorities *corev1.ConfigMap
	// forbidden are resources that the person may not read.
	forbidden string
	// behind is where forwarded connections lead; one that does not answer is said on the stream of failures.
	behind string
	// stands: a request to forward is not answered.
	stands chan struct{}

	mutex     sync.Mutex
	asked     []string
	forwarded []string
}

func install(t *testing.T, temporal string) *installation {
	t.Helper()
	made := &installation{
		settings: &corev1.ConfigMap{Data: map[string]string{"TEMPORAL_ADDRESS": "temporal-frontend.temporal:7233", "TEMPORAL_NAMESPACE": "jobs"}},
		service: &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "temporal", Name: "temporal-frontend"},
			Spec: corev1.ServiceSpec{ClusterIP: "10.0.0.7", Selector: map[string]string{"app": "frontend"}, Ports: []corev1.ServicePort{
				{Port: 7233, TargetPort: intstr.FromString("rpc")},
			}},
		},
		behind: temporal,
	}
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "temporal", Name: "frontend-0"}}
	pod.Spec.Containers = []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "metrics", ContainerPort: 9090}, {Name: "rpc", ContainerPort: 17233}}}}
	starting := *pod.DeepCopy()
	starting.Name = "frontend-1"
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	made.pods = []corev1.Pod{starting, pod}
	made.Server = httptest.NewServer(made)
	t.Cleanup(made.Close)
	return made
}

func (i *installation) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/api/v1/namespaces/")
	i.mutex.Lock()
	i.asked = append(i.asked, path)
	i.mutex.Unlock()
	answer := any(nil)
	switch {
	case i.forbidden != "" && strings.Contains(path, i.forbidden):
		answer = refusal(apierrors.NewForbidden(schema.GroupResource{Resource: i.forbidden}, "", fmt.Errorf("ask an administrator")))
	case path == "ostinato-system/configmaps/ostinato-temporal" && i.settings != nil:
		answer = i.settings
	case strings.HasSuffix(path, "/configmaps/ostinato-temporal-authority") && i.authorities != nil:
		answer = i.authorities
	case i.service != nil && path == i.service.Namespace+"/services/"+i.service.Name:
		answer = i.service
	case path == "temporal/pods" && r.URL.Query().Get("labelSelector") == "app=frontend":
		answer = &corev1.PodList{Items: i.pods}
	case strings.HasSuffix(path, "/portforward") && i.stands != nil:
		<-i.stands
		return
	case strings.HasSuffix(path, "/portforward") && r.Method == http.MethodPost:
		i.forward(w, r)
		return
	case strings.HasSuffix(path, "/portforward"):
		http.Error(w, "no WebSockets here", http.StatusBadRequest)
		return
	default:
		answer = refusal(apierrors.NewNotFound(schema.GroupResource{Resource: "things"}, path))
	}
	w.Header().Set("Content-Type", "application/json")
	if status, refused := answer.(*metav1.Status); refused {
		w.WriteHeader(int(status.Code))
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func refusal(err *apierrors.StatusError) *metav1.Status {
	status := err.Status()
	status.Kind, status.APIVersion = "Status", "v1"
	return &status
}

// forward serves a connection as a node does.
func (i *installation) forward(w http.ResponseWriter, r *http.Request) {
	if _, err := httpstream.Handshake(r, w, []string{portforward.PortForwardProtocolV1Name}); err != nil {
		return
	}
	streams := make(chan httpstream.Stream, 2)
	connection := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(stream httpstream.Stream, _ <-chan struct{}) error {
		streams <- stream
		return nil
	})
	if connection == nil {
		return
	}
	defer connection.Close()
	var data, failures httpstream.Stream
	for range 2 {
		select {
		case stream := <-streams:
			if stream.Headers().Get(corev1.StreamType) == corev1.StreamTypeError {
				failures = stream
			} else {
				data = stream
			}
		case <-connection.CloseChan():
			return
		}
	}
	i.mutex.Lock()
	i.forwarded = append(i.forwarded, strings.TrimPrefix(r.URL.Path, "/api/v1/namespaces/")+" "+data.Headers().Get(corev1.PortHeader))
	i.mutex.Unlock()
	behind, err := net.Dial("tcp", i.behind)
	if err != nil {
		fmt.Fprintf(failures, "nothing listens on port %s", data.Headers().Get(corev1.PortHeader))
		_ = failures.Close()
		<-connection.CloseChan()
		return
	}
	defer behind.Close()
	go func() { _, _ = io.Copy(behind, data) }()
	go func() {
		_, _ = io.Copy(data, behind)
		_ = data.Close()
	}()
	<-connection.CloseChan()
}

// asking are settings of a person who names no address.
func (i *installation) asking(t *testing.T) ask.Settings {
	t.Helper()
	reached, err := ask.NewCluster(&rest.Config{Host: i.URL}, "", "")
	require.NoError(t, err)
	return ask.Settings{Workers: func() (ask.WorkerSettings, error) { return reached.WorkerSettings(t.Context(), "ostinato-system") }}
}

// within are settings with a codec server for what the Temporal of these tests answers.
func within(t *testing.T, temporal *encrypted, settings ask.Settings) ask.Settings {
	t.Helper()
	settings.CodecEndpoint = newDoor(t, temporal.codec, "").URL
	return settings
}

func TestTemporalIsAskedWhereTheWorkersAskIt(t *testing.T) {
	temporal, address := encryptedTemporal(t)
	t.Setenv("TEMPORAL_ADDRESS", "")

	t.Run("through the API server where it is a Service", func(t *testing.T) {
		cluster := install(t, address)
		settings := within(t, temporal, cluster.asking(t))
		kept, err := evidence(t, settings)
		require.NoError(t, err)
		assert.Equal(t, "swordfish", kept.Attempts[0].Message)
		assert.Equal(t, []string{"temporal/pods/frontend-0/portforward 17233"}, cluster.forwarded, "the Pod that is ready, and its own port")
		workflows, err := ask.NewWorkflows(settings)
		require.NoError(t, err)
		assert.Equal(t, "temporal-frontend.temporal:7233", workflows.Address())
		assert.Equal(t, "jobs", workflows.Namespace())
	})
	t.Run("directly where it is none", func(t *testing.T) {
		cluster := install(t, address)
		cluster.settings.Data["TEMPORAL_ADDRESS"] = address
		_, err := evidence(t, within(t, temporal, cluster.asking(t)))
		assert.NoError(t, err)
		assert.Equal(t, []string{"ostinato-system/configmaps/ostinato-temporal"}, cluster.asked)
	})
	t.Run("in their namespace, whichever a person has named for another address", func(t *testing.T) {
		t.Setenv("TEMPORAL_NAMESPACE", "prod")
		workflows, err := ask.NewWorkflows(install(t, address).asking(t))
		require.NoError(t, err)
		assert.Equal(t, "jobs", workflows.Namespace())
	})
}

// The ConfigMap of the authorities is the server's and stays when its door is taken away.
func TestATemporalWhoseDoorWasTakenAwayIsAskedAsOneWithout(t *testing.T) {
	temporal, address := encryptedTemporal(t)
	t.Setenv("TEMPORAL_ADDRESS", "")
	authorities, _, err := authority.Authorities(nil).Renew(time.Now())
	require.NoError(t, err)
	cluster := install(t, address)
	cluster.authorities = &corev1.ConfigMap{Data: map[string]string{"ca.crt": string(authorities.Bundle())}}
	cluster.service.Name, cluster.settings.Data["TEMPORAL_ADDRESS"] = "ostinato-temporal", "ostinato-temporal.temporal:7233"
	_, err = evidence(t, within(t, temporal, cluster.asking(t)))
	require.NoError(t, err)

	cluster.service.Namespace = "ostinato-system"
	reached, err := ask.NewCluster(&rest.Config{Host: cluster.URL}, "", "")
	require.NoError(t, err)
	_, token, err := reached.TemporalPage(t.Context(), "ostinato-system")
	require.NoError(t, err)
	assert.Nil(t, token, "its page asks for nothing")
	cluster.settings.Data["TEMPORAL_TLS"] = "true"
	_, token, err = reached.TemporalPage(t.Context(), "ostinato-system")
	require.NoError(t, err)
	assert.NotNil(t, token)
}

func TestAnAddressThatThePersonHasNamedIsAskedAlone(t *testing.T) {
	temporal, address := encryptedTemporal(t)
	for name, named := range map[string]func(*testing.T, *ask.Settings){
		"a flag":     func(_ *testing.T, settings *ask.Settings) { settings.Address = address },
		"a variable": func(t *testing.T, _ *ask.Settings) { t.Setenv("TEMPORAL_ADDRESS", address) },
	} {
		t.Run(name, func(t *testing.T) {
			cluster := install(t, address)
			settings := within(t, temporal, cluster.asking(t))
			named(t, &settings)
			_, err := evidence(t, settings)
			assert.NoError(t, err)
			assert.Empty(t, cluster.asked)
		})
	}
}

func TestWhatIsInTheWayOfTemporalIsSaid(t *testing.T) {
	temporal, address := encryptedTemporal(t)
	t.Setenv("TEMPORAL_ADDRESS", "")
	for name, test := range map[string]struct {
		change func(*installation)
		want   string
	}{
		"no ConfigMap":             {func(i *installation) { i.settings = nil }, "get ConfigMap ostinato-system/ostinato-temporal"},
		"no right to it":           {func(i *installation) { i.forbidden = "configmaps" }, "ask an administrator"},
		"no address":               {func(i *installation) { i.settings.Data["TEMPORAL_ADDRESS"] = "temporal" }, "TEMPORAL_ADDRESS: address temporal: missing port"},
		"no right to Pods":         {func(i *installation) { i.forbidden = "pods" }, "list Pods of Service temporal/temporal-frontend"},
		"no right to forward":      {func(i *installation) { i.forbidden = "portforward" }, "forward port 17233 of Pod temporal/frontend-0"},
		"no right to Services":     {func(i *installation) { i.forbidden = "services" }, "get Service temporal/temporal-frontend"},
		"no Pod that is ready":     {func(i *installation) { i.pods = i.pods[:1] }, "service temporal/temporal-frontend has no Pod that is ready"},
		"no such port":             {func(i *installation) { i.service.Spec.Ports = nil }, "service temporal/temporal-frontend: port 7233: it has no such port"},
		"a server CA that is none": {func(i *installation) { i.settings.Data["TEMPORAL_TLS_SERVER_CA_CERT_DATA"] = "hello" }, "server CA"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := install(t, address)
			test.change(cluster)
			workflows, err := ask.NewWorkflows(within(t, temporal, cluster.asking(t)))
			if err == nil {
				_, err = workflows.Pollers(t.Context(), "", "")
			}
			assert.ErrorContains(t, err, test.want)
		})
	}
}

func TestANodeSaysWhyAPortIsNotForwarded(t *testing.T) {
	cluster := install(t, "127.0.0.1:1")
	reached, err := ask.NewCluster(&rest.Config{Host: cluster.URL}, "", "")
	require.NoError(t, err)
	settings, err := reached.WorkerSettings(t.Context(), "ostinato-system")
	require.NoError(t, err)
	connection, err := ask.Dial(t.Context(), settings)
	require.NoError(t, err)
	defer connection.Close()
	_, err = connection.Read(make([]byte, 1))
	assert.ErrorContains(t, err, "nothing listens on port 17233")
}

func TestAnAPIServerThatForwardsNothingHoldsNobodyUp(t *testing.T) {
	_, address := encryptedTemporal(t)
	t.Setenv("TEMPORAL_ADDRESS", "")
	cluster := install(t, address)
	cluster.stands = make(chan struct{})
	defer close(cluster.stands)
	reached, err := ask.NewCluster(&rest.Config{Host: cluster.URL}, "", "")
	require.NoError(t, err)
	settings, err := reached.WorkerSettings(t.Context(), "ostinato-system")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = ask.Dial(ctx, settings)
	assert.ErrorContains(t, err, "forward port 17233 of Pod temporal/frontend-0: context deadline exceeded")
}

func TestThePortOfAPodIsThatOfItsService(t *testing.T) {
	pod := &corev1.Pod{}
	pod.Spec.Containers = []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "rpc", ContainerPort: 17233}}}}
	for name, test := range map[string]struct {
		clusterIP string
		port      corev1.ServicePort
		want      int
	}{
		"the same":           {"10.0.0.7", corev1.ServicePort{Port: 7233}, 7233},
		"a number":           {"10.0.0.7", corev1.ServicePort{Port: 7233, TargetPort: intstr.FromInt32(80)}, 80},
		"a name":             {"10.0.0.7", corev1.ServicePort{Port: 7233, TargetPort: intstr.FromString("rpc")}, 17233},
		"a name of no port":  {"10.0.0.7", corev1.ServicePort{Port: 7233, TargetPort: intstr.FromString("web")}, 0},
		"a Service of names": {corev1.ClusterIPNone, corev1.ServicePort{Port: 7233, TargetPort: intstr.FromString("rpc")}, 7233},
		"another port":       {"10.0.0.7", corev1.ServicePort{Port: 80}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			service := &corev1.Service{Spec: corev1.ServiceSpec{ClusterIP: test.clusterIP, Ports: []corev1.ServicePort{test.port}}}
			port, err := ask.TargetPort(service, pod, strconv.Itoa(7233))
			assert.Equal(t, test.want, port)
			assert.Equal(t, test.want == 0, err != nil)
		})
	}
}
