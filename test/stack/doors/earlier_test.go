//go:build linux

package doors

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"ostinato.dev/ostinato/dev/devstack/controlplane"
	"ostinato.dev/ostinato/dev/devstack/process"
	"ostinato.dev/ostinato/dev/devstack/toolchain"
	"ostinato.dev/ostinato/dev/harness"
)

// stopGrace is how long etcd may take to end by itself.
const stopGrace = 10 * time.Second

// kept is an object that an earlier version's API server has written, as etcd has it.
const kept = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"kept","namespace":"default",` +
	`"uid":"f6a05e54-5d9f-4c5f-9f0b-0a4a7b3f1f55","creationTimestamp":"2026-11-01T00:00:00Z"},"data":{"since":"before"}}`

// Until its etcd asked for certificates, a control plane's data named a peer by plain HTTP, its folder was open, and it had
// one authority.
func TestAFolderOfAnEarlierVersionKeepsItsObjects(t *testing.T) {
	binaries, err := toolchain.Ensure(t.Context(), t.Output(), "etcd", "kube-apiserver")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	writeAsBefore(t, binaries["etcd"], dir)
	for range 2 {
		started, err := controlplane.Start(t.Context(), controlplane.Options{Dir: dir, Binaries: binaries, Log: t.Output()})
		if err != nil {
			t.Fatal(err)
		}
		isKept(t, started)
		if err := started.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode() != fs.ModeDir|0o700 {
		t.Errorf("the folder has mode %s (%v)", info.Mode(), err)
	}
}

func isKept(t *testing.T, started *controlplane.ControlPlane) {
	t.Helper()
	client, err := kubernetes.NewForConfig(started.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	found, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), "kept", metav1.GetOptions{})
	if err != nil || found.Data["since"] != "before" {
		t.Errorf("the object is %v (%v)", found.Data, err)
	}
	metrics, err := started.EtcdMetrics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	metrics.Close()
}

// writeAsBefore runs etcd as an earlier version did, and writes the object.
func writeAsBefore(t *testing.T, etcd, dir string) {
	t.Helper()
	var ports [2]int
	for i := range ports {
		port, err := process.FreePort()
		if err != nil {
			t.Fatal(err)
		}
		ports[i] = port
	}
	chosen := fmt.Sprintf(`{"etcdClient":%d,"etcdPeer":%d}`, ports[0], ports[1])
	if err := os.WriteFile(filepath.Join(dir, "ports.json"), []byte(chosen), 0o644); err != nil {
		t.Fatal(err)
	}
	client, peer := fmt.Sprintf("http://127.0.0.1:%d", ports[0]), fmt.Sprintf("http://127.0.0.1:%d", ports[1])
	server, err := process.Start(t.Context(), process.Spec{
		Name: "etcd", Path: etcd, LogFile: filepath.Join(dir, "logs", "etcd.log"),
		Args: []string{
			"--name=ostinato", "--data-dir=" + filepath.Join(dir, "etcd"),
			"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
			"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=ostinato=" + peer,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), harness.Prompt)
	defer cancel()
	written := server.WaitReady(ctx, func(ctx context.Context) error {
		return putInEtcd(ctx, client, "/registry/configmaps/default/kept", kept)
	})
	if err := errors.Join(written, server.Stop(stopGrace)); err != nil {
		t.Fatal(err)
	}
}

// putInEtcd writes a key as every user of the machine could.
func putInEtcd(ctx context.Context, address, key, value string) error {
	body, err := json.Marshal(map[string]string{
		"key": base64.StdEncoding.EncodeToString([]byte(key)), "value": base64.StdEncoding.EncodeToString([]byte(value)),
	})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address+"/v3/kv/put", bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	return nil
}
