package certificates

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/internal/temporalserver/authority"
)

// bundleKey is the key of the authorities' certificates in each Secret.
const bundleKey = "ca.crt"

// authoritySuffix makes the name of the authority's Secret.
const authoritySuffix = "-authority"

// authorities returns those that the Secret has, after it was made or renewed.
func (k *Keeper) authorities(ctx context.Context) (authority.Authorities, error) {
	name := k.Service + authoritySuffix
	stored, err := k.find(ctx, name)
	if err != nil {
		return nil, err
	}
	known, err := k.known(stored)
	if err != nil {
		return nil, err
	}
	wanted, changed, err := known.Renew(k.Now())
	if err != nil {
		return nil, err
	}
	if stored != nil && !changed {
		return wanted, nil
	}
	keys, err := wanted.Keys()
	if err != nil {
		return nil, err
	}
	err = k.write(ctx, stored, name, map[string][]byte{bundleKey: wanted.Bundle(), corev1.TLSPrivateKeyKey: keys, corev1.TLSCertKey: wanted.Bundle()})
	if err != nil {
		return nil, err
	}
	k.Logger.Info("certificate authority is made or renewed", "secret", k.Namespace+"/"+name)
	return wanted, nil
}

// known is what the Secret has. If it was deleted, or can't be read, what this process has goes on to count, so that no
// certificate that was given out loses its worth; without that either, there is none.
func (k *Keeper) known(stored *corev1.Secret) (authority.Authorities, error) {
	own := k.held.Load()
	if stored == nil {
		if own == nil {
			return nil, nil
		}
		return own.authorities, nil
	}
	read, err := authority.Read(stored.Data[bundleKey], stored.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil, fmt.Errorf("read Secret %s/%s, which holds the certificate authority of Temporal; delete it, and a new one is made: %w",
			k.Namespace, stored.Name, err)
	}
	return read, nil
}

// program makes the Secret of worker or bridge anew, if what it has is not good for long.
func (k *Keeper) program(ctx context.Context, authorities authority.Authorities, program string) error {
	name := k.Service + "-" + program
	stored, err := k.find(ctx, name)
	if err != nil {
		return err
	}
	if stored != nil && k.good(stored, authorities, program) {
		return nil
	}
	pair, err := authorities.Program(program, k.Now())
	if err != nil {
		return fmt.Errorf("make the certificate of the %s: %w", program, err)
	}
	err = k.write(ctx, stored, name, map[string][]byte{
		bundleKey: authorities.Bundle(), corev1.TLSCertKey: pair.Certificate, corev1.TLSPrivateKeyKey: pair.Key,
	})
	if err != nil {
		return err
	}
	k.Logger.Info("certificate is made or renewed", "secret", k.Namespace+"/"+name)
	return nil
}

// good reports whether a Secret has the program's certificate, signed by the authority that signs now, and all authorities.
func (k *Keeper) good(stored *corev1.Secret, authorities authority.Authorities, program string) bool {
	pair, err := authority.Pair{Certificate: stored.Data[corev1.TLSCertKey], Key: stored.Data[corev1.TLSPrivateKeyKey]}.TLS()
	if err != nil {
		return false
	}
	identity, err := authority.IdentityOf(pair.Leaf)
	if err != nil || identity.Program != program {
		return false
	}
	now := k.Now()
	return !authority.Due(pair.Leaf, now) && authorities.Signs(pair.Leaf, now) &&
		string(stored.Data[bundleKey]) == string(authorities.Bundle())
}

// find returns a Secret, nil if there is none.
func (k *Keeper) find(ctx context.Context, name string) (*corev1.Secret, error) {
	stored, err := k.secrets.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get Secret %s/%s: %w", k.Namespace, name, err)
	}
	return stored, nil
}

// write creates the Secret, or replaces the data of the one that was found. Another server's write between is an error, and the
// next look finds what that one has written.
func (k *Keeper) write(ctx context.Context, stored *corev1.Secret, name string, data map[string][]byte) error {
	if stored == nil {
		_, err := k.secrets.Create(ctx, &corev1.Secret{
			ObjectMeta: k.meta(name), Type: corev1.SecretTypeTLS, Data: data,
		}, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("create Secret %s/%s: %w", k.Namespace, name, err)
		}
		return nil
	}
	changed := stored.DeepCopy()
	changed.Data = data
	_, err := k.secrets.Update(ctx, changed, metav1.UpdateOptions{})
	if err != nil {
		return fmt.Errorf("update Secret %s/%s: %w", k.Namespace, name, err)
	}
	return nil
}

// publish writes the authorities' certificates where people read them.
func (k *Keeper) publish(ctx context.Context, authorities authority.Authorities) error {
	maps, data := k.Client.CoreV1().ConfigMaps(k.Namespace), map[string]string{bundleKey: string(authorities.Bundle())}
	name := k.Service + authoritySuffix
	stored, err := maps.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: k.meta(name), Data: data}, metav1.CreateOptions{})
	} else if err == nil && stored.Data[bundleKey] != data[bundleKey] {
		changed := stored.DeepCopy()
		changed.Data = data
		_, err = maps.Update(ctx, changed, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("write the certificate authorities into ConfigMap %s/%s: %w", k.Namespace, name, err)
	}
	return nil
}

func (k *Keeper) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Labels: map[string]string{"app.kubernetes.io/name": k.Service, "app.kubernetes.io/part-of": "ostinato"}}
}
