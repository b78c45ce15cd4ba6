package bundle

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
)

// Removed stands in for what may be secret.
const Removed = "(removed)"

var (
	// secretName finds names of what is secret.
	secretName = regexp.MustCompile(`(?i)passw|passphrase|pwd|secret|token|api[-_]?key|access[-_]?key|private[-_]?key|credential|auth|cookie|session|dsn|(^|[-_.])keys?($|[-_.])|(^|[-_.])pat($|[-_.])`)
	// assigned finds a name with its value, as flags, variables and headers have it.
	assigned = regexp.MustCompile(`([\w.-]+)(["']?\s*[=:]\s*["']?)([^\s"',;&]+(?:\s[^\s"',;&]{16,})?)`)
	// spaced finds a flag with the value behind it.
	spaced = regexp.MustCompile(`(--[\w.-]+)(\s+)([^\s-]\S*)`)
	// userinfo finds the name and the password in an address, or a name alone.
	userinfo = regexp.MustCompile(`(\w+://)[^/@\s]+@`)
	// flagAlone is a flag whose value is the next argument.
	flagAlone = regexp.MustCompile(`^--?[\w.-]+$`)
	// encoded is a long run of the letters of Base64 or of hexadecimals with a digit in it: a key or a token, for all we know.
	encoded = regexp.MustCompile(`[A-Za-z0-9+/_-]{32,}={0,2}`)
	digits  = regexp.MustCompile(`\d.*\d`)
)

// Text leaves out of a text what looks secret: values of secret names, users and passwords of addresses, and long codes.
func Text(text string) string {
	text = userinfo.ReplaceAllString(text, "${1}"+Removed+"@")
	text = assigned.ReplaceAllStringFunc(text, func(found string) string {
		parts := assigned.FindStringSubmatch(found)
		if secretName.MatchString(parts[1]) {
			return parts[1] + parts[2] + Removed
		}
		return parts[1] + parts[2] + Text(parts[3])
	})
	return spaced.ReplaceAllStringFunc(text, func(found string) string {
		parts := spaced.FindStringSubmatch(found)
		if secretName.MatchString(parts[1]) {
			return parts[1] + parts[2] + Removed
		}
		return found
	})
}

// Arguments leaves out of a command line what looks secret.
func Arguments(arguments []string) []string {
	shown := make([]string, 0, len(arguments))
	for n, argument := range arguments {
		if n > 0 && flagAlone.MatchString(arguments[n-1]) && secretName.MatchString(arguments[n-1]) && !strings.HasPrefix(argument, "--") {
			shown = append(shown, Removed)
			continue
		}
		shown = append(shown, encoded.ReplaceAllStringFunc(Text(argument), func(found string) string {
			if digits.MatchString(found) && !strings.Contains(found, "/") {
				return Removed
			}
			return found
		}))
	}
	if arguments == nil {
		return nil
	}
	return shown
}

// Options say what a bundle has beyond what is harmless.
type Options struct{ WithEnv bool }

// ofOurs are prefixes of variables that worker and bridge read.
var ofOurs = []string{"OSTINATO_", "TEMPORAL_", "GOMEMLIMIT", "GOMAXPROCS", "GOGC", "GODEBUG"}

// Template leaves out of a Pod template values of variables, unless they are wanted, and what looks secret in command lines.
func (o Options) Template(template corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	return podTemplate(template, func(variable corev1.EnvVar) bool { return o.WithEnv })
}

// podTemplate leaves out what may be secret; keep says which values of variables may stay.
func podTemplate(template corev1.PodTemplateSpec, keep func(corev1.EnvVar) bool) corev1.PodTemplateSpec {
	shown := *template.DeepCopy()
	shown.ObjectMeta = Meta(shown.ObjectMeta)
	for _, containers := range [][]corev1.Container{shown.Spec.InitContainers, shown.Spec.Containers} {
		for n := range containers {
			container := &containers[n]
			container.Command, container.Args = Arguments(container.Command), Arguments(container.Args)
			for k := range container.Env {
				if container.Env[k].Value != "" && !keep(container.Env[k]) {
					container.Env[k].Value = Removed
				}
			}
			for _, probe := range []*corev1.Probe{container.LivenessProbe, container.ReadinessProbe, container.StartupProbe} {
				withoutSecrets(probe)
			}
			if container.Lifecycle != nil {
				container.Lifecycle = nil
			}
		}
	}
	shown.Spec.EphemeralContainers = nil
	return shown
}

