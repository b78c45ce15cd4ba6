package telemetry

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/flowcontrol"
)

const (
	// allowedFor and refusedFor are how long an answer of the API server holds.
	allowedFor = time.Minute
	refusedFor = 10 * time.Second
	// answersKept bounds the answers that are remembered.
	answersKept = 1000
	// reviewsPerSecond bounds what strangers can have the API server asked.
	reviewsPerSecond = 10
	reviewTimeout    = 5 * time.Second
)

// Access lets those through whom RBAC lets do to a path, as a nonResourceURL, what
// the request does: who is reading metrics needs the verb get on /metrics. It asks
// the API server whose the request's bearer token is (TokenReview) and whether they
// may (SubjectAccessReview), which needs the right to create both.
type Access struct {
	client  kubernetes.Interface
	logger  *slog.Logger
	answers *cache.LRUExpireCache
	limiter flowcontrol.RateLimiter
}

// NewAccess returns an Access that asks by client.
func NewAccess(client kubernetes.Interface, logger *slog.Logger) *Access {
	return &Access{
		client:  client,
		logger:  logger,
		answers: cache.NewLRUExpireCache(answersKept),
		limiter: flowcontrol.NewTokenBucketRateLimiter(reviewsPerSecond, 2*reviewsPerSecond),
	}
}

// question is what an answer is to; the token is not kept.
type question struct {
	token      [sha256.Size]byte
	verb, path string
}

// Protect returns the handler behind the check. It answers 401 to a token that is
// missing or nobody's, 403 where there is no right, 429 to more strangers at once than
// it asks for, and 503 where the API server does not answer.
func (a *Access) Protect(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := a.judge(r)
		if status == http.StatusOK {
			handler.ServeHTTP(w, r)
			return
		}
		if status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		http.Error(w, http.StatusText(status), status)
	})
}

func (a *Access) judge(r *http.Request) int {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return http.StatusUnauthorized
	}
	asked := question{token: sha256.Sum256([]byte(token)), verb: strings.ToLower(r.Method), path: r.URL.Path}
	if status, known := a.answers.Get(asked); known {
		return status.(int)
	}
	if !a.limiter.TryAccept() {
		return http.StatusTooManyRequests
	}
	ctx, cancel := context.WithTimeout(r.Context(), reviewTimeout)
	defer cancel()
	status, err := a.review(ctx, token, asked)
	if err != nil {
		a.logger.Warn("who reads metrics can't be told", "path", asked.path, "error", err)
		return http.StatusServiceUnavailable
	}
	held := refusedFor
	if status == http.StatusOK {
		held = allowedFor
	}
	a.answers.Add(asked, status, held)
	return status
}

// review asks the API server.
func (a *Access) review(ctx context.Context, token string, asked question) (int, error) {
	identity, err := a.client.AuthenticationV1().TokenReviews().Create(ctx,
		&authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	if err != nil {
		return 0, fmt.Errorf("create a TokenReview: %w", err)
	}
	if !identity.Status.Authenticated {
		return http.StatusUnauthorized, nil
	}
	user := identity.Status.User
	extra := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
	for key, values := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(values)
	}
	access, err := a.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
			NonResourceAttributes: &authorizationv1.NonResourceAttributes{Verb: asked.verb, Path: asked.path},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return 0, fmt.Errorf("create a SubjectAccessReview of %s: %w", user.Username, err)
	}
	if !access.Status.Allowed {
		return http.StatusForbidden, nil
	}
	return http.StatusOK, nil
}
