package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/cmd/ostinato/internal/ask"
	"ostinato.dev/ostinato/cmd/ostinato/internal/moving"
	"ostinato.dev/ostinato/internal/command"
)

const (
	// movesAtATime is how many CronJobs are written to at a time.
	movesAtATime = 16
	// stepPatience bounds a step that has begun: neither a time that runs out nor a signal interrupts it.
	stepPatience = 30 * time.Second
)

// mover moves CronJobs: it looks at all of them, does the next step of each, and looks again.
type mover struct {
	*person
	cluster *ask.Cluster
	wanted  wantedMove
	input   io.Reader
}

// move is a CronJob on its way.
type move struct {
	moveKey
	pair ask.Pair
	jobs map[types.UID][]batchv1.Job
	view moving.View
	// waitsFor is what it waits for, said is whether that was said, and lines are what is to be printed.
	waitsFor string
	said     bool
	lines    []string
	// acted is set once something was written, deleted once the old CronJob is.
	acted, deleted, done bool
	failed               error
}

// settled reports whether nothing more is to be done.
func (o *move) settled() bool { return o.done || o.failed != nil }

// see takes in both CronJobs as they are.
func (o *move) see(pair ask.Pair) {
	o.pair = pair
	var native, ours *moving.Side
	if pair.Native != nil {
		native = moving.Native(pair.Native, o.jobs[pair.Native.UID])
	}
	if pair.Ours != nil {
		ours = moving.Ours(pair.Ours, o.jobs[pair.Ours.UID])
	}
	o.view.From, o.view.To = native, ours
	if o.view.Undo {
		o.view.From, o.view.To = ours, native
	}
}

// run moves the CronJobs of the keys.
func (m *mover) run(ctx context.Context, keys []moveKey) error {
	var moves []*move
	for _, key := range keys {
		if !slices.ContainsFunc(moves, func(other *move) bool { return other.moveKey == key }) {
			moves = append(moves, &move{moveKey: key, view: moving.View{Name: key.name, Undo: m.wanted.undo, Delete: m.wanted.delete}})
		}
	}
	if len(moves) == 0 {
		m.note("Nothing found.")
		return nil
	}
	if err := m.look(ctx, moves); err != nil {
		return err
	}
	count := m.prepare(ctx, moves)
	switch {
	case m.wanted.dryRun:
		for _, one := range moves {
			if !one.settled() {
				fmt.Fprintf(m.out, "%s would be moved (dry run)\n", one.moveKey)
			}
		}
		return failures(moves)
	case count > 0 && !m.wanted.yes:
		if !m.confirmed(count) {
			return errors.New("nothing was changed: answer y, or say --yes")
		}
		// Minutes may have passed.
		if err := m.look(ctx, moves); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// With a deadline of the context, the client would give up before, in words of its own.
	over := command.TimedOut(fmt.Errorf("not all were moved within %s", m.wanted.timeout))
	defer time.AfterFunc(m.wanted.timeout, func() { cancel(over) }).Stop()
	m.goOn(ctx, moves)
	return errors.Join(failures(moves), context.Cause(ctx))
}

// prepare shows what would change, and settles what can't be moved or is moved already. It returns how many are left.
func (m *mover) prepare(ctx context.Context, moves []*move) (count int) {
	for _, one := range moves {
		step := one.view.Next(m.now())
		var owner *moving.Owner
		if one.pair.Native != nil && !m.wanted.undo {
			owner = moving.OwnerOf(&one.pair.Native.ObjectMeta)
		}
		if one.pair.Ours != nil && (m.wanted.undo || owner == nil) {
			owner = moving.OwnerOf(&one.pair.Ours.ObjectMeta)
		}
		switch {
		case step.Do == moving.Refuse:
			one.failed = errors.New(step.Why)
		case step.Do == moving.Done:
			m.finish(one, step)
		case owner != nil:
			m.print(owner.Steps(one.namespace, one.name, m.wanted.undo))
			one.failed = fmt.Errorf("it is written by %s, %s: see the steps", owner.Tool, owner.Who)
		case one.view.From != nil && !one.view.Created():
			one.failed = m.show(ctx, one)
		}
		if !one.settled() {
			count++
		}
	}
	m.flush(moves)
	return count
}

// goOn looks and does the next steps until all are settled or the context ends.
func (m *mover) goOn(ctx context.Context, moves []*move) {
	ticker := time.NewTicker(m.every)
	defer ticker.Stop()
	for {
		m.steps(ctx, moves)
		moves = slices.DeleteFunc(slices.Clone(moves), (*move).settled)
		if len(moves) == 0 {
			return
		}
		select {
		case <-ctx.Done():
			m.lookOnce(ctx, moves)
			for _, one := range moves {
				one.failed = errors.New("not done: " + one.view.Stands())
			}
			return
		case <-ticker.C:
		}
		if err := m.look(ctx, moves); err != nil && ctx.Err() == nil {
			if apierrors.IsForbidden(err) {
				for _, one := range moves {
					one.failed = fmt.Errorf("%w; %s", err, one.view.Stands())
				}
				return
			}
			m.note("%v; it is tried again", err)
		}
	}
}

// lookOnce looks after the context has ended, to say where each stands; an error leaves what was known.
func (m *mover) lookOnce(ctx context.Context, moves []*move) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stepPatience)
	defer cancel()
	_ = m.look(ctx, moves)
}

