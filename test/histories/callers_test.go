package histories

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/test/histories/play"
)

// The users who send signals and updates, and a name that both of them claim.
const (
	ada, bob = "ada", "bob"
	oncall   = "oncall"
)

// sender is who sends a signal or an update: the user whom Temporal names in the header, and the name that the argument claims. Its
// zero value is a program that claims nothing. Noted has the argument hold a note that no other one has.
type sender struct {
	user, claims string
	noted        bool
}

func (s sender) String() string {
	text := ""
	if s.user != "" {
		text = " from " + s.user
	}
	if s.claims != "" {
		text += " as " + s.claims
	}
	if s.noted {
		text += " with a note"
	}
	return text
}

// who names the sender as Ostinato is to do it, where the worker believes headers or not.
func (s sender) who(believes bool) string {
	if !believes {
		s.user = ""
	}
	return ledger.Who(s.user, s.claims)
}

// claimed names the sender where nothing proves who it was. The object has the user's name as a claim, where none was claimed.
func (s sender) claimed(believes bool) string {
	if s.claims == "" && believes {
		s.claims = s.user
	}
	return ledger.Who("", s.claims)
}

// other is another user who claims the same.
func (s sender) other() sender {
	switch s.user {
	case ada:
		s.user = bob
	case bob:
		s.user = ada
	}
	return s
}

// request is a signal or an update that was sent.
type request struct {
	sender
	at   time.Time
	name string
	// through is ledger.ThroughSignal or ThroughUpdate, note empty where the sender has written none.
	through, note string
	// backfill is the update backfill; nil for another request.
	backfill *sentBackfill
}

// asks notes a request, and returns it.
func (w *world) asks(name, through string, from sender, backfill *sentBackfill) request {
	sent := request{sender: from, at: time.Now().UTC(), name: name, through: through, backfill: backfill}
	if from.noted {
		sent.note = fmt.Sprintf("note %03d", len(w.record.requests)+1)
	}
	w.record.requests = append(w.record.requests, sent)
	return sent
}

// requestsOf are those of some names that were sent through signals, or through updates.
func (a account) requestsOf(through string, names ...string) []request {
	return slices.DeleteFunc(slices.Clone(a.requests), func(one request) bool { return one.through != through || !slices.Contains(names, one.name) })
}

// steers are the signals that suspend and resume.
func (a account) steers() []request {
	return a.requestsOf(ledger.ThroughSignal, protocol.SuspendSignal, protocol.ResumeSignal)
}

// header is what Temporal says about the sender.
func (s sender) header() map[string]string {
	if s.user == "" {
		return nil
	}
	return map[string]string{names.CallerHeader: names.KubernetesCaller + ":" + s.user}
}

// argument is that of the signal, with what else it says; nil for nothing.
func (r request) argument(more map[string]string) any {
	said := map[string]string{"note": r.note, "by": r.claims}
	for name, value := range more {
		said[name] = value
	}
	for name, value := range said {
		if value == "" {
			delete(said, name)
		}
	}
	if len(said) == 0 {
		return nil
	}
	return said
}

// signals sends a signal.
func (w *world) signals(name string, from sender, more map[string]string) {
	sent := w.asks(name, ledger.ThroughSignal, from, nil)
	w.tell(play.Signal{Name: name, Argument: sent.argument(more), Header: from.header()})
}

// triggers asks for a run by the update.
func (w *world) triggers(from sender) {
	sent := w.asks(protocol.TriggerUpdate, ledger.ThroughUpdate, from, nil)
	w.tell(play.Signal{
		Name: protocol.TriggerUpdate, Argument: protocol.TriggerRequest{SignalNote: protocol.SignalNote{Note: sent.note, By: from.claims}}, Header: from.header(), Update: true,
	})
}

// drawSender draws who sends something.
func drawSender(t *rapid.T) sender {
	return sender{
		user:   rapid.SampledFrom([]string{ada, bob, ada, bob, ""}).Draw(t, "user"),
		claims: rapid.SampledFrom([]string{"", oncall, oncall, "", ada, bob}).Draw(t, "claims to be"),
		noted:  rapid.IntRange(0, 3).Draw(t, "noted") > 0,
	}
}

// drawSenders draws the senders of all signals and updates among steps. A resume takes back what its sender names alone: most name nothing.
func drawSenders(t *rapid.T, steps []step) {
	signals := []string{"suspend", "resume", "trigger", "trigger update", "trigger often"}
	for i := range steps {
		one := &steps[i]
		switch fault := one.Fault.(type) {
		case overlapping:
			fault.From = drawSender(t)
			one.Fault = fault
		case backfills:
			fault.From = drawSender(t)
			one.Fault = fault
		case nil:
			if !slices.Contains(signals, one.Does) {
				continue
			}
			one.From = drawSender(t)
			if one.Does == "resume" && rapid.IntRange(0, 3).Draw(t, "resumes all") > 0 {
				one.From.claims = ""
			}
		}
	}
}
