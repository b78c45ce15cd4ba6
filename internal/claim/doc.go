// Package claim says whose a Pod or a Job is. It is the only place that knows the
// rule; it is pure, and everyone who reads, writes or deletes a Pod asks it first.
package claim