// steps does the next step of each, several at a time.
func (m *mover) steps(ctx context.Context, moves []*move) {
	var group errgroup.Group
	group.SetLimit(movesAtATime)
	for _, one := range moves {
		group.Go(func() error {
			if ctx.Err() == nil && !one.settled() {
				m.step(ctx, one)
			}
			return nil
		})
	}
	_ = group.Wait()
	m.flush(moves)
}

// flush prints what the steps have to say, in the order of the moves.
func (m *mover) flush(moves []*move) {
	for _, one := range moves {
		m.print(strings.Join(one.lines, ""))
		one.lines = nil
		if !one.said && one.waitsFor != "" && !one.settled() {
			m.note("%s waits: %s", one.moveKey, one.waitsFor)
		}
		one.said = true
	}
}

// step does the next step of one, and the one after it where that is to follow at once.
func (m *mover) step(ctx context.Context, one *move) {
	step := one.view.Next(m.now())
	switch step.Do {
	case moving.Done:
		m.finish(one, step)
		return
	case moving.Refuse:
		one.failed = errors.New(step.Why)
		return
	case moving.Wait:
		if one.waitsFor != step.Why {
			one.waitsFor, one.said = step.Why, false
		}
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stepPatience)
	defer cancel()
	for {
		err := m.act(ctx, one, step.Do)
		switch {
		case err == nil:
			one.acted, one.deleted = true, one.deleted || step.Do == moving.DeleteFrom
			one.say(said(step, m.wanted.undo))
		case apierrors.IsConflict(err), apierrors.IsNotFound(err), apierrors.IsAlreadyExists(err):
			// Another client has written meanwhile: the next look says what is to be done then.
			return
		default:
			one.failed = fmt.Errorf("%w; %s", err, one.view.Stands())
			return
		}
		if !step.AtOnce {
			return
		}
		if step = one.view.Next(m.now()); step.Do != moving.CreateTo {
			return
		}
	}
}

