package main

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

func TestARequestThatIsNotAnsweredIsRepeated(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer server.Close()
	given := filepath.Join(t.TempDir(), "given")
	config := clientcmdapi.NewConfig()
	config.Clusters["here"] = &clientcmdapi.Cluster{Server: server.URL, InsecureSkipTLSVerify: true}
	config.AuthInfos["kwok"] = &clientcmdapi.AuthInfo{Token: "secret"}
	config.Contexts["here"] = &clientcmdapi.Context{Cluster: "here", AuthInfo: "kwok"}
	config.CurrentContext = "here"
	if err := clientcmd.WriteToFile(*config, given); err != nil {
		t.Fatal(err)
	}
	arguments, err := repeat([]string{"--node-port=1", kubeconfigFlag + given}, filepath.Join(t.TempDir(), "home"))
	if err != nil || len(arguments) != 2 || arguments[0] != "--node-port=1" {
		t.Fatalf("arguments %v, error %v", arguments, err)
	}
	for path, repeats := range map[string]bool{given: false, arguments[1][len(kubeconfigFlag):]: true} {
		loaded, err := clientcmd.BuildConfigFromFlags("", path)
		if err != nil {
			t.Fatal(err)
		}
		client, err := kubernetes.NewForConfig(loaded)
		if err != nil {
			t.Fatal(err)
		}
		err = client.CoreV1().Pods("default").Delete(t.Context(), "pod", metav1.DeleteOptions{})
		if err == nil || utilnet.IsConnectionRefused(err) != repeats {
			t.Errorf("with %s: %v; kwok is to repeat it: %t", path, err, repeats)
		}
	}
}

func TestAKubeconfigThatIsNotThereIsSaid(t *testing.T) {
	if _, err := repeat([]string{kubeconfigFlag + filepath.Join(t.TempDir(), "none")}, t.TempDir()); err == nil {
		t.Error("no error")
	}
}
