package node

import (
	"fmt"
	"path"
	"strings"

	"ostinato.dev/ostinato/dev/devstack/node/initspec"
)

// The addresses of a real node's network. It is a name space of its own, so that every node has the same.
const (
	nodeAddress = "10.97.0.1"
	// nodeNetwork makes the range of Services, 10.96.0.0/16, the node's own too.
	nodeNetwork = nodeAddress + "/15"
	podRange    = "10.128.0.0/16"
	dnsAddress  = "10.96.0.10"
	// pullAddress is where containerd finds a way to registries.
	pullAddress = "127.0.0.1:3128"
)

// networkConfiguration renders the Pods' network: a link to the node each, by which they reach one another.
func networkConfiguration() string {
	return fmt.Sprintf(`{
  "cniVersion": "1.0.0",
  "name": "ostinato",
  "plugins": [
    {
      "type": "ptp",
      "ipMasq": false,
      "ipam": {
        "type": "host-local",
        "dataDir": "/run/cni",
        "ranges": [[{"subnet": %q}]],
        "routes": [{"dst": "0.0.0.0/0"}]
      }
    }
  ]
}
`, podRange)
}

// dnsConfiguration renders CoreDNS's configuration. A name outside the cluster does not exist: no Pod gets there.
func dnsConfiguration() string {
	return fmt.Sprintf(`cluster.local in-addr.arpa {
	bind %[1]s
	errors
	kubernetes {
		kubeconfig %[2]s/dns.kubeconfig
		ttl 5
	}
}
. {
	bind %[1]s
	template ANY ANY {
		rcode NXDOMAIN
	}
}
`, nodeAddress, insideConfiguration)
}

// proxyArguments are kube-proxy's. It leaves the connection tracking of the machine, which all name spaces share, as it is.
func proxyArguments(node string) []string {
	return []string{
		"--kubeconfig=" + insideConfiguration + "/kube-proxy.kubeconfig",
		"--hostname-override=" + node,
		"--proxy-mode=nftables",
		"--cluster-cidr=" + podRange,
		"--metrics-bind-address=127.0.0.1:10249",
		"--healthz-bind-address=127.0.0.1:10256",
		"--conntrack-max-per-core=0",
		"--conntrack-min=0",
		"--conntrack-tcp-timeout-established=0s",
		"--conntrack-tcp-timeout-close-wait=0s",
	}
}

// pullEnvironment leads containerd to registries.
func pullEnvironment() []string {
	return []string{"HTTP_PROXY=http://" + pullAddress, "HTTPS_PROXY=http://" + pullAddress, "NO_PROXY=localhost"}
}

// networkSteps are what serves the Pods' network, when the programs are there; none where no such programs are to come.
func networkSteps(s settings, environment []string) []initspec.Step {
	proxy, dns, nft := s.binaries["kube-proxy"], s.binaries["coredns"], s.binaries["nft"]
	if proxy == "" {
		return nil
	}
	// kube-proxy looks for nft on the PATH.
	search := strings.Replace(environment[0], "PATH=", "PATH="+path.Dir(nft)+":", 1)
	return []initspec.Step{
		{
			Name: "kube-proxy", Path: proxy, Env: append([]string{search}, environment[1:]...), Log: "/var/log/kube-proxy.log",
			Args: proxyArguments(s.name), Daemon: true, Awaits: []string{proxy, dns, nft},
		},
		{
			Name: "coredns", Path: dns, Env: environment, Log: "/var/log/coredns.log",
			Args: []string{"-conf", insideConfiguration + "/Corefile"}, Daemon: true,
		},
	}
}
