package deploy

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/dev/harness"
)

// kubectl explain describes every field that is ours, in words that begin with its name.
func TestExplain(t *testing.T) {
	for page, fields := range map[string]reflect.Type{
		"cronjobs":                   nil,
		"cronjobs.spec":              reflect.TypeFor[ostinatov1.CronJobSpec](),
		"cronjobs.status":            reflect.TypeFor[ostinatov1.CronJobStatus](),
		"cronjobs.status.active":     nil,
		"cronjobs.status.conditions": nil,
		"cronjobs.status.recentRuns": reflect.TypeFor[ostinatov1.RecentRun](),
		"cronjobs.status.workflow":   reflect.TypeFor[ostinatov1.WorkflowReference](),
	} {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			explained := explain(t, page, "--api-version="+ostinatov1.GroupVersion.String())
			for _, missing := range []string{"<no description>", "<empty>"} {
				if strings.Contains(explained, missing) {
					t.Errorf("kubectl explain says %s:\n%s", missing, explained)
				}
			}
			for _, field := range jsonNames(fields) {
				described := regexp.MustCompile(`(?m)^  ` + field + `\t<.*\n(  enum: .*\n)?    ` + field + ` `)
				if !described.MatchString(explained) {
					t.Errorf("no description begins with %s:\n%s", field, explained)
				}
			}
		})
	}
}

// The fields of a Job are described as batch/v1 describes them. Those of the Pod template are not, and its own description leads there.
func TestExplainOfTheTemplate(t *testing.T) {
	const job, template = "cronjobs.spec.jobTemplate.spec", "cronjobs.spec.jobTemplate.spec.template"
	for _, page := range []string{"cronjobs.spec.jobTemplate", job, job + ".podFailurePolicy.rules.onExitCodes", job + ".successPolicy.rules"} {
		if explained := explain(t, page, "--api-version="+ostinatov1.GroupVersion.String()); strings.Contains(explained, "<no description>") {
			t.Errorf("kubectl explain %s lacks a description:\n%s", page, explained)
		}
	}
	explained := explain(t, job+".backoffLimit", "--api-version="+ostinatov1.GroupVersion.String())
	if !strings.Contains(explained, "the number of retries before marking this job failed") {
		t.Errorf("the description of backoffLimit is not upstream's:\n%s", explained)
	}
	explained = explain(t, template, "--api-version="+ostinatov1.GroupVersion.String())
	const leads = "kubectl explain " + template + " --api-version=batch/v1"
	if !strings.Contains(strings.Join(strings.Fields(explained), " "), leads) {
		t.Errorf("the description does not say %q:\n%s", leads, explained)
	}
	explained = explain(t, template, "--api-version=batch/v1")
	if strings.Contains(explained, "<no description>") {
		t.Errorf("it does not lead to descriptions:\n%s", explained)
	}
}

// kubectl knows batch/v1's CronJobs by their short name cj, and ours by ocj.
func TestShortName(t *testing.T) {
	namespace := stack.Namespace(t)
	stack.CreateCronJob(t, harness.NewCronJob(namespace, "short", harness.Yearly, harness.JobSpec()))
	output, err := stack.Stack.Kubectl(t.Context(), "get", "ocj", "--namespace", namespace, "--output=name")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.TrimSpace(output), "cronjob.batch.ostinato.dev/short"; got != want {
		t.Errorf("kubectl get ocj shows %q, want %q", got, want)
	}
	if explained := explain(t, "ocj.spec"); !strings.Contains(explained, ostinatov1.GroupVersion.Group) {
		t.Errorf("kubectl explain ocj.spec is of another kind:\n%s", explained)
	}
}

func explain(t *testing.T, page string, flags ...string) string {
	t.Helper()
	explained, err := stack.Stack.Kubectl(t.Context(), append([]string{"explain", page}, flags...)...)
	if err != nil {
		t.Fatal(err)
	}
	return explained
}

// jsonNames are the names that a type's fields have in JSON; of nil there are none.
func jsonNames(of reflect.Type) []string {
	if of == nil {
		return nil
	}
	var names []string
	for field := range of.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}
