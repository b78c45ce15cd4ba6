package certificates

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"ostinato.dev/ostinato/internal/temporalserver/authority"
)

// every is how often the Secrets are looked at. One that was deleted is there again after it.
const every = 30 * time.Second

// lookTimeout bounds one look at all of them.
const lookTimeout = 30 * time.Second

// Options configure a Keeper.
type Options struct {
	Client kubernetes.Interface
	// Namespace is that of the Secrets and of the Service.
	Namespace string
	// Service is the name at which clients dial the server, and the prefix of the Secrets' names.
	Service string
	// TokensOnly is for a server whose certificates, and those of its programs, are of another authority: this one is for the tokens of
	// people alone, and neither programs nor people are given anything of it.
	TokensOnly bool
	Logger     *slog.Logger
	// Now is the clock, time.Now when nil.
	Now func() time.Time
}

// Keeper makes and renews certificates.
type Keeper struct {
	Options
	secrets corev1client.SecretInterface
	held    atomic.Pointer[held]
}

// held is what a handshake uses.
type held struct {
	authorities authority.Authorities
	server      *tls.Certificate
}

// Open returns a Keeper whose Secrets are there. Calling it again, also at the same time, finds those.
func Open(ctx context.Context, o Options) (*Keeper, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	k := &Keeper{Options: o, secrets: o.Client.CoreV1().Secrets(o.Namespace)}
	err := k.renew(ctx)
	if err != nil {
		return nil, err
	}
	return k, nil
}

// awaitEvery is how often Await tries.
const awaitEvery = time.Second

// Await opens a Keeper as soon as the API server lets it. Its error is that of the last time, after ctx has ended.
func Await(ctx context.Context, o Options) (*Keeper, error) {
	for {
		keeper, err := Open(ctx, o)
		if err == nil {
			return keeper, nil
		}
		o.Logger.Warn("waiting for certificates", "error", err)
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(awaitEvery):
		}
	}
}

// Run renews what is due, until ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(every):
		}
		err := k.renew(ctx)
		if err != nil && ctx.Err() == nil {
			k.Logger.Warn("the certificates are not renewed; those that there are go on to hold", "error", err)
		}
	}
}

// Bundle is the certificates of the authorities in PEM.
func (k *Keeper) Bundle() []byte { return k.held.Load().authorities.Bundle() }

// ServerTLS is the configuration of the server. Each handshake uses what there is then. A client needs no certificate, but one
// that it has must be of an authority.
func (k *Keeper) ServerTLS() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			now := k.held.Load()
			return &tls.Config{
				MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"},
				Certificates: []tls.Certificate{*now.server},
				ClientCAs:    now.authorities.Pool(), ClientAuth: tls.VerifyClientCertIfGiven,
				Time: k.Now,
			}, nil
		},
	}
}

// Sign returns a certificate of a user for the key of a certificate request in PEM.
func (k *Keeper) Sign(user authority.Identity, request []byte) ([]byte, error) {
	return k.held.Load().authorities.Person(user, request, k.Now())
}

// User returns whom a token of a person's certificate names (authority.ErrAnotherToken if it is of another kind).
func (k *Keeper) User(token string) (authority.Identity, error) {
	return k.held.Load().authorities.User(token, k.Now())
}

func (k *Keeper) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	authorities, err := k.authorities(ctx)
	if err != nil {
		return err
	}
	err = k.serve(authorities)
	if err != nil {
		return err
	}
	if k.TokensOnly {
		return nil
	}
	return errors.Join(k.program(ctx, authorities, authority.Worker), k.program(ctx, authorities, authority.Bridge), k.publish(ctx, authorities))
}

// serve makes the server's certificate anew if it is due, or if another authority signs now.
func (k *Keeper) serve(authorities authority.Authorities) error {
	now, before := k.Now(), k.held.Load()
	if before != nil && !authority.Due(before.server.Leaf, now) && authorities.Signs(before.server.Leaf, now) {
		k.held.Store(&held{authorities: authorities, server: before.server})
		return nil
	}
	pair, err := authorities.Server(k.names(), []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}, now)
	if err != nil {
		return fmt.Errorf("make the Temporal server's certificate: %w", err)
	}
	server, err := pair.TLS()
	if err != nil {
		return err
	}
	k.held.Store(&held{authorities: authorities, server: server})
	return nil
}

// names are those at which clients of the cluster dial the server, and of kubectl port-forward.
func (k *Keeper) names() []string {
	return []string{k.Service, k.Service + "." + k.Namespace, k.Service + "." + k.Namespace + ".svc", "localhost"}
}
