package ui

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
	"ostinato.dev/ostinato/cmd/ostinato/internal/ask"
	"ostinato.dev/ostinato/cmd/ostinato/internal/page"
)

// wallClock is how a browser's field writes a time, without a zone.
const wallClock = "2006-01-02T15:04"

// actions are what the person may do with a CronJob, and the zone in which times of it are written.
type actions struct {
	MayRun, MaySteer, MayStop bool
	// NoStop says why a run that is active has no button.
	NoStop string
	// Refused says which rights are missing.
	Refused []string
	Zone    string
	// At is a time to begin with, as the browser's field writes it.
	At string
}

// cronJobOf reads the CronJob that a request names; it answers itself where there is none.
func (s *Server) cronJobOf(writer http.ResponseWriter, request *http.Request) *ostinatov1.CronJob {
	namespace, name := request.FormValue("namespace"), request.FormValue("name")
	if namespace == "" || name == "" {
		s.fail(writer, http.StatusBadRequest, errNotNamed)
		return nil
	}
	cronJob, err := s.settings.Backend.CronJob(request.Context(), namespace, name)
	if err != nil {
		s.fail(writer, statusOf(err), err)
		return nil
	}
	return cronJob
}

// mistake is an error of what the person has written.
type mistake struct{ error }

// statusOf is how the answer to an error of the API server begins.
func statusOf(err error) int {
	var wrong mistake
	switch {
	case errors.As(err, &wrong):
		return http.StatusBadRequest
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return http.StatusForbidden
	case apierrors.IsNotFound(err):
		return http.StatusNotFound
	case apierrors.IsConflict(err):
		return http.StatusConflict
	}
	return http.StatusBadGateway
}

// timeOf reads a time of a request; it answers itself where there is none.
func (s *Server) timeOf(writer http.ResponseWriter, request *http.Request, name string) (time.Time, bool) {
	at, err := time.Parse(time.RFC3339, request.FormValue(name))
	if err != nil {
		s.fail(writer, http.StatusBadRequest, fmt.Errorf("%s: %w", name, err))
		return time.Time{}, false
	}
	return at, true
}

// run answers with what became of a time.
func (s *Server) run(writer http.ResponseWriter, request *http.Request) {
	at, ok := s.timeOf(writer, request, "at")
	if !ok {
		return
	}
	cronJob := s.cronJobOf(writer, request)
	if cronJob == nil {
		return
	}
	clock := s.settings.Clock()
	known := s.reader.latest(request.Context(), cronJob, at)
	run := page.NewRun(clock, cronJob, known.Ledger, at)
	if run.Job != "" {
		workflow, err := s.settings.Backend.JobWorkflow(request.Context(), cronJob, run.Job)
		if err == nil {
			run.Link = page.WorkflowLink(s.settings.TemporalUI, workflow)
		}
		if run.Failed() {
			run = s.withEvidence(request, clock, run, workflow, err)
		}
	}
	shown := s.actions(request, clock, cronJob, at)
	if run.Running() {
		shown = s.withStop(request, cronJob, shown)
	}
	s.write(writer, http.StatusOK, "run.html", struct {
		page.Run
		Unseen  string
		Past    bool
		Actions actions
	}{run, known.Unseen, !at.After(clock.Now), shown})
}

// withEvidence adds what the Job's workflow has kept, unless Temporal is away or the Job's own name could not be read.
func (s *Server) withEvidence(request *http.Request, clock answer.Clock, run page.Run, workflow ostinatov1.WorkflowReference, err error) page.Run {
	if err != nil {
		return run.WithEvidence(clock, none, err)
	}
	if why := s.reader.unseen(nil); why != "" {
		return run.WithEvidence(clock, none, fmt.Errorf("%s", why))
	}
	kept, err := s.settings.Backend.Evidence(request.Context(), workflow)
	return run.WithEvidence(clock, kept, err)
}

// times answers with the times of a cell that stands for several.
func (s *Server) times(writer http.ResponseWriter, request *http.Request) {
	from, ok := s.timeOf(writer, request, "from")
	if !ok {
		return
	}
	to, ok := s.timeOf(writer, request, "to")
	if !ok {
		return
	}
	cronJob := s.cronJobOf(writer, request)
	if cronJob == nil {
		return
	}
	s.write(writer, http.StatusOK, "times.html", page.NewTimes(s.settings.Clock(), cronJob, s.reader.known(cronJob).Ledger, from, to))
}

// cronJob answers with a CronJob.
func (s *Server) cronJob(writer http.ResponseWriter, request *http.Request) {
	cronJob := s.cronJobOf(writer, request)
	if cronJob == nil {
		return
	}
	clock := s.settings.Clock()
	shown := page.NewCronJob(clock, cronJob, s.reader.withSuspensions(request.Context(), cronJob))
	if cronJob.Status.Workflow != nil {
		shown.Link = page.WorkflowLink(s.settings.TemporalUI, *cronJob.Status.Workflow)
	}
	s.write(writer, http.StatusOK, "cronjob.html", struct {
		page.CronJob
		Actions actions
	}{shown, s.actions(request, clock, cronJob, clock.Now)})
}

// actions asks the API server which buttons there are.
func (s *Server) actions(request *http.Request, clock answer.Clock, cronJob *ostinatov1.CronJob, at time.Time) actions {
	zone := clock.ZoneOf(cronJob)
	found := actions{Zone: zone.String(), At: at.In(zone).Format(wallClock)}
	may := func(right ask.Right) bool {
		allowed, err := s.rights.may(request.Context(), cronJob.Namespace, right)
		switch {
		case err != nil:
			found.Refused = append(found.Refused, answer.Printable(err.Error()))
		case !allowed:
			found.Refused = append(found.Refused, refusal(cronJob.Namespace, right))
		}
		return allowed
	}
	found.MayRun, found.MaySteer = may(ask.MayRun), may(ask.MaySteer)
	return found
}

// withStop adds whether a run may be stopped.
func (s *Server) withStop(request *http.Request, cronJob *ostinatov1.CronJob, found actions) actions {
	may, err := s.rights.may(request.Context(), cronJob.Namespace, ask.MayStop)
	switch {
	case err != nil:
		found.NoStop = answer.Printable(err.Error())
	case !may:
		found.NoStop = refusal(cronJob.Namespace, ask.MayStop)
	}
	found.MayStop = found.NoStop == ""
	return found
}
