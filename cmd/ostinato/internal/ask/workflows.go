package ask

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"google.golang.org/grpc"
	batchv1 "k8s.io/api/batch/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// patience bounds a call of Temporal.
const patience = 10 * time.Second

// Workflows are Temporal, as the SDK's environment configuration reaches it (TEMPORAL_ADDRESS, TEMPORAL_PROFILE, and so on), or else as
// the workers do.
type Workflows struct {
	options client.Options
	// address is where Temporal is asked, and unknown why it could not be known where the workers do, if that was asked for.
	address string
	unknown error
	// codec is the codec server; nil where there is none.
	codec *envconfig.ClientConfigCodec
	// kept are the connections of a program that asks many times; nil where each call has its own.
	kept *connections
}

// Settings are what a person says about Temporal; what is empty comes from the SDK's environment configuration.
type Settings struct {
	Address, Profile string
	// TokenFile holds a token that is sent to Temporal. It is read anew for each call, since what writes it renews it.
	TokenFile string
	// CodecEndpoint is the codec server that decodes payloads, and CodecAuth what is sent to it as Authorization.
	CodecEndpoint, CodecAuth string
	// Workers reads how the workers reach Temporal. It is asked where nothing else names an address or says what to send to one.
	Workers func() (WorkerSettings, error)
}

// NewWorkflows reads the configuration; Temporal is not called yet.
func NewWorkflows(settings Settings) (*Workflows, error) {
	person, err := envconfig.LoadClientConfigProfile(envconfig.LoadClientConfigProfileOptions{ConfigFileProfile: settings.Profile})
	if err != nil {
		return nil, fmt.Errorf("read the Temporal settings (TEMPORAL_* variables and profile file): %w", err)
	}
	w, profile := &Workflows{}, person
	var workers WorkerSettings
	// What a person's settings send goes to an address that the person has named, or to none.
	if settings.Address == "" && person.Address == "" && settings.Workers != nil {
		if w.unknown = sendsNothing(person, settings.TokenFile); w.unknown == nil {
			workers, w.unknown = settings.Workers()
		}
		if w.unknown == nil {
			if profile, err = workers.profile(); err != nil {
				return nil, err
			}
		}
	}
	if w.options, err = profile.ToClientOptions(envconfig.ToClientOptionsRequest{}); err != nil {
		return nil, fmt.Errorf("read the Temporal settings (TEMPORAL_* variables and profile file): %w", err)
	}
	w.address = cmp.Or(settings.Address, w.options.HostPort, client.DefaultHostPort)
	w.options.HostPort, w.options.Logger = w.address, silent{}
	if settings.TokenFile != "" {
		w.options.Credentials = client.NewAPIKeyDynamicCredentials(func(context.Context) (string, error) { return readToken(settings.TokenFile) })
	}
	if workers.tls != nil {
		w.options.ConnectionOptions.TLS = workers.tls
	}
	if workers.dial != nil {
		// The name is one of the cluster's: it must not be looked up here.
		w.options.HostPort = "passthrough:///" + w.address
		w.options.ConnectionOptions.DialOptions = append(w.options.ConnectionOptions.DialOptions, grpc.WithContextDialer(workers.dial))
	}
	// The codec server is the person's own, wherever Temporal is.
	codec := person.Codec
	switch {
	case settings.CodecEndpoint != "":
		// What the configuration says goes with its own server.
		codec = &envconfig.ClientConfigCodec{Endpoint: settings.CodecEndpoint, Auth: settings.CodecAuth}
	case codec != nil && settings.CodecAuth != "":
		codec = &envconfig.ClientConfigCodec{Endpoint: codec.Endpoint, Auth: settings.CodecAuth}
	}
	if codec != nil {
		if err := ValidCodecEndpoint(codec.Endpoint); err != nil {
			return nil, fmt.Errorf("read the Temporal settings: codec endpoint: %w", err)
		}
	}
	w.codec = codec
	return w, nil
}

// Address is where Temporal is asked.
func (w *Workflows) Address() string { return w.address }

// Namespace is that of Temporal's namespaces that the settings name.
func (w *Workflows) Namespace() string { return cmp.Or(w.options.Namespace, client.DefaultNamespace) }

// ErrNoWorkflow says that a CronJob's status names no workflow: the bridge has not seen it.
var ErrNoWorkflow = errors.New("its status names no workflow: is the bridge running?")

// errUnreachable says that there is no connection.
var errUnreachable = errors.New("reach Temporal")

