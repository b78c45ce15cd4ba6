package ui

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
	"ostinato.dev/ostinato/cmd/ostinato/internal/ask"
	"ostinato.dev/ostinato/cmd/ostinato/internal/page"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// none is the description of a Job whose workflow was not asked.
var none protocol.JobDescription

const (
	// maxForm bounds what is posted, maxReason a reason, in bytes.
	maxForm   = 16 << 10
	maxReason = 256
	// maxPlans bounds the plans that wait to be confirmed, planFor how long each does.
	maxPlans = 100
	planFor  = 10 * time.Minute
)

// intent is a plan that was shown, and does it when it is confirmed: what was shown is what is done.
type intent struct {
	namespace, name string
	// uid and generation are of the CronJob that the plan was made for.
	uid        string
	generation int64
	right      ask.Right
	do         func(ctx context.Context, cronJob *ostinatov1.CronJob) (string, error)
	until      time.Time
}

// plans are those that wait to be confirmed.
type plans struct {
	mutex   sync.Mutex
	waiting map[string]intent
}

func newPlans() *plans { return &plans{waiting: map[string]intent{}} }

func (p *plans) put(one intent) (id string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for known, other := range p.waiting {
		if time.Now().After(other.until) || len(p.waiting) >= maxPlans {
			delete(p.waiting, known)
		}
	}
	id = secret()
	p.waiting[id] = one
	return id
}

// take returns a plan once.
func (p *plans) take(id string) (intent, bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	one, found := p.waiting[id]
	delete(p.waiting, id)
	return one, found && time.Now().Before(one.until)
}

// action makes a plan of a form, and what does it; the plan may refuse.
type action struct {
	right ask.Right
	plan  func(s *Server, request *http.Request, cronJob *ostinatov1.CronJob) (page.Plan, func(context.Context, *ostinatov1.CronJob) (string, error), error)
}

var known = map[string]action{
	"run": {ask.MayRun, (*Server).planRun}, "backfill": {ask.MayRun, (*Server).planBackfill},
	"suspend": {ask.MaySteer, (*Server).planSuspend}, "resume": {ask.MaySteer, (*Server).planResume},
	"stop": {ask.MayStop, (*Server).planStop},
}

// plan answers with what an action would do, and changes nothing.
func (s *Server) plan(writer http.ResponseWriter, request *http.Request) {
	request.Body = http.MaxBytesReader(writer, request.Body, maxForm)
	wanted, found := known[request.FormValue("action")]
	if !found {
		s.fail(writer, http.StatusBadRequest, errors.New("the request names no action"))
		return
	}
	cronJob := s.cronJobOf(writer, request)
	if cronJob == nil || !s.allowed(writer, request, cronJob.Namespace, wanted.right) {
		return
	}
	plan, do, err := wanted.plan(s, request, cronJob)
	if err != nil {
		s.fail(writer, statusOf(err), err)
		return
	}
	id := ""
	if plan.Refused == "" {
		id = s.plans.put(intent{
			cronJob.Namespace, cronJob.Name, string(cronJob.UID), cronJob.Generation, wanted.right, do, time.Now().Add(planFor),
		})
	}
	s.write(writer, http.StatusOK, "plan.html", struct {
		page.Plan
		ID              string
		Namespace, Name string
	}{plan, id, cronJob.Namespace, cronJob.Name})
}

// do carries out a plan that was confirmed.
func (s *Server) do(writer http.ResponseWriter, request *http.Request) {
	request.Body = http.MaxBytesReader(writer, request.Body, maxForm)
	one, found := s.plans.take(request.FormValue("plan"))
	if !found {
		s.fail(writer, http.StatusConflict, errors.New("this was confirmed before, or too late: begin again"))
		return
	}
	if !s.allowed(writer, request, one.namespace, one.right) {
		return
	}
	cronJob, err := s.settings.Backend.CronJob(request.Context(), one.namespace, one.name)
	if err == nil && (string(cronJob.UID) != one.uid || cronJob.Generation != one.generation) {
		s.fail(writer, http.StatusConflict, fmt.Errorf("CronJob %s/%s was changed since: begin again", one.namespace, one.name))
		return
	}
	said := ""
	if err == nil {
		said, err = one.do(request.Context(), cronJob)
	}
	if err != nil {
		s.fail(writer, statusOf(err), err)
		return
	}
	s.reader.forget()
	s.write(writer, http.StatusOK, "done.html", struct{ Said, Namespace, Name string }{answer.Printable(said), one.namespace, one.name})
}

