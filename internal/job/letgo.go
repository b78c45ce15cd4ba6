package job

import "slices"

// A Pod that is released while it can still run may end and go while nobody watches. No
// finalizer keeps it for the next watch, so that nobody tells its Job. The Job knows which
// Pods these are, and lists its Pods every minute until they are gone.

// mayVanish reports whether the Pod may go without a word: it terminates and was released.
func (p Pod) mayVanish() bool { return p.terminating() && !p.Tracked }

// expectEnds begins the silence anew with a plan that releases Pods which can still run: a
// list at once would find them running.
func (p *pass) expectEnds() {
	if slices.ContainsFunc(p.plan.Deletes, func(wanted Delete) bool { return wanted.Release }) ||
		slices.ContainsFunc(p.plan.Releases, func(wanted Release) bool { return wanted.Phase == "" }) {
		p.state.Silence = Silence{Since: p.now}
	}
}
