package commands

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
	"ostinato.dev/ostinato/cmd/ostinato/internal/ask"
)

// defaultClass marks the storage class that a claim without one gets.
const defaultClass = "storageclass.kubernetes.io/is-default-class"

// ownFacts asks for the Temporals that installations run for themselves, and for what keeps their data.
func (p *person) ownFacts(ctx context.Context, cluster *ask.Cluster) (own []answer.OwnTemporal, unseen string) {
	found, err := cluster.OwnTemporals(ctx, p.system)
	for n := range found {
		one := answer.OwnTemporal{Namespace: found[n].Namespace, Name: found[n].Name}
		for _, container := range found[n].Spec.Template.Spec.Containers {
			if one.Image == "" || container.Name == "temporal" {
				one.Image = container.Image
			}
		}
		for _, name := range claimsOf(&found[n]) {
			claim, err := claimOf(ctx, cluster, found[n].Namespace, name)
			one.Claim, one.ClaimUnseen = claim, reason(err)
		}
		own = append(own, one)
	}
	return own, reason(err)
}

// claimsOf are the names of the claims that the Pods of a StatefulSet have volumes by.
func claimsOf(set *appsv1.StatefulSet) (names []string) {
	for _, volume := range set.Spec.Template.Spec.Volumes {
		if volume.PersistentVolumeClaim != nil {
			names = append(names, volume.PersistentVolumeClaim.ClaimName)
		}
	}
	return names
}

// claimOf reads a claim, and where it waits for a class, whether one is the default.
func claimOf(ctx context.Context, cluster *ask.Cluster, namespace, name string) (*answer.Claim, error) {
	found, err := cluster.Claim(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	claim := &answer.Claim{Namespace: namespace, Name: name, Class: ptr.Deref(found.Spec.StorageClassName, ""), Bound: found.Status.Phase == corev1.ClaimBound}
	if claim.Bound || found.Spec.StorageClassName != nil {
		return claim, nil
	}
	classes, err := cluster.StorageClasses(ctx)
	claim.NoDefault, claim.DefaultUnseen = err == nil && !hasDefault(classes), reason(err)
	return claim, nil
}

func hasDefault(classes []storagev1.StorageClass) bool {
	for n := range classes {
		if classes[n].Annotations[defaultClass] == "true" {
			return true
		}
	}
	return false
}
