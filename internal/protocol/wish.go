package protocol

import (
	"fmt"
	"time"
)

const (
	// MaxWishes bounds the wishes that wait. Each becomes a write of the object, and the bridge signals
	// each write. Temporal repeats a workflow task during which more than 100 events come, so a write
	// for each of 200 signals would repeat the task, with all its writes, for ever.
	MaxWishes = 10
	// maxWishText bounds each text of a wish, in bytes; a workflow cuts those of signals to half of it.
	maxWishText = 1024
)

// Wish is a person's wish to suspend or resume, as a signal says it.
type Wish struct {
	Suspend bool       `json:"suspend"`
	Note    SignalNote `json:"note,omitzero"`
	// Reason and Force are those of a ResumeNote.
	Reason string `json:"reason,omitempty"`
	Force  bool   `json:"force,omitempty"`
	// Unread says why nothing is made of the signal's argument.
	Unread string `json:"unread,omitempty"`
	// Superseded is how many signals came before this one and are not written by themselves.
	Superseded int       `json:"superseded,omitempty"`
	At         time.Time `json:"at"`
}

func validateWishes(wishes []Wish) error {
	if len(wishes) > MaxWishes {
		return fmt.Errorf("wishes: %d, want %d at most", len(wishes), MaxWishes)
	}
	for _, wish := range wishes {
		for _, text := range []string{wish.Note.Note, wish.Note.By, wish.Reason, wish.Unread} {
			if len(text) > maxWishText {
				return fmt.Errorf("wishes: a text of %d bytes, want %d at most", len(text), maxWishText)
			}
		}
	}
	return nil
}
