package moving

import (
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
)

// shownAround is how many lines a difference shows before and after a change.
const shownAround = 2

// Diff shows in what two manifests of CronJobs differ, as lines of YAML; what the API server keeps for itself is left out.
func Diff(from, to any) (string, error) {
	before, err := manifest(from)
	if err != nil {
		return "", err
	}
	after, err := manifest(to)
	if err != nil {
		return "", err
	}
	lines := compare(before, after)
	var text strings.Builder
	skipped := false
	for n, line := range lines {
		around := lines[max(n-shownAround, 0):min(n+shownAround+1, len(lines))]
		if slices.IndexFunc(around, func(near string) bool { return near[0] != ' ' }) < 0 {
			skipped = true
			continue
		}
		if skipped {
			text.WriteString("   ...\n")
		}
		skipped = false
		text.WriteString(line + "\n")
	}
	return text.String(), nil
}

// manifest is an object as a person would write it, line by line.
func manifest(object any) ([]string, error) {
	switch cronJob := object.(type) {
	case *batchv1.CronJob:
		cronJob = cronJob.DeepCopy()
		cronJob.APIVersion, cronJob.Kind = batchv1.SchemeGroupVersion.String(), ostinatov1.CronJobKind.Kind
		cronJob.ObjectMeta, cronJob.Status = metaShown(cronJob.ObjectMeta), batchv1.CronJobStatus{}
		object = cronJob
	case *ostinatov1.CronJob:
		cronJob = cronJob.DeepCopy()
		cronJob.APIVersion, cronJob.Kind = ostinatov1.GroupVersion.String(), ostinatov1.CronJobKind.Kind
		cronJob.ObjectMeta, cronJob.Status = metaShown(cronJob.ObjectMeta), ostinatov1.CronJobStatus{}
		object = cronJob
	}
	text, err := yaml.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("write a manifest: %w", err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return slices.DeleteFunc(lines, func(line string) bool {
		line = strings.TrimSpace(line)
		return line == "creationTimestamp: null" || line == "status: {}"
	}), nil
}

// lookAhead bounds how many lines are looked through for the place where two manifests go on alike: one may be long.
const lookAhead = 200

// compare returns the lines of both, each with a sign: " " of both, "-" of the first alone, "+" of the second alone.
func compare(before, after []string) (lines []string) {
	for len(before) > 0 || len(after) > 0 {
		switch {
		case len(before) == 0:
			lines, after = append(lines, "+"+after[0]), after[1:]
		case len(after) == 0:
			lines, before = append(lines, "-"+before[0]), before[1:]
		case before[0] == after[0]:
			lines, before, after = append(lines, " "+before[0]), before[1:], after[1:]
		default:
			added := slices.Index(after[:min(len(after), lookAhead)], before[0])
			removed := slices.Index(before[:min(len(before), lookAhead)], after[0])
			if added < 0 || removed >= 0 && removed < added {
				lines, before = append(lines, "-"+before[0]), before[1:]
			} else {
				lines, after = append(lines, "+"+after[0]), after[1:]
			}
		}
	}
	return lines
}

// metaShown leaves out what the API server has added.
func metaShown(meta metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: meta.Namespace, Name: meta.Name, Labels: meta.Labels, Annotations: meta.Annotations, OwnerReferences: meta.OwnerReferences,
	}
}
