package telemetry

import "k8s.io/apimachinery/pkg/util/cache"

// Expire makes every answer run out.
func Expire(a *Access) { a.answers = cache.NewLRUExpireCache(answersKept) }
