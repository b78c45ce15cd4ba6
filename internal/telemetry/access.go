package telemetry

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"net/http"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/kubernetes"

	"ostinato.dev/ostinato/internal/review"
)

const (
	// allowedFor and refusedFor are how long an answer of the API server holds.
	allowedFor  = time.Minute
	refusedFor  = 10 * time.Second
	answersKept = 1000 // bounds the answers that are remembered
	// keptFor is how long an allowed answer goes on to hold while the API server does not
	// answer or is not asked: metrics are needed most in an outage.
	keptFor = 10 * time.Minute
	// reviewsPerHost bounds what callers of one address can have the API server asked in a second.
	reviewsPerHost = 5
)

// Access lets a request through if RBAC allows the caller to do to the path, as a nonResourceURL, what the
// request does: reading metrics needs the verb get on /metrics. It asks the API server who owns the request's
// bearer token (TokenReview) and what that user may do (SubjectAccessReview), which needs the right to create both.
type Access struct {
	client  kubernetes.Interface
	logger  *slog.Logger
	answers *cache.LRUExpireCache
	kept    *cache.LRUExpireCache // the questions whose last answer was that the caller may
	limiter *review.Limiter
	// readers are the addresses from which a permitted caller has read within keptFor.
	readers *cache.LRUExpireCache
}

// NewAccess returns an Access that asks by client.
func NewAccess(client kubernetes.Interface, logger *slog.Logger) *Access {
	return &Access{
		client:  client,
		logger:  logger,
		answers: cache.NewLRUExpireCache(answersKept),
		kept:    cache.NewLRUExpireCache(answersKept),
		readers: cache.NewLRUExpireCache(answersKept),
		limiter: review.NewLimiter(reviewsPerHost),
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
	if a.limiter.Take(host, reads) {
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

func (a *Access) review(ctx context.Context, token string, asked question) (status int, err error) {
	user, known, err := review.Identify(ctx, a.client, token, "")
	if err != nil {
		return http.StatusServiceUnavailable, err
	}
	if !known {
		return http.StatusUnauthorized, nil
	}
	path := &authorizationv1.NonResourceAttributes{Verb: asked.verb, Path: asked.path}
	allowed, err := review.Allowed(ctx, a.client, user, nil, path)
	if err != nil {
		return http.StatusServiceUnavailable, err
	}
	if !allowed {
		return http.StatusForbidden, nil
	}
	return http.StatusOK, nil
}
