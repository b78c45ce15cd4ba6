package ask

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ownTemporal chooses the Temporals that installations run for themselves.
const ownTemporal = "app.kubernetes.io/name=ostinato-temporal"

// OwnTemporals lists the Temporals that installations run for themselves: those of the whole cluster where the person may list them, else
// those of a namespace.
func (c *Cluster) OwnTemporals(ctx context.Context, namespace string) ([]appsv1.StatefulSet, error) {
	list := func(namespace string) (*appsv1.StatefulSetList, error) {
		return c.clients.Kubernetes.AppsV1().StatefulSets(namespace).List(ctx, metav1.ListOptions{LabelSelector: ownTemporal})
	}
	found, err := list(metav1.NamespaceAll)
	if apierrors.IsForbidden(err) {
		found, err = list(namespace)
	}
	if err != nil {
		return nil, fmt.Errorf("list StatefulSets with Temporal: %w", err)
	}
	return found.Items, nil
}

// Claim reads a volume claim.
func (c *Cluster) Claim(ctx context.Context, namespace, name string) (*corev1.PersistentVolumeClaim, error) {
	claim, err := c.clients.Kubernetes.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("get PersistentVolumeClaim %s/%s: %w", namespace, name, err)
	}
	return claim, nil
}

// StorageClasses lists the storage classes of the cluster.
func (c *Cluster) StorageClasses(ctx context.Context) ([]storagev1.StorageClass, error) {
	found, err := c.clients.Kubernetes.StorageV1().StorageClasses().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list StorageClasses: %w", err)
	}
	return found.Items, nil
}
