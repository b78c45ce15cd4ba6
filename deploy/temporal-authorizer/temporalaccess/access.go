// Package temporalaccess has a Temporal server of your own build ask the Kubernetes API server who may call it, as Ostinato's own does.
//
// Temporal loads no plugins: an authorizer is compiled in. The program in the folder above is a server that has this one and nothing else;
// take it as it is, or these parts into a build that you have.
package temporalaccess

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"

	"go.temporal.io/server/common/authorization"
	"google.golang.org/grpc"
	"k8s.io/client-go/kubernetes"

	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/temporalserver/access"
	"ostinato.dev/ostinato/internal/temporalserver/authority"
	"ostinato.dev/ostinato/internal/temporalserver/certificates"
	"ostinato.dev/ostinato/internal/temporalserver/signer"
)

// service is the prefix of the Secret's name.
const service = "ostinato-temporal"

// Options say whom a server is for, and who tells.
type Options struct {
	// Kubernetes is a client with the rights of deploy/components/temporal-access/rbac.yaml. Set its QPS to -1: client-go's own bound of five
	// questions a second, for all callers, is used up by a stranger's tokens.
	Kubernetes kubernetes.Interface
	// KubernetesNamespace has the Secret ostinato-temporal-authority, by which tokens of people are signed. It is made if it is not there,
	// and all frontends of a cluster use the same.
	KubernetesNamespace string
	// Namespace is the Temporal namespace that worker, bridge and people use.
	Namespace string
	// Cluster is the worker's and the bridge's --cluster.
	Cluster string
	// Administrators is a group of the API server's whose members may do everything. Empty is none.
	Administrators string
	// Worker and Bridge are the common names of those programs' client certificates, and Server that of the server's own services, which need
	// one unless the cluster has an internal-frontend. The authorities are those of the server's configuration: they must give these
	// names to no one else. Empty is none.
	Worker, Bridge, Server string
	// Others decides about the other Temporal namespaces, and about calls that concern none and are no one's of these here. Its claims are
	// those of OthersClaims. Without it they are for administrators.
	Others       authorization.Authorizer
	OthersClaims authorization.ClaimMapper
	Logger       *slog.Logger
}

// Access is what a Temporal server takes as options.
type Access struct {
	Authorizer  authorization.Authorizer
	ClaimMapper authorization.ClaimMapper
	// StampCaller is the last of the frontend's interceptors: it writes into each signal and update who sends it.
	StampCaller grpc.UnaryServerInterceptor
}

// New returns the access of one frontend. It waits until the API server lets it read or make the Secret, and signs the certificate requests
// of people until ctx ends; several frontends do the same beside one another. Its error is that of the API server, after ctx has ended.
func New(ctx context.Context, o Options) (Access, error) {
	keeper, err := certificates.Await(ctx, certificates.Options{
		Client: o.Kubernetes, Namespace: o.KubernetesNamespace, Service: service, TokensOnly: true, Logger: o.Logger,
	})
	if err != nil {
		return Access{}, err
	}
	go keeper.Run(ctx)
	go signer.Run(ctx, o.Kubernetes, keeper.Sign, o.Logger)
	return Access{
		Authorizer: authorizer{o, access.Authorizer(access.Options{
			Namespace: o.Namespace, Cluster: names.Cluster(o.Cluster), Administrators: o.Administrators,
			Certificates: o.program, Tokens: keeper.User, Reviews: access.NewReviews(o.Kubernetes),
		})},
		ClaimMapper: claimMapper{o, access.ClaimMapper()},
		StampCaller: o.stampCaller,
	}, nil
}

// stampCaller leaves the other namespaces as they are.
func (o Options) stampCaller(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	about, ok := request.(interface{ GetNamespace() string })
	if !ok || about.GetNamespace() != o.Namespace {
		return handler(ctx, request)
	}
	return access.StampCaller(ctx, request, info, handler)
}

// program returns which one a certificate is made out to.
func (o Options) program(certificate *x509.Certificate) (authority.Identity, error) {
	name := certificate.Subject.CommonName
	switch {
	case name == "":
		return authority.Identity{}, errors.New("the certificate has no common name")
	case name == o.Worker:
		return authority.Identity{Program: authority.Worker}, nil
	case name == o.Bridge:
		return authority.Identity{Program: authority.Bridge}, nil
	default:
		return authority.Identity{}, fmt.Errorf("the certificate of %q is of neither worker nor bridge", name)
	}
}