// Unreachable reports whether an error is of Temporal as a whole: another question would fare no better.
func Unreachable(err error) bool {
	var unavailable *serviceerror.Unavailable
	var slow *serviceerror.DeadlineExceeded
	return errors.Is(err, errUnreachable) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &unavailable) || errors.As(err, &slow)
}

// with calls Temporal in the namespace of the CronJob's workflow.
func (w *Workflows) with(ctx context.Context, cronJob *ostinatov1.CronJob, call func(context.Context, client.Client) error) error {
	if cronJob.Status.Workflow == nil {
		return fmt.Errorf("CronJob %s/%s: %w", cronJob.Namespace, cronJob.Name, ErrNoWorkflow)
	}
	return w.in(ctx, cronJob.Status.Workflow.Namespace, call)
}

// in calls Temporal in a namespace; empty means that of the settings.
func (w *Workflows) in(ctx context.Context, namespace string, call func(context.Context, client.Client) error) error {
	options := w.options
	options.Namespace = cmp.Or(namespace, options.Namespace, client.DefaultNamespace)
	withCodec(&options, w.codec)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	connected, release, err := w.kept.dial(ctx, options)
	if err != nil {
		if w.unknown != nil {
			err = fmt.Errorf("%w; %s", err, w.unknown)
		}
		return fmt.Errorf("%w at %s: %w", errUnreachable, w.address, err)
	}
	defer release()
	return legible(call(ctx, connected))
}

// Ledger reads rows of a CronJob's ledger, newest first, at most limit; whole says that there are none before.
func (w *Workflows) Ledger(ctx context.Context, cronJob *ostinatov1.CronJob, question protocol.LedgerQuestion) (rows []ostinatov1.RecentRun, whole bool, err error) {
	all, err := w.pages(ctx, cronJob, question)
	for _, each := range all.Rows {
		row := each.RecentRun()
		if each.Imported {
			row.Message = strings.TrimSuffix("Imported: "+row.Message, ": ")
		}
		rows = append(rows, row)
	}
	return rows, err == nil && all.Before == 0 && all.Dropped == 0, err
}

// Suspensions reads the last suspensions of a CronJob, oldest first.
func (w *Workflows) Suspensions(ctx context.Context, cronJob *ostinatov1.CronJob) ([]ledger.Suspension, error) {
	page, err := w.pages(ctx, cronJob, protocol.LedgerQuestion{Limit: 1})
	return page.Suspensions, err
}

// maxRows is more than a ledger has.
const maxRows = 10_000

// Rows reads all rows of a CronJob's ledger, newest first, and how many older ones it has had.
func (w *Workflows) Rows(ctx context.Context, cronJob *ostinatov1.CronJob) (rows []ledger.Entry, dropped int64, err error) {
	all, err := w.pages(ctx, cronJob, protocol.LedgerQuestion{Limit: maxRows})
	for _, row := range all.Rows {
		rows = append(rows, row.Entry)
	}
	return rows, all.Dropped, err
}

// pages reads pages of a ledger as one.
func (w *Workflows) pages(ctx context.Context, cronJob *ostinatov1.CronJob, question protocol.LedgerQuestion) (all protocol.LedgerPage, err error) {
	err = w.with(ctx, cronJob, func(ctx context.Context, temporal client.Client) error {
		for wanted := question.Limit; wanted > len(all.Rows); {
			question.Limit = wanted - len(all.Rows)
			var page protocol.LedgerPage
			if err := query(ctx, temporal, cronJob.Status.Workflow.ID, &page, protocol.LedgerQuery, question); err != nil {
				return fmt.Errorf("read the ledger of workflow %s: %w", cronJob.Status.Workflow.ID, err)
			}
			page.Rows = slices.Concat(all.Rows, page.Rows)
			all = page
			if question.Before = page.Before; page.Before == 0 {
				return nil
			}
		}
		return nil
	})
	return all, err
}

func query(ctx context.Context, temporal client.Client, workflow string, answer any, name string, arguments ...any) error {
	answered, err := temporal.QueryWorkflow(ctx, workflow, "", name, arguments...)
	if err != nil {
		return err
	}
	return answered.Get(answer)
}

