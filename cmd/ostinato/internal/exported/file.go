// Package exported is the file that ostinato export writes: what Temporal alone holds of each CronJob. It decides what of that is to be
// asked for again where the file is imported.
package exported

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

const (
	format  = "ostinato-export"
	version = 1
	// maxLine bounds a line, in bytes: many times what a ledger with its evidence takes.
	maxLine = 64 << 20
)

// Header is the first line of a file.
type Header struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	// At is when the file was begun, for people.
	At time.Time `json:"at"`
}

// CronJob is what Temporal holds of a CronJob: each other line of a file.
type CronJob struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	// Schedule and TimeZone are those by which the times of backfills count.
	Schedule string `json:"schedule"`
	TimeZone string `json:"timeZone,omitempty"`
	// Ledger has all rows, newest first, and Dropped is how many older ones there were.
	Ledger  []ledger.Entry `json:"ledger"`
	Dropped int64          `json:"dropped,omitempty"`
	// Triggers and Backfills are what waits.
	Triggers  []schedule.Trigger  `json:"triggers,omitempty"`
	Backfills []protocol.Backfill `json:"backfills,omitempty"`
	// Evidence has what was kept of failed Pods, by the names of their Jobs. It is for people: no import gives it back.
	Evidence map[string][]job.Attempt `json:"evidence,omitempty"`
}

// Writer writes a file.
type Writer struct{ encoder *json.Encoder }

// NewWriter begins a file.
func NewWriter(out io.Writer, at time.Time) (Writer, error) {
	w := Writer{json.NewEncoder(out)}
	w.encoder.SetEscapeHTML(false)
	return w, w.encoder.Encode(Header{format, version, at.UTC()})
}

// Add writes a line.
func (w Writer) Add(one CronJob) error { return w.encoder.Encode(one) }

// Reader reads a file, a line at a time.
type Reader struct {
	scanner *bufio.Scanner
	line    int
}

// NewReader reads the header. Its error says if it can't be read as a file of this version.
func NewReader(in io.Reader) (*Reader, error) {
	r := &Reader{scanner: bufio.NewScanner(in)}
	r.scanner.Buffer(nil, maxLine)
	var header Header
	err := r.read(&header)
	if err != nil || header.Format != format {
		return nil, errors.Join(errors.New("it is no file of ostinato export"), err)
	}
	if header.Version != version {
		return nil, fmt.Errorf("it has version %d, and this command reads version %d", header.Version, version)
	}
	return r, nil
}

// Next returns the next CronJob; io.EOF after the last.
func (r *Reader) Next() (one CronJob, err error) { return one, r.read(&one) }

func (r *Reader) read(into any) error {
	for r.scanner.Scan() {
		r.line++
		line := bytes.TrimSpace(r.scanner.Bytes())
		if len(line) == 0 {
			continue
		}
		if err := json.Unmarshal(line, into); err != nil {
			return fmt.Errorf("line %d: %w", r.line, err)
		}
		return nil
	}
	if err := r.scanner.Err(); err != nil {
		return fmt.Errorf("line %d: %w", r.line+1, err)
	}
	return io.EOF
}
