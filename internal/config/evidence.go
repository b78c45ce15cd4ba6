package config

import "ostinato.dev/ostinato/internal/command"

// Evidence holds the settings of what the worker keeps of a failed Pod.
type Evidence struct {
	// EvidenceLogLines and EvidenceLogBytes bound what is kept of a failed Pod's
	// log; 0 keeps nothing, and then the right to read logs is not needed.
	EvidenceLogLines int
	EvidenceLogBytes int
}

func (e *Evidence) addFlags(flags *command.Flags) {
	group := flags.Group(groupJobs)
	group.IntVar(&e.EvidenceLogLines, "evidence-log-lines", 20, "last lines of a failed Pod's log to keep in its workflow; 0 keeps none")
	group.IntVar(&e.EvidenceLogBytes, "evidence-log-bytes", 4096, "bytes of a failed Pod's log to keep in its workflow at most; 0 keeps none")
}

// What a workflow keeps of a log is bounded: it is part of its history and result.
const (
	mostEvidenceLines = 1000
	mostEvidenceBytes = 64 * 1024
)

func (e Evidence) validate(p *problems) {
	p.check(e.EvidenceLogLines >= 0 && e.EvidenceLogLines <= mostEvidenceLines, "evidence-log-lines",
		"is %d; set it to 0 (no logs) or to %d at most", e.EvidenceLogLines, mostEvidenceLines)
	p.check(e.EvidenceLogBytes >= 0 && e.EvidenceLogBytes <= mostEvidenceBytes, "evidence-log-bytes",
		"is %d; set it to 0 (no logs) or to %d at most", e.EvidenceLogBytes, mostEvidenceBytes)
}