// Describe asks the workflow of a CronJob to describe it. Its error says if the workflow is of another object.
func (w *Workflows) Describe(ctx context.Context, cronJob *ostinatov1.CronJob) (description protocol.CronJobDescription, err error) {
	err = w.with(ctx, cronJob, func(ctx context.Context, temporal client.Client) error {
		if err := query(ctx, temporal, cronJob.Status.Workflow.ID, &description, protocol.DescribeQuery); err != nil {
			return fmt.Errorf("ask workflow %s: %w", cronJob.Status.Workflow.ID, err)
		}
		return nil
	})
	if err == nil && description.CronJob.UID != string(cronJob.UID) {
		err = fmt.Errorf("workflow %s is of another CronJob, uid %q", cronJob.Status.Workflow.ID, description.CronJob.UID)
	}
	return description, err
}

// Evidence reads what the workflow of a Job has kept of the Pods that failed.
func (w *Workflows) Evidence(ctx context.Context, workflow ostinatov1.WorkflowReference) (description protocol.JobDescription, err error) {
	err = w.in(ctx, workflow.Namespace, func(ctx context.Context, temporal client.Client) error {
		err := query(ctx, temporal, workflow.ID, &description, protocol.DescribeQuery)
		var gone *serviceerror.NotFound
		switch {
		case errors.As(err, &gone):
			return fmt.Errorf("temporal keeps no workflow %s any more", workflow.ID)
		case err != nil:
			return fmt.Errorf("ask workflow %s: %w", workflow.ID, err)
		}
		return nil
	})
	return description, err
}

// JobWorkflow names the workflow of a Job. The Job says so itself; where it is gone, the CronJob's workflow has the same
// namespace and prefix, if there is a CronJob.
func JobWorkflow(cronJob *ostinatov1.CronJob, job *batchv1.Job, namespace, name string) ostinatov1.WorkflowReference {
	if job != nil {
		if temporal, id, ok := strings.Cut(job.Annotations[names.WorkflowAnnotation], "/"); ok {
			return ostinatov1.WorkflowReference{Namespace: temporal, ID: id}
		}
	}
	workflow := ostinatov1.WorkflowReference{ID: "job/" + namespace + "/" + name}
	if cronJob != nil && cronJob.Status.Workflow != nil {
		prefix, _, _ := strings.Cut(cronJob.Status.Workflow.ID, "cronjob/")
		workflow = ostinatov1.WorkflowReference{Namespace: cronJob.Status.Workflow.Namespace, ID: prefix + workflow.ID}
	}
	return workflow
}

// Trigger starts a run now, and waits for the answer.
func (w *Workflows) Trigger(ctx context.Context, cronJob *ostinatov1.CronJob, request protocol.TriggerRequest) (answer protocol.TriggerAnswer, err error) {
	err = w.Update(ctx, cronJob, "", protocol.TriggerUpdate, request, &answer)
	return answer, err
}

// Backfill asks for runs of past times.
func (w *Workflows) Backfill(ctx context.Context, cronJob *ostinatov1.CronJob, request schedule.BackfillRequest) (answer protocol.BackfillAnswer, err error) {
	err = w.Update(ctx, cronJob, "", protocol.BackfillUpdate, request, &answer)
	return answer, err
}

// RestoreLedger gives a ledger back rows of an export, 300 at most.
func (w *Workflows) RestoreLedger(
	ctx context.Context, cronJob *ostinatov1.CronJob, rows []ledger.Entry, dryRun bool,
) (answer protocol.RestoreLedgerAnswer, err error) {
	request := protocol.RestoreLedgerRequest{UID: string(cronJob.UID), Rows: rows, DryRun: dryRun}
	err = w.Update(ctx, cronJob, "", protocol.RestoreLedgerUpdate, request, &answer)
	return answer, err
}

// Update sends an update. One with an ID is carried out once by a run of the workflow, however often it is sent.
func (w *Workflows) Update(ctx context.Context, cronJob *ostinatov1.CronJob, id, name string, request, answer any) error {
	return w.with(ctx, cronJob, func(ctx context.Context, temporal client.Client) error {
		handle, err := temporal.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
			WorkflowID: cronJob.Status.Workflow.ID, UpdateID: id, UpdateName: name, Args: []any{request}, WaitForStage: client.WorkflowUpdateStageCompleted,
		})
		if err != nil {
			return fmt.Errorf("%s of workflow %s: %w", name, cronJob.Status.Workflow.ID, err)
		}
		return handle.Get(ctx, answer)
	})
}

// silent is the SDK's logger: what matters to a person is in the error.
type silent struct{}

func (silent) Debug(string, ...any) {}
func (silent) Info(string, ...any)  {}
func (silent) Warn(string, ...any)  {}
func (silent) Error(string, ...any) {}
