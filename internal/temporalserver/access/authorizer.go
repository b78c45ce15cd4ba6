package access

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/server/common/api"
	"go.temporal.io/server/common/authorization"
	"google.golang.org/grpc/peer"
	authenticationv1 "k8s.io/api/authentication/v1"

	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/temporalserver/authority"
)

// How a caller is known, in the principals of histories.
const (
	byCertificate = "certificate"
	byKubernetes  = names.KubernetesCaller
)

// Options say whom a server is for.
type Options struct {
	// Namespace is the Temporal namespace that worker, bridge and people use.
	Namespace string
	// Cluster is that of the workflows' IDs.
	Cluster names.Cluster
	// Administrators is a group of the API server's whose members may do everything. Empty is none.
	Administrators string
	// Certificates knows whom a certificate names that TLS has verified, authority.IdentityOf when nil.
	Certificates func(*x509.Certificate) (authority.Identity, error)
	// Tokens knows the tokens that people's certificates make; ErrAnotherToken sends the others to Reviews.
	Tokens func(token string) (authority.Identity, error)
	// Reviews asks the API server.
	Reviews Reviews
}

// Reviews is what the API server says about people.
type Reviews interface {
	// Identify returns who owns a token; false if it is unknown or not for Temporal. host is where the caller is.
	Identify(ctx context.Context, host, token string) (authenticationv1.UserInfo, bool, error)
	// Allowed returns the first of the questions that the user may not do, nil if all are allowed.
	Allowed(ctx context.Context, user authenticationv1.UserInfo, questions []Question) (*Question, error)
}

// ClaimMapper returns the claim mapper to use with an Authorizer.
func ClaimMapper() authorization.ClaimMapper { return claimMapper{} }

// Authorizer lets the server itself and administrators do everything, programs what their work needs in the namespace, and people
// what the API server lets them do to the workflow's object.
func Authorizer(o Options) authorization.Authorizer {
	if o.Certificates == nil {
		o.Certificates = authority.IdentityOf
	}
	return authorizer{o}
}

type authorizer struct{ Options }

// Authorize implements authorization.Authorizer. Its error is what the caller hears: PermissionDenied, or Unavailable if the API
// server can't tell.
func (a authorizer) Authorize(ctx context.Context, claims *authorization.Claims, target *authorization.CallTarget) (authorization.Result, error) {
	allowed := rules[target.APIName]
	if allowed.people == nothing {
		return authorization.Result{Decision: authorization.DecisionAllow}, nil
	}
	if claims == nil {
		return denied("a caller without a credential", target, "present a certificate or a token with the audience "+Audience), nil
	}
	if claims.AuthType == authorization.InternalPrincipalType {
		return permitted(authorization.InternalPrincipalType, authorization.InternalPrincipalName), nil
	}
	brought, _ := claims.Extensions.(credential)
	identity, reason, err := a.identify(ctx, brought)
	if err != nil {
		return authorization.Result{}, err
	}
	switch {
	case reason != "":
		return denied("a caller", target, reason), nil
	case identity.User != nil:
		return a.person(ctx, *identity.User, target, allowed.people)
	default:
		return a.program(identity.Program, target, allowed), nil
	}
}

// identify returns whom a credential names, or the reason why it names no one.
func (a authorizer) identify(ctx context.Context, brought credential) (authority.Identity, string, error) {
	if brought.token != "" {
		identity, err := a.Tokens(brought.token)
		if err == nil {
			return identity, "", nil
		}
		if !errors.Is(err, authority.ErrAnotherToken) {
			return authority.Identity{}, err.Error(), nil
		}
		user, known, err := a.Reviews.Identify(ctx, hostOf(ctx), brought.token)
		if err != nil {
			return authority.Identity{}, "", unavailable(err)
		}
		if !known {
			return authority.Identity{}, "the API server knows no such token with the audience " + Audience, nil
		}
		return authority.Identity{User: &user}, "", nil
	}
	if brought.certificate == nil {
		return authority.Identity{}, "there is neither a certificate nor a token", nil
	}
	identity, err := a.Certificates(brought.certificate)
	if err != nil {
		return authority.Identity{}, err.Error(), nil
	}
	return identity, "", nil
}

func (a authorizer) program(name string, target *authorization.CallTarget, allowed rule) authorization.Result {
	may := name == authority.Worker && allowed.worker || name == authority.Bridge && allowed.bridge
	if may && a.reaches(target) {
		return permitted(byCertificate, name)
	}
	return denied(fmt.Sprintf("program %q", name), target, "its work does not need that")
}

// reaches reports whether a call stays in the namespace, or concerns none.
func (a authorizer) reaches(target *authorization.CallTarget) bool {
	if target.Namespace == a.Namespace {
		return true
	}
	return target.Namespace == "" && api.GetMethodMetadata(target.APIName).Scope == api.ScopeCluster
}

func (a authorizer) person(ctx context.Context, user authenticationv1.UserInfo, target *authorization.CallTarget, needs right) (authorization.Result, error) {
	if a.Administrators != "" && slices.Contains(user.Groups, a.Administrators) {
		return permitted(byKubernetes, escaped(user.Username)), nil
	}
	who := fmt.Sprintf("%q", user.Username)
	if !a.reaches(target) {
		return refuse(who, target, fmt.Sprintf("Temporal namespace %q is for administrators", target.Namespace))
	}
	asked, err := questions(a.Cluster, needs, target.Request)
	if err != nil {
		return refuse(who, target, err.Error())
	}
	refused, err := a.Reviews.Allowed(ctx, user, asked)
	if err != nil {
		return authorization.Result{}, unavailable(err)
	}
	if refused != nil {
		return refuse(who, target, "the API server does not let them "+text(*refused))
	}
	return permitted(byKubernetes, escaped(user.Username)), nil
}

func permitted(kind, name string) authorization.Result {
	return authorization.Result{Decision: authorization.DecisionAllow, Principal: &commonpb.Principal{Type: kind, Name: name}}
}

// refuse is denied for a person, who hears the reason as the message: commands show that alone.
func refuse(who string, target *authorization.CallTarget, reason string) (authorization.Result, error) {
	result := denied(who, target, reason)
	return result, serviceerror.NewPermissionDenied(result.Reason, result.Reason)
}

func denied(who string, target *authorization.CallTarget, reason string) authorization.Result {
	return authorization.Result{
		Decision: authorization.DecisionDeny,
		Reason:   fmt.Sprintf("%s may not call %s: %s", who, api.MethodName(target.APIName), reason),
	}
}

// text says a question as a person would.
func text(q Question) string {
	resource := q.Resource
	if q.Subresource != "" {
		resource += "/" + q.Subresource
	}
	if q.Group != "" {
		resource += "." + q.Group
	}
	words := []string{q.Verb, resource}
	if q.Name != "" {
		words = append(words, q.Name)
	}
	if q.Namespace == "" {
		return strings.Join(append(words, "in all namespaces"), " ")
	}
	return strings.Join(append(words, "in namespace", q.Namespace), " ")
}

// unavailable makes clients try again.
func unavailable(err error) error {
	return serviceerror.NewUnavailable("who calls, or what they may do, is not known now: " + err.Error())
}

// hostOf is where the caller is, "" if that is not known.
func hostOf(ctx context.Context) string {
	caller, ok := peer.FromContext(ctx)
	if !ok {
		return ""
	}
	host, _, err := net.SplitHostPort(caller.Addr.String())
	if err != nil {
		return caller.Addr.String()
	}
	return host
}
