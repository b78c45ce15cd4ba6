package ui

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
	"ostinato.dev/ostinato/cmd/ostinato/internal/page"
)

// rowsAtOnce bounds the rows of an answer: more than a screen has.
const rowsAtOnce = 100

// grid is what the template of the rows is given.
type grid struct {
	Columns []page.Column
	Rows    []gridRow
	// From is the index of the first row, of Total; After is how many rows come after the last.
	From, After, Total int
	// Count is the number of rows with the heading.
	Count int
	// Partial says that reading from Temporal would show more.
	Partial    bool
	Summary    string
	Problems   []string
	Read       string
	Namespaces []string
}

// gridRow is a row with what its cells open.
type gridRow struct {
	page.Row
	// Index is that of the row, from 0; Position is its place below the heading, as a screen reader counts.
	Index, Position int
	Open            string
	Cells           []gridCell
}

type gridCell struct {
	page.Cell
	Column int
	Class  string
	Open   string
}

// rows answers with the rows on the screen: from Kubernetes alone, and with fill from Temporal too.
func (s *Server) rows(writer http.ResponseWriter, request *http.Request) {
	query := request.URL.Query()
	filter, err := filterOf(query)
	if err != nil {
		s.fail(writer, http.StatusBadRequest, err)
		return
	}
	list := s.reader.cronJobs(request.Context())
	if list.err != nil && list.at.IsZero() {
		s.fail(writer, http.StatusBadGateway, list.err)
		return
	}
	clock := s.settings.Clock()
	columns := page.ZoomOf(query.Get("zoom")).Columns(clock)
	chosen := filter.Choose(clock, list.cronJobs, columns[0].From)
	from := min(max(number(query.Get("from")), 0), max(len(chosen)-1, 0))
	to := min(from+min(max(number(query.Get("count")), 1), rowsAtOnce), len(chosen))
	shown := grid{
		Columns: columns, From: from, After: len(chosen) - to, Total: len(chosen), Count: len(chosen) + 1, Namespaces: page.Namespaces(list.cronJobs),
		Summary: page.Count(clock, list.cronJobs, len(chosen)), Read: list.at.In(clock.Zone).Format("15:04:05"),
	}
	if list.err != nil {
		shown.Problems = append(shown.Problems, "The CronJobs could not be read again: "+answer.Printable(list.err.Error()))
	}
	var onScreen []*ostinatov1.CronJob
	for _, n := range chosen[from:to] {
		onScreen = append(onScreen, &list.cronJobs[n])
	}
	if query.Get("fill") != "" {
		s.reader.read(request.Context(), s.partial(onScreen, columns), columns[0].From)
	}
	if unseen := s.reader.unseen(onScreen); unseen != "" {
		shown.Problems = append(shown.Problems, unseenBecause(unseen))
	}
	for n, cronJob := range onScreen {
		row := page.NewRow(clock, cronJob, s.reader.known(cronJob), columns)
		shown.Partial = shown.Partial || row.Partial
		shown.Rows = append(shown.Rows, opened(row, from+n, columns))
	}
	s.write(writer, http.StatusOK, "rows.html", shown)
}

// partial are the CronJobs whose status does not reach back to the first column.
func (s *Server) partial(cronJobs []*ostinatov1.CronJob, columns []page.Column) []*ostinatov1.CronJob {
	var partial []*ostinatov1.CronJob
	for _, cronJob := range cronJobs {
		if page.Partial(cronJob, page.OfStatus(cronJob), columns) {
			partial = append(partial, cronJob)
		}
	}
	return partial
}

// opened adds what a row and its cells open.
func opened(row page.Row, index int, columns []page.Column) gridRow {
	name := url.Values{"namespace": {row.Namespace}, "name": {row.Name}}.Encode()
	shown := gridRow{Row: row, Index: index, Position: index + 2, Open: "/cronjob?" + name, Cells: make([]gridCell, len(row.Cells))}
	for n, cell := range row.Cells {
		shown.Cells[n] = gridCell{Cell: cell, Column: n + 1, Class: classOf(cell, columns[n])}
		switch {
		case cell.Kind == "":
		case cell.Several():
			shown.Cells[n].Open = "/times?" + name + "&from=" + stamp(cell.From) + "&to=" + stamp(cell.To)
		default:
			shown.Cells[n].Open = "/run?" + name + "&at=" + stamp(cell.From)
		}
	}
	return shown
}

// classOf is how the place of a cell looks.
func classOf(cell page.Cell, column page.Column) string {
	switch {
	case column.Now:
		return "now"
	case cell.Unknown:
		return "unknown"
	}
	return ""
}

// stamp writes a time for an address.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

// filterOf reads what a person has chosen.
func filterOf(query url.Values) (page.Filter, error) {
	filter := page.Filter{Namespace: query.Get("namespace"), Text: query.Get("text"), Failing: query.Get("failing") != ""}
	if text := query.Get("labels"); text != "" {
		selector, err := labels.Parse(text)
		if err != nil {
			return filter, fmt.Errorf("labels: %w; write team=billing, or team in (a, b)", err)
		}
		filter.Selector = selector
	}
	return filter, nil
}

// errNotNamed says that a request names no CronJob.
var errNotNamed = errors.New("the request names no CronJob")
