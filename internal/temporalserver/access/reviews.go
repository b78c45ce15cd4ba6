package access

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/kubernetes"

	"ostinato.dev/ostinato/internal/review"
)

const (
	// answerFor is how long an answer of the API server holds: a right that is taken away is felt within its sum for the
	// person and for what he asks.
	answerFor   = 5 * time.Second
	answersKept = 4096 // bounds the answers that are remembered
	// reviewsPerSecond bounds how often the API server is asked in a second whose tokens are of callers of one address, and what
	// one user may do. All who use the Web UI or forward a port have one address.
	reviewsPerSecond = 20
)

// errBusy is how a caller hears that too much was asked.
var errBusy = errors.New("too many questions to the API server about callers; try again in a second")

// NewReviews returns the reviews of an API server, whose answers hold for a few seconds. While it is away, no answer does longer.
func NewReviews(client kubernetes.Interface) Reviews {
	return &reviews{
		client: client, limiter: review.NewLimiter(reviewsPerSecond),
		users: cache.NewLRUExpireCache(answersKept), verdicts: cache.NewLRUExpireCache(answersKept), seen: cache.NewLRUExpireCache(answersKept),
	}
}

type reviews struct {
	client  kubernetes.Interface
	limiter *review.Limiter
	// users are by the digest of their token, verdicts by that of user and question.
	users, verdicts *cache.LRUExpireCache
	// seen are the hosts from which a known user has come within a minute.
	seen *cache.LRUExpireCache
}

// owner is whose a token is; the zero value is no one's.
type owner struct {
	user  authenticationv1.UserInfo
	known bool
}

// Identify implements Reviews.
func (r *reviews) Identify(ctx context.Context, host, token string) (authenticationv1.UserInfo, bool, error) {
	key := sha256.Sum256([]byte(token))
	kept, ok := r.users.Get(key)
	if ok {
		return kept.(owner).user, kept.(owner).known, nil
	}
	_, seen := r.seen.Get(host)
	if !r.limiter.Take(host, seen) {
		return authenticationv1.UserInfo{}, false, errBusy
	}
	user, known, err := review.Identify(ctx, r.client, token, Audience)
	if err != nil {
		return authenticationv1.UserInfo{}, false, err
	}
	r.users.Add(key, owner{user, known}, answerFor)
	if known {
		r.seen.Add(host, true, time.Minute)
	}
	return user, known, nil
}

// Allowed implements Reviews.
func (r *reviews) Allowed(ctx context.Context, user authenticationv1.UserInfo, questions []Question) (*Question, error) {
	for _, question := range questions {
		allowed, err := r.allowed(ctx, user, question)
		if err != nil {
			return nil, err
		}
		if !allowed {
			return &question, nil
		}
	}
	return nil, nil
}

func (r *reviews) allowed(ctx context.Context, user authenticationv1.UserInfo, question Question) (bool, error) {
	text, err := json.Marshal([]any{user, question})
	if err != nil {
		return false, fmt.Errorf("encode a question about %s: %w", user.Username, err)
	}
	key := sha256.Sum256(text)
	kept, ok := r.verdicts.Get(key)
	if ok {
		return kept.(bool), nil
	}
	if !r.limiter.Take("user "+user.Username, true) {
		return false, errBusy
	}
	allowed, err := review.Allowed(ctx, r.client, user, &question, nil)
	if err != nil {
		return false, err
	}
	r.verdicts.Add(key, allowed, answerFor)
	return allowed, nil
}
