package devstack

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"ostinato.dev/ostinato/dev/devstack/process"
	"ostinato.dev/ostinato/dev/devstack/temporalcluster"
	"ostinato.dev/ostinato/dev/devstack/temporalcluster/spec"
	"ostinato.dev/ostinato/internal/config"
	"ostinato.dev/ostinato/internal/temporalserver/authority"
)

// TemporalAdministrators is the group of those who may do everything in a TemporalGuarded.
const TemporalAdministrators = "temporal-administrators"

const (
	// guardedNamespace is where a guarded server keeps its certificates.
	guardedNamespace = "ostinato-system"
	accessPatience   = 10 * time.Second
)

// guardedTemporal is cmd/temporal with a door. Its programs have the certificates that it keeps in Secrets, as they are when a program
// starts; the administrator has one that is signed each time.
type guardedTemporal struct{ *embeddedTemporal }

func (s *Stack) newGuarded() guardedTemporal {
	return guardedTemporal{&embeddedTemporal{
		stack: s, args: []string{"--access=" + config.AccessKubernetes, "--administrators=" + TemporalAdministrators},
	}}
}

// Start implements temporalServer.
func (g guardedTemporal) Start(ctx context.Context) error {
	kubeconfig := g.stack.KubeconfigPath()
	if g.stack.options.TemporalAccess != nil {
		var err error
		kubeconfig, err = g.stack.options.TemporalAccess(ctx, g.stack)
		if err != nil {
			return err
		}
	}
	loaded, err := clientcmd.LoadFromFile(kubeconfig)
	if err != nil {
		return fmt.Errorf("read the kubeconfig of Temporal: %w", err)
	}
	loaded.Contexts[loaded.CurrentContext].Namespace = guardedNamespace
	own := filepath.Join(g.stack.options.Dir, "temporal.kubeconfig")
	err = clientcmd.WriteToFile(*loaded, own)
	if err != nil {
		return fmt.Errorf("write the kubeconfig of Temporal: %w", err)
	}
	g.env = []string{"KUBECONFIG=" + own}
	return g.embeddedTemporal.Start(ctx)
}

// Access implements temporalServer. Without certificates, which there are once the server has started, it has none.
func (g guardedTemporal) Access(program string) temporalcluster.Access {
	access, err := g.access(program)
	if err != nil {
		g.stack.log("certificates for Temporal: " + err.Error())
	}
	access.Address = frontendAddress(g.stack.Ports)
	return access
}

func (g guardedTemporal) access(program string) (temporalcluster.Access, error) {
	ctx, cancel := context.WithTimeout(context.Background(), accessPatience)
	defer cancel()
	var pair authority.Pair
	var bundle []byte
	if program == spec.Admin {
		authorities, err := g.authorities(ctx)
		if err != nil {
			return temporalcluster.Access{}, err
		}
		pair, err = administrator(authorities)
		if err != nil {
			return temporalcluster.Access{}, err
		}
		bundle = authorities.Bundle()
	} else {
		stored, err := g.secret(ctx, program)
		if err != nil {
			return temporalcluster.Access{}, err
		}
		pair = authority.Pair{Certificate: stored.Data[corev1.TLSCertKey], Key: stored.Data[corev1.TLSPrivateKeyKey]}
		bundle = stored.Data["ca.crt"]
	}
	folder := filepath.Join(g.stack.options.Dir, "temporal-access", program)
	err := process.PrivateFolder(folder)
	if err != nil {
		return temporalcluster.Access{}, err
	}
	access := temporalcluster.Access{
		Authority: filepath.Join(folder, "ca.crt"), Certificate: filepath.Join(folder, corev1.TLSCertKey), Key: filepath.Join(folder, corev1.TLSPrivateKeyKey),
	}
	for path, data := range map[string][]byte{access.Authority: bundle, access.Certificate: pair.Certificate, access.Key: pair.Key} {
		err := os.WriteFile(path, data, 0o600)
		if err != nil {
			return temporalcluster.Access{}, err
		}
	}
	return access, nil
}

func (g guardedTemporal) secret(ctx context.Context, suffix string) (*corev1.Secret, error) {
	client, err := g.stack.kubernetes()
	if err != nil {
		return nil, err
	}
	return client.CoreV1().Secrets(guardedNamespace).Get(ctx, "ostinato-temporal-"+suffix, metav1.GetOptions{})
}

func (g guardedTemporal) authorities(ctx context.Context) (authority.Authorities, error) {
	stored, err := g.secret(ctx, "authority")
	if err != nil {
		return nil, err
	}
	return authority.Read(stored.Data["ca.crt"], stored.Data[corev1.TLSPrivateKeyKey])
}

// administrator is what only who reads the authority's key can sign.
func administrator(authorities authority.Authorities) (authority.Pair, error) {
	request, err := authority.NewRequest()
	if err != nil {
		return authority.Pair{}, err
	}
	user := authority.Identity{User: &authenticationv1.UserInfo{Username: spec.Admin, Groups: []string{TemporalAdministrators}}}
	signed, err := authorities.Person(user, request.Certificate, time.Now())
	return authority.Pair{Certificate: signed, Key: request.Key}, err
}
