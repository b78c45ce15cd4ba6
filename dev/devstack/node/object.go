package node

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
)

// kindLabel marks the Nodes of the development stack with their kind.
const (
	kindLabel     = "ostinato.dev/node-kind"
	kindSimulated = "simulated"
	kindReal      = "real"
)

// removeOtherKinds deletes the stack's Nodes that are not of the kind. Pods bound to them are collected by the pod
// garbage collector as those of a machine that is gone.
func removeOtherKinds(ctx context.Context, client kubernetes.Interface, kind string) error {
	selector := metav1.ListOptions{LabelSelector: kindLabel + "," + kindLabel + "!=" + kind}
	if err := client.CoreV1().Nodes().DeleteCollection(ctx, metav1.DeleteOptions{}, selector); err != nil {
		return fmt.Errorf("remove Nodes that are not %s: %w", kind, err)
	}
	return nil
}

// createNode creates the Node, or brings labels, annotations and addresses of the existing one up to date.
func createNode(ctx context.Context, client kubernetes.Interface, want *corev1.Node) error {
	nodes := client.CoreV1().Nodes()
	created, err := nodes.Create(ctx, want, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create Node %s: %w", want.Name, err)
	}
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if created == nil || created.Name == "" || err != nil {
			if created, err = nodes.Get(ctx, want.Name, metav1.GetOptions{}); err != nil {
				return err
			}
		}
		created.Labels, created.Annotations = merged(created.Labels, want.Labels), merged(created.Annotations, want.Annotations)
		if created, err = nodes.Update(ctx, created, metav1.UpdateOptions{}); err != nil {
			return err
		}
		if len(want.Status.Addresses) == 0 {
			return nil
		}
		created.Status.Addresses = want.Status.Addresses
		created, err = nodes.UpdateStatus(ctx, created, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("update Node %s: %w", want.Name, err)
	}
	return nil
}

func merged(have, want map[string]string) map[string]string {
	result := map[string]string{}
	for _, source := range []map[string]string{have, want} {
		for key, value := range source {
			result[key] = value
		}
	}
	return result
}

// schedulable returns nil when the Node is ready, by a heartbeat not older than since, and takes Pods. The taint that a new Node is given until it is ready
// is taken off here where no node-lifecycle controller does.
func schedulable(ctx context.Context, client kubernetes.Interface, name string, since time.Time) error {
	node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("get Node %s: %w", name, err)
	}
	if !isReady(node, since) {
		return fmt.Errorf("the Node %s is not ready%s", name, whyNotReady(node))
	}
	if !slices.ContainsFunc(node.Spec.Taints, isNotReadyTaint) {
		return nil
	}
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, isNotReadyTaint)
	if _, err := client.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("take the taint off Node %s: %w", name, err)
	}
	return nil
}

func isNotReadyTaint(taint corev1.Taint) bool { return taint.Key == corev1.TaintNodeNotReady }

func isReady(node *corev1.Node, since time.Time) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue && !c.LastHeartbeatTime.Time.Before(since)
	})
}

func whyNotReady(node *corev1.Node) string {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return ": " + condition.Message
		}
	}
	return ""
}