// act does a step, and takes in what it has changed.
func (m *mover) act(ctx context.Context, one *move, do moving.Action) error {
	pair, undo := one.pair, m.wanted.undo
	var err error
	switch {
	case do == moving.SuspendFrom && undo, do == moving.ResumeFrom:
		pair.Ours, err = m.cluster.HoldOurs(ctx, pair.Ours, do == moving.SuspendFrom, m.now(), m.wanted.by)
	case do == moving.SuspendFrom:
		pair.Native, err = m.cluster.HoldNative(ctx, pair.Native, true, m.now())
	case do == moving.ResumeTo && undo:
		pair.Native, err = m.cluster.HoldNative(ctx, pair.Native, false, m.now())
	case do == moving.ResumeTo:
		pair.Ours, err = m.cluster.HoldOurs(ctx, pair.Ours, false, m.now(), m.wanted.by)
	case do == moving.CreateTo && undo:
		made, refused := moving.ToNative(pair.Ours, m.now())
		if refused != nil {
			return refused
		}
		return m.cluster.CreateNative(ctx, made, false)
	case do == moving.CreateTo:
		now := m.now()
		return m.cluster.CreateOurs(ctx, moving.ToOurs(pair.Native, one.view.LastScheduleTime(now), now), false)
	case do == moving.DeleteTo && undo, do == moving.DeleteFrom && !undo:
		return m.cluster.DeleteNative(ctx, pair.Native)
	case do == moving.DeleteTo, do == moving.DeleteFrom:
		return m.cluster.DeleteOurs(ctx, pair.Ours)
	default:
		return fmt.Errorf("%q is nothing to do", do)
	}
	if err == nil {
		one.see(pair)
	}
	return err
}

// look reads both CronJobs of each, and the Jobs of their namespaces.
func (m *mover) look(ctx context.Context, moves []*move) error {
	wanted := map[string][]string{}
	for _, one := range moves {
		wanted[one.namespace] = append(wanted[one.namespace], one.name)
	}
	for namespace, names := range wanted {
		// The Jobs come last: of a CronJob that was suspended before, they are all that there will be.
		pairs, err := m.cluster.Pairs(ctx, namespace, names)
		if err != nil {
			return err
		}
		jobs, err := m.cluster.Jobs(ctx, namespace)
		if err != nil {
			return err
		}
		there, owned := map[string]bool{}, map[types.UID][]batchv1.Job{}
		for _, job := range jobs {
			there[job.Name] = true
			if owner := metav1.GetControllerOfNoCopy(&job); owner != nil {
				owned[owner.UID] = append(owned[owner.UID], job)
			}
		}
		for _, one := range moves {
			if one.namespace == namespace {
				one.view.Jobs, one.jobs = there, owned
				one.see(pairs[one.name])
			}
		}
	}
	return nil
}

// finish says that one is done.
func (m *mover) finish(one *move, step moving.Step) {
	one.done = true
	text, old := "moved", versions(m.wanted.undo)[0]
	switch {
	case !one.acted && step.Why != "":
		text = "unchanged: " + step.Why
	case !one.acted:
		text = "unchanged: it was moved before"
	case one.deleted:
		text += fmt.Sprintf("; the one of %s is deleted", old)
	}
	if one.view.From != nil {
		text += fmt.Sprintf("; the one of %s stays suspended", old)
	}
	one.say(text)
}

// say has a line printed when all have done their step: several do theirs at a time.
func (o *move) say(text string) {
	o.lines = append(o.lines, fmt.Sprintf("%s %s\n", o.moveKey, text))
}

// versions are those of the old CronJob and of the new one.
func versions(undo bool) [2]string {
	if undo {
		return [2]string{"batch.ostinato.dev/v1", "batch/v1"}
	}
	return [2]string{"batch/v1", "batch.ostinato.dev/v1"}
}

// said says what a step has done.
func said(step moving.Step, undo bool) string {
	old, made := "the one of "+versions(undo)[0], "the one of "+versions(undo)[1]
	text := map[moving.Action]string{
		moving.SuspendFrom: old + " is suspended",
		moving.ResumeFrom:  old + " is resumed",
		moving.CreateTo:    made + " is created",
		moving.ResumeTo:    made + " is started",
		moving.DeleteTo:    made + " is deleted, its Jobs stay",
		moving.DeleteFrom:  old + " is deleted, its Jobs stay",
	}[step.Do]
	if step.Why != "" {
		text += ": " + step.Why
	}
	return text
}

// failures are the errors of those that were not moved.
func failures(moves []*move) error {
	var failed []error
	for _, one := range moves {
		if one.failed != nil {
			failed = append(failed, fmt.Errorf("%s: %w", one.moveKey, one.failed))
		}
	}
	return errors.Join(failed...)
}
