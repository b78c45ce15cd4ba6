package steering

import (
	"fmt"
	"slices"
	"time"

	"ostinato.dev/ostinato/internal/clip"
)

const (
	// maxUnknownName is how much of an unknown signal's name counts, in bytes. Temporal allows 1000.
	maxUnknownName = 64
	// maxUnknownNames is how many unknown names are answered within a minute. Only a program sends more.
	maxUnknownNames = 10
)

// Unknown are the unknown signals that an object's workflow has heard within a minute. Temporal takes a signal of any name, so
// that a misspelt one would come to nothing without a word.
type Unknown struct {
	Minute time.Time `json:"minute,omitzero"`
	Names  []string  `json:"names,omitempty"`
}

// Hear returns them with one more, and the words that answer it, in the words of what the object takes. A name is answered once
// a minute; answer is empty when it has been.
func (u Unknown) Hear(signal, takes string, now time.Time) (heard Unknown, answer string) {
	name := clip.Text(signal, maxUnknownName)
	if minute := now.UTC().Truncate(time.Minute); !minute.Equal(u.Minute) {
		u = Unknown{Minute: minute}
	}
	if len(u.Names) >= maxUnknownNames || slices.Contains(u.Names, name) {
		return u, ""
	}
	u.Names = append(slices.Clip(u.Names), name)
	return u, fmt.Sprintf("Signal %q is not known, and nothing was done: %s", name, takes)
}

// Validate reports whether they are such as Hear returns.
func (u Unknown) Validate() error {
	if len(u.Names) > maxUnknownNames {
		return fmt.Errorf("%d names, want %d at most", len(u.Names), maxUnknownNames)
	}
	for _, name := range u.Names {
		if len(name) > maxUnknownName {
			return fmt.Errorf("a name of %d bytes, want %d at most", len(name), maxUnknownName)
		}
	}
	return nil
}

// What a CronJob and a Job take, for the answers to what they do not.
const (
	CronJobTakes = "a CronJob takes " + Suspend + ", " + Resume + " and " + Trigger + ", and the update " + Backfill
	JobTakes     = "a Job takes " + Suspend + ", " + Resume + " and " + Stop
)
