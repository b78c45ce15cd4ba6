package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
)

// cluster says where worker and bridge of a stack work.
type cluster string

const (
	// clusterAuto is a cluster of the stack's own, unless KUBECONFIG names another and the person agrees.
	clusterAuto cluster = "auto"
	// clusterCurrent is the one of the kubeconfig's current context: only Temporal, worker and bridge run here.
	clusterCurrent cluster = "current"
)

// kubeconfig returns that of the person's cluster, "" for one of the stack's own. Foreign is KUBECONFIG, "" where it is not set, or is what
// the stack itself printed (own). What it asks and says is on output.
func (c cluster) kubeconfig(foreign string, own bool, input io.Reader, output io.Writer) (string, error) {
	switch {
	case c == clusterAuto:
		return foreign, confirmCluster(foreign, input, output)
	case own:
		return "", errors.New("the current cluster is the one that this stack printed: unset KUBECONFIG, or leave CLUSTER=current away")
	}
	kubeconfig := cmp.Or(foreign, clientcmd.RecommendedHomeFile)
	rules := clientcmd.ClientConfigLoadingRules{Precedence: filepath.SplitList(kubeconfig)}
	config, err := rules.Load()
	if err != nil {
		return "", fmt.Errorf("find the current cluster: %w", err)
	}
	if config.CurrentContext == "" {
		return "", fmt.Errorf("find the current cluster: %s names no current context", kubeconfig)
	}
	fmt.Fprintf(output, "The CRD and the sample go to the cluster of context %s of %s.\n", config.CurrentContext, kubeconfig)
	return kubeconfig, nil
}

// confirmCluster asks before a cluster that is the user's own gets a CRD and a
// sample: KUBECONFIG is often set for other reasons.
func confirmCluster(kubeconfig string, input io.Reader, output io.Writer) error {
	if kubeconfig == "" {
		return nil
	}
	fmt.Fprintf(output, "KUBECONFIG is set: the CRD and the sample go to the current cluster of %s (unset it for an own cluster).\n", kubeconfig)
	if !isTerminal(input) {
		return nil
	}
	fmt.Fprint(output, "Go on? [y/N] ")
	answer, _ := bufio.NewReader(input).ReadString('\n')
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return errors.New("stopped before anything was started")
	}
	return nil
}