// allowed asks the API server whether the person has the right; it answers itself where he has not.
func (s *Server) allowed(writer http.ResponseWriter, request *http.Request, namespace string, right ask.Right) bool {
	may, err := s.settings.Backend.May(request.Context(), namespace, right)
	switch {
	case err != nil:
		s.fail(writer, statusOf(err), err)
	case !may:
		s.fail(writer, http.StatusForbidden, errors.New(refusal(namespace, right)))
	}
	return err == nil && may
}

// reason is why, as the object or the ledger will say.
func reason(request *http.Request) (string, error) {
	why := strings.TrimSpace(answer.Printable(request.FormValue("reason")))
	if len(why) > maxReason {
		return "", mistake{fmt.Errorf("the reason has %d bytes, and may have %d", len(why), maxReason)}
	}
	return why, nil
}

func (s *Server) planRun(request *http.Request, cronJob *ostinatov1.CronJob) (page.Plan, func(context.Context, *ostinatov1.CronJob) (string, error), error) {
	beside, by := request.FormValue("beside") != "", s.settings.By
	plan := page.PlanRun(cronJob, page.Asker{By: by}, beside)
	if plan.Refused != "" {
		return plan, nil, nil
	}
	name := fmt.Sprintf("%s-%s", cronJob.Name, rand.String(5))
	create := func(ctx context.Context, cronJob *ostinatov1.CronJob, dryRun bool) error {
		made, err := answer.Job(cronJob, name, answer.Overrides{}, by, s.settings.Clock().Now)
		if err == nil {
			_, err = s.settings.Backend.CreateJob(ctx, made, dryRun)
		}
		return err
	}
	if err := create(request.Context(), cronJob, true); err != nil {
		return plan, nil, err
	}
	plan.Says = append(plan.Says, fmt.Sprintf("The API server would take it, as Job %s (dry run).", name))
	return plan, func(ctx context.Context, cronJob *ostinatov1.CronJob) (string, error) {
		if again := page.PlanRun(cronJob, page.Asker{By: by}, beside); again.Refused != "" {
			return "", mistake{errors.New(again.Refused)}
		}
		return fmt.Sprintf("Job %s was created.", name), create(ctx, cronJob, false)
	}, nil
}

func (s *Server) planSuspend(request *http.Request, cronJob *ostinatov1.CronJob) (page.Plan, func(context.Context, *ostinatov1.CronJob) (string, error), error) {
	why, err := reason(request)
	if err != nil {
		return page.Plan{}, nil, err
	}
	plan := page.PlanSuspend(s.settings.Clock(), cronJob, page.Asker{By: s.settings.By, Why: why})
	return s.steered(request, cronJob, plan, ask.Suspension{Suspend: true, By: s.settings.By, Why: why}, "suspended")
}

func (s *Server) planResume(request *http.Request, cronJob *ostinatov1.CronJob) (page.Plan, func(context.Context, *ostinatov1.CronJob) (string, error), error) {
	return s.steered(request, cronJob, page.PlanResume(cronJob), ask.Suspension{By: s.settings.By}, "resumed")
}

// steered is a plan to suspend or resume that the API server was asked about.
func (s *Server) steered(request *http.Request, cronJob *ostinatov1.CronJob, plan page.Plan, wanted ask.Suspension, becomes string,
) (page.Plan, func(context.Context, *ostinatov1.CronJob) (string, error), error) {
	if plan.Refused != "" {
		return plan, nil, nil
	}
	wanted.DryRun = true
	if err := s.settings.Backend.Suspend(request.Context(), cronJob, wanted); err != nil {
		return plan, nil, err
	}
	plan.Says = append(plan.Says, "The API server would take the change (dry run).")
	return plan, func(ctx context.Context, cronJob *ostinatov1.CronJob) (string, error) {
		wanted.DryRun = false
		return fmt.Sprintf("CronJob %s/%s is %s.", cronJob.Namespace, cronJob.Name, becomes), s.settings.Backend.Suspend(ctx, cronJob, wanted)
	}, nil
}

