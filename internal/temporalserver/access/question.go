package access

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	authorizationv1 "k8s.io/api/authorization/v1"

	"ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/steering"
	"ostinato.dev/ostinato/internal/temporalserver/authority"
)

// Audience is that of tokens for Temporal.
const Audience = authority.Audience

// Question is what a person wants to do to an object of the API server's.
type Question = authorizationv1.ResourceAttributes

// object is what a workflow stands for.
type object struct {
	group, resource string
	namespace, name string
}

func (o object) attributes(verb string) Question {
	return Question{Verb: verb, Group: o.group, Resource: o.resource, Namespace: o.namespace, Name: o.name}
}

const (
	batch    = "batch"
	cronJobs = "cronjobs"
	jobs     = "jobs"
)

// objectOf returns what the workflow with this ID stands for; false for every other workflow.
func objectOf(cluster names.Cluster, workflowID string) (object, bool) {
	for _, kind := range []struct {
		group, resource string
		parse           func(string) (namespace, name string, ok bool)
	}{
		{v1.GroupVersion.Group, cronJobs, cluster.ParseCronJobWorkflowID},
		{batch, cronJobs, cluster.ParseNativeCronJobWorkflowID},
		{batch, jobs, cluster.ParseJobWorkflowID},
	} {
		namespace, name, ok := kind.parse(workflowID)
		if ok {
			return object{kind.group, kind.resource, namespace, name}, true
		}
	}
	return object{}, false
}

// questions are what the API server must allow a person who sends the request; an error says why no right is enough.
func questions(cluster names.Cluster, needs right, request any) ([]Question, error) {
	switch needs {
	case administration:
		return nil, errors.New("it is for administrators")
	case nothing, identity:
		return nil, nil
	case listing:
		return []Question{
			object{group: v1.GroupVersion.Group, resource: cronJobs}.attributes("list"),
			object{group: batch, resource: cronJobs}.attributes("list"),
			object{group: batch, resource: jobs}.attributes("list"),
		}, nil
	}
	workflowID := workflowOf(request)
	subject, ok := objectOf(cluster, workflowID)
	if !ok {
		return nil, fmt.Errorf("workflow %q stands for no CronJob or Job", workflowID)
	}
	if needs == reading {
		return toRead(subject, request), nil
	}
	return toSend(subject, messageOf(request))
}

// toRead asks for logs too where they are shown: the workflow of a Job has the evidence of its failed Pods, and the history of a
// CronJob the results of its Jobs, which have it too.
func toRead(subject object, request any) []Question {
	asked := []Question{subject.attributes("get")}
	if subject.resource == jobs || showsHistory(request) {
		logs := object{resource: "pods", namespace: subject.namespace}.attributes("get")
		logs.Subresource = "log"
		asked = append(asked, logs)
	}
	return asked
}

func showsHistory(request any) bool {
	switch request.(type) {
	case *workflowservice.GetWorkflowExecutionHistoryRequest, *workflowservice.GetWorkflowExecutionHistoryReverseRequest:
		return true
	default:
		return false
	}
}

// toSend returns what a signal or update of the name does to the object. Those of Ostinato's own programs are not for people.
func toSend(subject object, message string) ([]Question, error) {
	stops := []string{steering.Suspend, steering.Resume}
	if subject.resource == jobs {
		stops = append(stops, steering.Stop)
	}
	runs := []string{steering.Trigger, steering.Backfill}
	switch {
	case message == steering.RestoreLedger:
		return nil, fmt.Errorf("%q is for administrators", message)
	case slices.Contains(stops, message):
		return []Question{subject.attributes("patch")}, nil
	case subject.resource == cronJobs && slices.Contains(runs, message):
		return []Question{object{group: batch, resource: jobs, namespace: subject.namespace}.attributes("create")}, nil
	default:
		people := stops
		if subject.resource == cronJobs {
			people = append(people, runs...)
		}
		return nil, fmt.Errorf("%q is not for people; send %s", message, strings.Join(people, ", "))
	}
}

// workflowOf returns the ID of the workflow that a request names, "" if it names none.
func workflowOf(request any) string {
	var execution *commonpb.WorkflowExecution
	switch r := request.(type) {
	case interface {
		GetWorkflowExecution() *commonpb.WorkflowExecution
	}:
		execution = r.GetWorkflowExecution()
	case interface {
		GetExecution() *commonpb.WorkflowExecution
	}:
		execution = r.GetExecution()
	case *workflowservice.PollWorkflowExecutionUpdateRequest:
		execution = r.GetUpdateRef().GetWorkflowExecution()
	}
	return execution.GetWorkflowId()
}

// messageOf returns the name of the signal or update that a request sends.
func messageOf(request any) string {
	switch r := request.(type) {
	case *workflowservice.SignalWorkflowExecutionRequest:
		return r.GetSignalName()
	case *workflowservice.UpdateWorkflowExecutionRequest:
		return r.GetRequest().GetInput().GetName()
	default:
		return ""
	}
}