// withoutSecrets leaves out the headers and command lines of a probe.
func withoutSecrets(probe *corev1.Probe) {
	if probe == nil {
		return
	}
	if probe.HTTPGet != nil {
		probe.HTTPGet.HTTPHeaders = nil
	}
	if probe.Exec != nil {
		probe.Exec.Command = Arguments(probe.Exec.Command)
	}
}

// Meta leaves out of metadata what repeats the object, variables included, and what looks secret in annotations.
func Meta(meta metav1.ObjectMeta) metav1.ObjectMeta {
	meta = *meta.DeepCopy()
	meta.ManagedFields = nil
	for _, key := range slices.Sorted(maps.Keys(meta.Annotations)) {
		switch {
		case strings.HasSuffix(key, "last-applied-configuration") || secretName.MatchString(key):
			meta.Annotations[key] = Removed
		default:
			meta.Annotations[key] = Text(meta.Annotations[key])
		}
	}
	return meta
}

// CronJob is one of ours as the bundle has it.
func (o Options) CronJob(cronJob *ostinatov1.CronJob) *ostinatov1.CronJob {
	shown := cronJob.DeepCopy()
	shown.APIVersion, shown.Kind = ostinatov1.GroupVersion.String(), ostinatov1.CronJobKind.Kind
	shown.ObjectMeta = Meta(shown.ObjectMeta)
	shown.Spec.JobTemplate.ObjectMeta = Meta(shown.Spec.JobTemplate.ObjectMeta)
	shown.Spec.JobTemplate.Spec.Template = o.Template(shown.Spec.JobTemplate.Spec.Template)
	return shown
}

// NativeCronJob is one of batch/v1.
func (o Options) NativeCronJob(cronJob *batchv1.CronJob) *batchv1.CronJob {
	shown := cronJob.DeepCopy()
	shown.APIVersion, shown.Kind = batchv1.SchemeGroupVersion.String(), ostinatov1.CronJobKind.Kind
	shown.ObjectMeta = Meta(shown.ObjectMeta)
	shown.Spec.JobTemplate.ObjectMeta = Meta(shown.Spec.JobTemplate.ObjectMeta)
	shown.Spec.JobTemplate.Spec.Template = o.Template(shown.Spec.JobTemplate.Spec.Template)
	return shown
}

// Job is a Job.
func (o Options) Job(job *batchv1.Job) *batchv1.Job {
	shown := job.DeepCopy()
	shown.APIVersion, shown.Kind = batchv1.SchemeGroupVersion.String(), "Job"
	shown.ObjectMeta = Meta(shown.ObjectMeta)
	shown.Spec.Template = o.Template(shown.Spec.Template)
	return shown
}

// PodStatus is a Pod with its metadata and status: its spec is the template's. What containers have written as their last
// message is left out.
func PodStatus(pod *corev1.Pod) *corev1.Pod {
	shown := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: Meta(pod.ObjectMeta), Status: *pod.Status.DeepCopy()}
	shown.Spec.NodeName = pod.Spec.NodeName
	for _, statuses := range [][]corev1.ContainerStatus{shown.Status.InitContainerStatuses, shown.Status.ContainerStatuses} {
		for n := range statuses {
			for _, terminated := range []*corev1.ContainerStateTerminated{statuses[n].State.Terminated, statuses[n].LastTerminationState.Terminated} {
				if terminated != nil && terminated.Message != "" {
					terminated.Message = Removed
				}
			}
		}
	}
	return shown
}

// Event is an Event.
func Event(event *corev1.Event) *corev1.Event {
	shown := event.DeepCopy()
	shown.APIVersion, shown.Kind = "v1", "Event"
	shown.ObjectMeta, shown.Message = Meta(shown.ObjectMeta), Text(shown.Message)
	return shown
}

// Deployment is one of Ostinato's own. Variables that Ostinato reads keep their values, unless their names say that these are
// secret.
func Deployment(deployment *appsv1.Deployment) *appsv1.Deployment {
	shown := deployment.DeepCopy()
	shown.APIVersion, shown.Kind = appsv1.SchemeGroupVersion.String(), "Deployment"
	shown.ObjectMeta = Meta(shown.ObjectMeta)
	shown.Spec.Template = podTemplate(shown.Spec.Template, func(variable corev1.EnvVar) bool {
		known := slices.ContainsFunc(ofOurs, func(prefix string) bool { return strings.HasPrefix(variable.Name, prefix) })
		return known && !secretName.MatchString(variable.Name) && Text(variable.Value) == variable.Value
	})
	return shown
}