func (s *Server) planStop(request *http.Request, cronJob *ostinatov1.CronJob) (page.Plan, func(context.Context, *ostinatov1.CronJob) (string, error), error) {
	why, err := reason(request)
	if err != nil {
		return page.Plan{}, nil, err
	}
	found, err := s.runOf(request.Context(), cronJob, request.FormValue("job"))
	if err != nil {
		return page.Plan{}, nil, err
	}
	plan, stop := page.PlanStop(found, page.Asker{By: s.settings.By, Why: why}), job.Stop{By: s.settings.By, Note: why}
	if plan.Refused != "" {
		return plan, nil, nil
	}
	if err := s.settings.Backend.Stop(request.Context(), found, stop, true); err != nil {
		return plan, nil, err
	}
	plan.Says = append(plan.Says, "The API server would take the change (dry run).")
	uid := found.UID
	return plan, func(ctx context.Context, cronJob *ostinatov1.CronJob) (string, error) {
		again, err := s.runOf(ctx, cronJob, found.Name)
		switch {
		case err != nil:
			return "", err
		case again.UID != uid:
			return "", mistake{fmt.Errorf("Job %s was made anew since: begin again", found.Name)}
		case answer.NotStopped(again) != "":
			return "", mistake{fmt.Errorf("Job %s is left as it is: %s", found.Name, answer.NotStopped(again))}
		}
		return fmt.Sprintf("Job %s is being stopped.", found.Name), s.settings.Backend.Stop(ctx, again, stop, false)
	}, nil
}

// runOf reads a Job of the CronJob.
func (s *Server) runOf(ctx context.Context, cronJob *ostinatov1.CronJob, name string) (*batchv1.Job, error) {
	if name == "" {
		return nil, mistake{errors.New("the request names no run")}
	}
	found, err := s.settings.Backend.Job(ctx, cronJob.Namespace, name)
	if err == nil && !metav1.IsControlledBy(found, cronJob) {
		err = mistake{fmt.Errorf("Job %s is none of CronJob %s/%s", answer.Printable(name), cronJob.Namespace, cronJob.Name)}
	}
	return found, err
}

func (s *Server) planBackfill(request *http.Request, cronJob *ostinatov1.CronJob) (page.Plan, func(context.Context, *ostinatov1.CronJob) (string, error), error) {
	clock := s.settings.Clock()
	why, err := reason(request)
	if err != nil {
		return page.Plan{}, nil, err
	}
	wanted := schedule.BackfillRequest{Overlap: batchv1.ConcurrencyPolicy(request.FormValue("overlap")), Note: why, By: s.settings.By, DryRun: true}
	for name, at := range map[string]*time.Time{"from": &wanted.From, "to": &wanted.To} {
		if *at, err = wallTime(request.FormValue(name), clock.ZoneOf(cronJob)); err != nil {
			return page.Plan{}, nil, mistake{fmt.Errorf("%s: %w", name, err)}
		}
	}
	tried, err := s.settings.Backend.Backfill(request.Context(), cronJob, wanted)
	if err != nil {
		return page.Plan{}, nil, err
	}
	plan := page.PlanBackfill(clock, cronJob, tried, wanted.Overlap, page.Asker{By: s.settings.By, Why: why})
	if ptr.Deref(cronJob.Spec.Suspend, false) {
		plan.Says = append(plan.Says, "The CronJob is suspended, and stays so: these runs start all the same.")
	}
	return plan, func(ctx context.Context, cronJob *ostinatov1.CronJob) (string, error) {
		wanted.DryRun = false
		done, err := s.settings.Backend.Backfill(ctx, cronJob, wanted)
		return answer.Backfill(s.settings.Clock(), done), err
	}, nil
}

// wallTime reads a time as a browser's field writes it.
func wallTime(text string, zone *time.Location) (time.Time, error) {
	for _, layout := range []string{wallClock, wallClock + ":05"} {
		if at, err := time.ParseInLocation(layout, text, zone); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time", answer.Printable(text))
}
