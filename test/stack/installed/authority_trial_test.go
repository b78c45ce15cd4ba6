//go:build linux && trial

package installed

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/temporalserver/authority"
)

const (
	// settles is how old an authority is when it begins to sign, with what its certificate allows clocks to differ by.
	settles = 24*time.Hour - 5*time.Minute
	// mounted bounds the time from a change of a Secret to its files in every Pod.
	mounted = 3 * time.Minute
)

// renewAuthority renews Temporal's certificate authority as ten years would: a new one is known beside the old one, then signs, and then
// the old one has expired. At last every process shakes hands anew.
func renewAuthority(t *testing.T) {
	old := secret(t, "authority")
	authorities, err := authority.Read(old.Data["ca.crt"], old.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		t.Fatal(err)
	}
	renewed, _, err := authority.Authorities(nil).Renew(time.Now().Add(mounted - settles))
	if err != nil {
		t.Fatal(err)
	}
	keep(t, append(authorities, renewed...))
	harness.Eventually(t, mounted+harness.Slack, func(context.Context) error {
		for _, program := range []string{authority.Worker, authority.Bridge} {
			data := secret(t, program).Data
			pair, err := authority.Pair{Certificate: data[corev1.TLSCertKey], Key: data[corev1.TLSPrivateKeyKey]}.TLS()
			if err != nil {
				return err
			}
			if !renewed.Signs(pair.Leaf, time.Now()) {
				return fmt.Errorf("the certificate of the %s is of the old authority", program)
			}
		}
		return nil
	})
	time.Sleep(mounted)
	keep(t, renewed)
	time.Sleep(mounted)
	killPods(t)
}

// secret is one of those that Temporal keeps.
func secret(t *testing.T, suffix string) *corev1.Secret {
	t.Helper()
	object, err := cluster.client.Resource(secrets).Namespace(namespace).Get(t.Context(), "ostinato-temporal-"+suffix, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	read := &corev1.Secret{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, read); err != nil {
		t.Fatal(err)
	}
	return read
}

// keep gives the installation these authorities.
func keep(t *testing.T, authorities authority.Authorities) {
	t.Helper()
	keys, err := authorities.Keys()
	if err != nil {
		t.Fatal(err)
	}
	kept := secret(t, "authority")
	kept.Data = map[string][]byte{"ca.crt": authorities.Bundle(), corev1.TLSCertKey: authorities.Bundle(), corev1.TLSPrivateKeyKey: keys}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(kept)
	if err != nil {
		t.Fatal(err)
	}
	_, err = cluster.client.Resource(secrets).Namespace(namespace).Update(t.Context(), &unstructured.Unstructured{Object: object}, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}
