package signer

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/certificates/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/temporalserver/authority"
)

const (
	// writeTimeout bounds the writes of one request.
	writeTimeout = 10 * time.Second
	// A request whose write failed is tried again after firstRetry, doubling up to lastRetry.
	firstRetry, lastRetry = 100 * time.Millisecond, 10 * time.Second
)

// Sign returns a certificate of a user for the key of a certificate request in PEM. Its error is what is wrong with the request.
type Sign func(user authority.Identity, request []byte) ([]byte, error)

type signer struct {
	client kubernetes.Interface
	lister listers.CertificateSigningRequestLister
	sign   Sign
	logger *slog.Logger
}

// Run approves and signs the requests for names.TemporalSigner until ctx ends. Of a request nothing counts but its key and whom the
// API server has stamped into it. Several at the same time do no harm.
func Run(ctx context.Context, client kubernetes.Interface, sign Sign, logger *slog.Logger) {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTweakListOptions(func(options *metav1.ListOptions) {
		options.FieldSelector = fields.OneTermEqualSelector("spec.signerName", names.TemporalSigner).String()
	}))
	requests := factory.Certificates().V1().CertificateSigningRequests()
	waiting := workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](firstRetry, lastRetry))
	add := func(object any) {
		request, ok := object.(*certificatesv1.CertificateSigningRequest)
		if ok && open(request) {
			waiting.Add(request.Name)
		}
	}
	_, err := requests.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, object any) { add(object) }})
	if err != nil {
		logger.Error("certificate requests are not watched", "error", err)
		return
	}
	s := &signer{client: client, lister: requests.Lister(), sign: sign, logger: logger}
	factory.StartWithContext(ctx)
	go func() {
		<-ctx.Done()
		waiting.ShutDown()
	}()
	for {
		name, over := waiting.Get()
		if over {
			return
		}
		err := s.handle(ctx, name)
		if err == nil {
			waiting.Forget(name)
		} else {
			logger.Warn("a certificate request is not signed; it is tried again", "request", name, "error", err)
			waiting.AddRateLimited(name)
		}
		waiting.Done(name)
	}
}

// open reports whether a request has no answer yet.
func open(request *certificatesv1.CertificateSigningRequest) bool {
	return request.Spec.SignerName == names.TemporalSigner && len(request.Status.Certificate) == 0 &&
		!has(request, certificatesv1.CertificateDenied) && !has(request, certificatesv1.CertificateFailed)
}

func has(request *certificatesv1.CertificateSigningRequest, kind certificatesv1.RequestConditionType) bool {
	return slices.ContainsFunc(request.Status.Conditions, func(c certificatesv1.CertificateSigningRequestCondition) bool { return c.Type == kind })
}

// handle answers one request. Its error is a write that failed.
func (s *signer) handle(ctx context.Context, name string) error {
	request, err := s.lister.Get(name)
	if apierrors.IsNotFound(err) || err == nil && !open(request) {
		return nil
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	request = request.DeepCopy()
	if !has(request, certificatesv1.CertificateApproved) {
		request, err = s.approve(ctx, request)
		if err != nil {
			return err
		}
	}
	signed, problem := s.sign(authority.Identity{User: userOf(request)}, request.Spec.Request)
	if problem == nil {
		request.Status.Certificate = signed
	} else {
		request.Status.Conditions = append(request.Status.Conditions, condition(certificatesv1.CertificateFailed, "CannotSign", problem.Error()))
	}
	_, err = s.client.CertificatesV1().CertificateSigningRequests().UpdateStatus(ctx, request, metav1.UpdateOptions{})
	if err != nil {
		return fmt.Errorf("write the certificate of %s into CertificateSigningRequest %s: %w", request.Spec.Username, name, err)
	}
	return nil
}

// approve approves every request: a certificate gives nothing that its user does not have.
func (s *signer) approve(ctx context.Context, request *certificatesv1.CertificateSigningRequest) (*certificatesv1.CertificateSigningRequest, error) {
	request.Status.Conditions = append(request.Status.Conditions, condition(certificatesv1.CertificateApproved, "KnownUser", "each user may be known to Temporal"))
	approved, err := s.client.CertificatesV1().CertificateSigningRequests().UpdateApproval(ctx, request.Name, request, metav1.UpdateOptions{})
	if err != nil {
		return nil, fmt.Errorf("approve CertificateSigningRequest %s: %w", request.Name, err)
	}
	return approved, nil
}

func condition(kind certificatesv1.RequestConditionType, reason, message string) certificatesv1.CertificateSigningRequestCondition {
	return certificatesv1.CertificateSigningRequestCondition{Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: message}
}

// userOf is whom the API server has stamped into a request.
func userOf(request *certificatesv1.CertificateSigningRequest) *authenticationv1.UserInfo {
	user := authenticationv1.UserInfo{Username: request.Spec.Username, UID: request.Spec.UID, Groups: request.Spec.Groups}
	for key, values := range request.Spec.Extra {
		if user.Extra == nil {
			user.Extra = map[string]authenticationv1.ExtraValue{}
		}
		user.Extra[key] = authenticationv1.ExtraValue(values)
	}
	return &user
}
