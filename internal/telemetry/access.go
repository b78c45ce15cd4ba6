package telemetry

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
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
	allowedFor  = time.Minute
	refusedFor  = 10 * time.Second
	answersKept = 1000 // bounds the answers that are remembered
	// keptFor is how long an allowed answer goes on to hold while the API server does not
	// answer or is not asked: metrics are needed most in an outage.
	keptFor = 10 * time.Minute
	// reviewsPerSecond and reviewsPerCaller bound what strangers can have the API server asked, in sum and from one
	// address, so that a caller with random tokens does not use up those of other callers. An address from which a
	// permitted caller has read within keptFor does not count in the sum. callersKept bounds the addresses that are
	// known apart.
	reviewsPerSecond = 50
	reviewsPerCaller = 5
	callersKept      = 1000
	reviewTimeout    = 5 * time.Second
)

// Access lets a request through if RBAC allows the caller to do to the path, as a nonResourceURL, what the
// request does: reading metrics needs the verb get on /metrics. It asks the API server who owns the request's
// bearer token (TokenReview) and what that user may do (SubjectAccessReview), which needs the right to create both.
type Access struct {
	client  kubernetes.Interface
	logger  *slog.Logger
	answers *cache.LRUExpireCache
	kept    *cache.LRUExpireCache // the questions whose last answer was that the caller may
	limiter flowcontrol.RateLimiter
	mutex   sync.Mutex
	callers *cache.LRUExpireCache
	readers *cache.LRUExpireCache // the addresses of the last allowed answers
}

// NewAccess returns an Access that asks by client.
func NewAccess(client kubernetes.Interface, logger *slog.Logger) *Access {
	return &Access{
		client:  client,
		logger:  logger,
		answers: cache.NewLRUExpireCache(answersKept),
		kept:    cache.NewLRUExpireCache(answersKept),
		callers: cache.NewLRUExpireCache(callersKept),
		readers: cache.NewLRUExpireCache(callersKept),
		limiter: flowcontrol.NewTokenBucketRateLimiter(reviewsPerSecond, 2*reviewsPerSecond),
	}
}

// question is what an answer is to; the token is not kept.
type question struct {
	token      [sha256.Size]byte
	verb, path string
}

// Protect returns the handler behind the check. It answers 401 to a token that is missing or unknown, 403 if there is
// no right, 429 to more strangers at once than it asks for, and 503 where the API server does not answer.
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
	host := hostOf(r.RemoteAddr)
	_, reads := a.readers.Get(host)
	status := http.StatusTooManyRequests
	if a.caller(host).TryAccept() && (reads || a.limiter.TryAccept()) {
		var err error
		if status, err = a.review(r.Context(), token, asked); err != nil {
			a.logger.Warn("who reads metrics can't be told", "path", asked.path, "error", err)
		}
	}
	switch status {
	case http.StatusOK:
		a.answers.Add(asked, status, allowedFor)
		a.kept.Add(asked, true, keptFor)
		a.readers.Add(host, true, keptFor)
	case http.StatusUnauthorized, http.StatusForbidden:
		a.answers.Add(asked, status, refusedFor)
		a.kept.Remove(asked)
	default: // The API server was not asked, or did not answer.
		if _, kept := a.kept.Get(asked); kept {
			return http.StatusOK
		}
	}
	return status
}

func (a *Access) caller(host string) flowcontrol.RateLimiter {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if known, ok := a.callers.Get(host); ok {
		return known.(flowcontrol.RateLimiter)
	}
	limiter := flowcontrol.NewTokenBucketRateLimiter(reviewsPerCaller, 2*reviewsPerCaller)
	a.callers.Add(host, limiter, time.Minute)
	return limiter
}

func (a *Access) review(ctx context.Context, token string, asked question) (status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	identity, err := a.client.AuthenticationV1().TokenReviews().Create(ctx,
		&authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	if err != nil {
		return http.StatusServiceUnavailable, fmt.Errorf("create a TokenReview: %w", err)
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
		return http.StatusServiceUnavailable, fmt.Errorf("create a SubjectAccessReview of %s: %w", user.Username, err)
	}
	if !access.Status.Allowed {
		return http.StatusForbidden, nil
	}
	return http.StatusOK, nil
}
