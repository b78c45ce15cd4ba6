package job

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/klog/v2/ktesting"
	jobcontroller "k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/kubernetes/pkg/features"
)

// ostinato is a worker and a bridge, which run already.
type ostinato struct{}

// Run does what is left of running the controller: nothing.
func (ostinato) Run(context.Context, int) {}

// startJobControllerAndWaitForCaches starts a worker and a bridge and waits until they are ready. What is returned last stops them.
// The options are those of informers in the built-in controller's process.
func startJobControllerAndWaitForCaches(tb testing.TB, restConfig *restclient.Config, _ ...informers.SharedInformerOption) (context.Context, context.CancelFunc) {
	tb.Helper()
	_, ctx, cancel := createJobControllerWithSharedInformers(tb, restConfig, nil)
	return ctx, cancel
}

// createJobControllerWithSharedInformers does the same. The informers are the garbage collector's.
func createJobControllerWithSharedInformers(tb testing.TB, restConfig *restclient.Config, _ informers.SharedInformerFactory) (ostinato, context.Context, context.CancelFunc) {
	tb.Helper()
	if !feature.DefaultFeatureGate.Enabled(features.JobManagedBy) && strings.HasPrefix(tb.Name(), "TestManagedBy/") {
		tb.Skip("Ostinato has no feature gate JobManagedBy: spec.managedBy always counts")
	}
	_, ctx := ktesting.NewTestContext(tb)
	ctx, end := context.WithCancel(ctx)
	id := start(tb, startRequest{
		Name: tb.Name(), Kubeconfig: kubeconfig(tb, restConfig), Cluster: clusterOf(restConfig), Arguments: jobArguments(restConfig),
	})
	cancel := sync.OnceFunc(func() {
		stop(tb, id)
		end()
	})
	tb.Cleanup(cancel)
	return ostinato{}, ctx, cancel
}

// clusterOf names the API server by the token that each makes for itself: whoever goes on with its Jobs finds their workflows, and no
// other does.
func clusterOf(config *restclient.Config) string {
	sum := sha256.Sum256([]byte(config.BearerToken))
	return "suite-" + hex.EncodeToString(sum[:6])
}

// jobArguments are what the suite sets in variables of the built-in controller. Ostinato's shortest back-off is a second.
func jobArguments(config *restclient.Config) []string {
	arguments := []string{
		"--pod-backoff-base=" + wholeSeconds(jobcontroller.DefaultJobPodFailureBackOff).String(),
		"--pod-backoff-cap=" + wholeSeconds(jobcontroller.MaxJobPodFailureBackOff).String(),
	}
	if config.QPS != restConfigQPS {
		arguments = append(arguments, "--kube-qps=1")
	}
	return arguments
}

func wholeSeconds(d time.Duration) time.Duration { return max(time.Second, d.Truncate(time.Second)) }

// kubeconfig returns the connection as a file says it.
func kubeconfig(tb testing.TB, config *restclient.Config) string {
	tb.Helper()
	const name = "suite"
	file := clientcmdapi.NewConfig()
	file.Clusters[name] = &clientcmdapi.Cluster{
		Server: config.Host, CertificateAuthority: config.CAFile, CertificateAuthorityData: config.CAData, TLSServerName: config.ServerName,
	}
	file.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: config.BearerToken}
	file.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	file.CurrentContext = name
	text, err := clientcmd.Write(*file)
	if err != nil {
		tb.Fatalf("write a kubeconfig: %v", err)
	}
	return string(text)
}
