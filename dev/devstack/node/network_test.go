package node

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/yaml"
)

func TestNetworkConfigurations(t *testing.T) {
	golden(t, "network.json.golden", networkConfiguration())
	golden(t, "Corefile.golden", dnsConfiguration())
	golden(t, "kube-proxy.golden", strings.Join(proxyArguments("n"), "\n")+"\n")
	objects, err := yaml.Marshal(newNetworkObjects(6443))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "services.yaml.golden", string(objects))
	if !json.Valid([]byte(networkConfiguration())) {
		t.Error("the network's configuration is not JSON")
	}
}

// The node has the addresses of Services, so that what none of them answers is refused, and no address of a Pod.
func TestTheNodeHasTheAddressesOfServicesAndOfNoPod(t *testing.T) {
	own, pods := netip.MustParsePrefix(nodeNetwork).Masked(), netip.MustParsePrefix(podRange)
	for _, services := range []string{dnsAddress + "/32", "10.96.0.0/16"} {
		if prefix := netip.MustParsePrefix(services); !own.Contains(prefix.Addr()) || prefix.Bits() < own.Bits() {
			t.Errorf("%s is not within %s", services, own)
		}
	}
	if netip.MustParsePrefix("10.96.0.0/16").Contains(netip.MustParseAddr(nodeAddress)) {
		t.Errorf("a Service could get the node's address %s", nodeAddress)
	}
	if own.Overlaps(pods) {
		t.Errorf("%s and %s overlap", own, pods)
	}
}

func TestANodeWithoutTheProgramsHasNoStepsOfTheNetwork(t *testing.T) {
	environment := []string{"PATH=/bin", "TMPDIR=/tmp"}
	if steps := networkSteps(settings{}, environment); steps != nil {
		t.Errorf("got %+v", steps)
	}
	programs := map[string]string{"kube-proxy": "/b/1/kube-proxy", "coredns": "/b/2/coredns", "nft": "/b/3/nft"}
	steps := networkSteps(settings{name: "n", binaries: programs}, environment)
	if len(steps) != 2 || steps[0].Path != "/b/1/kube-proxy" || steps[1].Path != "/b/2/coredns" {
		t.Fatalf("got %+v", steps)
	}
	for _, path := range programs {
		if !slices.Contains(steps[0].Awaits, path) {
			t.Errorf("kube-proxy does not wait for %s", path)
		}
	}
	if want := []string{"PATH=/b/3:/bin", "TMPDIR=/tmp"}; !slices.Equal(steps[0].Env, want) {
		t.Errorf("kube-proxy's environment is %q, want %q", steps[0].Env, want)
	}
}

func TestNetworkObjectsOfAnEarlierStartAreBroughtUpToDate(t *testing.T) {
	client := fake.NewClientset()
	for _, apiPort := range []int32{6443, 7443} {
		if err := newNetworkObjects(apiPort).apply(t.Context(), client); err != nil {
			t.Fatal(err)
		}
		slice, err := client.DiscoveryV1().EndpointSlices("default").Get(t.Context(), "kubernetes", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(slice.Ports) != 1 || *slice.Ports[0].Port != apiPort || slice.Endpoints[0].Addresses[0] != nodeAddress {
			t.Errorf("the Service kubernetes leads to %+v, %+v, want port %d", slice.Endpoints, slice.Ports, apiPort)
		}
	}
}
