package deploy

import (
	"encoding/json"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/dev/harness"
)

// name52 is the longest name that leaves room for the Jobs' suffixes.
var name52 = strings.Repeat("n", 52)

// What the API server takes as a CronJob of ours is what it takes as a CronJob
// of batch/v1, except where a schema can't judge: then the CronJob is taken and
// its condition ScheduleValid tells. The schedule and the template in detail:
// test/stack/deploy/admission.
func TestCustomResourceAcceptsWhatBatchV1Accepts(t *testing.T) {
	const (
		taken      = ""
		refused    = "refused"
		laterFound = "taken, and found invalid by its workflow"
	)
	for name, test := range map[string]struct {
		change func(*ostinatov1.CronJob)
		want   string
		// says is part of the message of a refusal.
		says string
	}{
		"the least there can be":     {func(*ostinatov1.CronJob) {}, taken, ""},
		"name of 52 characters":      {named(name52), taken, ""},
		"name of 53 characters":      {named(name52 + "n"), refused, "no more than 52 characters"},
		"name with a dot":            {named("a.b"), taken, ""},
		"no schedule":                {schedule(""), refused, "schedule"},
		"five fields":                {schedule("*/5 1-3,7 * jan-mar sun"), taken, ""},
		"descriptor":                 {schedule("@daily"), taken, ""},
		"interval":                   {schedule("@every 90s"), taken, ""},
		"impossible date":            {schedule("0 0 31 2 *"), taken, ""},
		"no schedule at all":         {schedule("every now and then"), refused, "five fields"},
		"six fields":                 {schedule("0 * * * * *"), refused, "five fields"},
		"day of week 7":              {schedule("0 0 * * 7"), refused, "Sunday is 0"},
		"TZ in the schedule":         {schedule("TZ=UTC 0 0 * * *"), refused, "use timeZone"},
		"CRON_TZ in the schedule":    {schedule("CRON_TZ=UTC 0 0 * * *"), refused, "use timeZone"},
		"zone of two parts":          {zone("Europe/Paris"), taken, ""},
		"zone of three parts":        {zone("America/Argentina/Buenos_Aires"), taken, ""},
		"zone with a sign":           {zone("Etc/GMT+3"), taken, ""},
		"UTC":                        {zone("UTC"), taken, ""},
		"empty zone":                 {zone(""), refused, "timeZone"},
		"Local":                      {zone("Local"), refused, "explicit"},
		"local in capitals":          {zone("LOCAL"), refused, "explicit"},
		"zone that leaves its place": {zone("../../etc/passwd"), refused, "timeZone"},
		"absolute zone":              {zone("/etc/localtime"), refused, "timeZone"},
		"zone with a space":          {zone("Europe/New Paris"), refused, "timeZone"},
		"zone with a long part":      {zone("Europe/" + strings.Repeat("x", 15)), refused, "timeZone"},
		"zone nobody knows":          {zone("Nowhere/City"), laterFound, ""},
		"no starting deadline":       {startingDeadline(0), taken, ""},
		"negative starting deadline": {startingDeadline(-1), refused, "startingDeadlineSeconds"},
		"Allow":                      {policy("Allow"), taken, ""},
		"Forbid":                     {policy("Forbid"), taken, ""},
		"Replace":                    {policy("Replace"), taken, ""},
		"another policy":             {policy("Sometimes"), refused, "concurrencyPolicy"},
		"policy in small letters":    {policy("forbid"), refused, "concurrencyPolicy"},
		"no history":                 {limits(0, 0), taken, ""},
		"negative successful limit":  {limits(-1, 1), refused, "successfulJobsHistoryLimit"},
		"negative failed limit":      {limits(1, -1), refused, "failedJobsHistoryLimit"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cronJob := harness.NewCronJob("default", "hello", harness.Yearly, harness.JobSpec())
			test.change(cronJob)
			dryRun := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}

			_, err := stack.CronJobs.CronJobs("default").Create(t.Context(), cronJob, dryRun)
			switch {
			case test.want == refused && err == nil:
				t.Error("our CronJob was taken")
			case test.want == refused && !strings.Contains(err.Error(), test.says):
				t.Errorf("the refusal does not say %q: %v", test.says, err)
			case test.want != refused && err != nil:
				t.Errorf("our CronJob was refused: %v", err)
			}
			_, err = stack.Kubernetes.BatchV1().CronJobs("default").Create(t.Context(), native(t, cronJob), dryRun)
			if (err == nil) != (test.want == taken) {
				t.Errorf("batch/v1 answers %v, so what is wanted of ours is not the same", err)
			}
		})
	}
}

func named(name string) func(*ostinatov1.CronJob) {
	return func(cronJob *ostinatov1.CronJob) { cronJob.Name = name }
}

func schedule(schedule string) func(*ostinatov1.CronJob) {
	return func(cronJob *ostinatov1.CronJob) { cronJob.Spec.Schedule = schedule }
}

func zone(zone string) func(*ostinatov1.CronJob) {
	return func(cronJob *ostinatov1.CronJob) { cronJob.Spec.TimeZone = &zone }
}

func startingDeadline(seconds int64) func(*ostinatov1.CronJob) {
	return func(cronJob *ostinatov1.CronJob) { cronJob.Spec.StartingDeadlineSeconds = &seconds }
}

func policy(policy batchv1.ConcurrencyPolicy) func(*ostinatov1.CronJob) {
	return func(cronJob *ostinatov1.CronJob) { cronJob.Spec.ConcurrencyPolicy = policy }
}

func limits(successful, failed int32) func(*ostinatov1.CronJob) {
	return func(cronJob *ostinatov1.CronJob) {
		cronJob.Spec.SuccessfulJobsHistoryLimit, cronJob.Spec.FailedJobsHistoryLimit = &successful, &failed
	}
}

// native is the CronJob with the one line changed back.
func native(t *testing.T, cronJob *ostinatov1.CronJob) *batchv1.CronJob {
	t.Helper()
	data, err := json.Marshal(cronJob.Spec)
	if err != nil {
		t.Fatal(err)
	}
	same := &batchv1.CronJob{ObjectMeta: cronJob.ObjectMeta}
	if err := json.Unmarshal(data, &same.Spec); err != nil {
		t.Fatal(err)
	}
	return same
}

// What is left out is filled in as batch/v1 does.
func TestCustomResourceHasTheDefaultsOfBatchV1(t *testing.T) {
	cronJob := harness.NewCronJob("default", "hello", harness.Yearly, harness.JobSpec())
	dryRun := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	ours, err := stack.CronJobs.CronJobs("default").Create(t.Context(), cronJob, dryRun)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := stack.Kubernetes.BatchV1().CronJobs("default").Create(t.Context(), native(t, cronJob), dryRun)
	if err != nil {
		t.Fatal(err)
	}
	// The defaults of the template are applied when the Job is created.
	theirs.Spec.JobTemplate, ours.Spec.JobTemplate = batchv1.JobTemplateSpec{}, batchv1.JobTemplateSpec{}
	assertSameJSON(t, theirs.Spec, ours.Spec)
}
