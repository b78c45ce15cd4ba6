package evidence

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/dev/harness"
)

// hangs is a script that does not end by itself. On SIGTERM the programs of the node end with 143.
const hangs = "sleep 3600"

// deadline ends a Job twelve seconds after its start.
var deadline = harness.ActiveDeadline(12)

// with adds options.
func with(options []harness.JobOption, more ...harness.JobOption) []harness.JobOption {
	return append(options, more...)
}

// script has the container say two lines and then run a script.
func script(text string) []harness.JobOption {
	return silent("echo connecting to db; echo " + said + "; " + text)
}

// silent has the container run a script.
func silent(text string) []harness.JobOption { return command("/bin/sh", "-c", text) }

func command(words ...string) []harness.JobOption {
	return []harness.JobOption{container(func(c *corev1.Container) { c.Command = words })}
}

func container(change func(*corev1.Container)) harness.JobOption {
	return func(spec *batchv1.JobSpec) { change(&spec.Template.Spec.Containers[0]) }
}

func template(change func(*corev1.PodSpec)) harness.JobOption {
	return func(spec *batchv1.JobSpec) { change(&spec.Template.Spec) }
}

func image(name string) harness.JobOption {
	return container(func(c *corev1.Container) { c.Image, c.ImagePullPolicy = name, corev1.PullNever })
}

func grace(seconds int64) harness.JobOption {
	return template(func(pod *corev1.PodSpec) { pod.TerminationGracePeriodSeconds = &seconds })
}

func initContainer(name, text string, sidecar bool) harness.JobOption {
	return template(func(pod *corev1.PodSpec) {
		added := corev1.Container{Name: name, Image: "busybox:1.28", Command: []string{"/bin/sh", "-c", text}}
		if sidecar {
			added.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
		}
		pod.InitContainers = append(pod.InitContainers, added)
	})
}

func secondContainer(text string) harness.JobOption {
	return template(func(pod *corev1.PodSpec) {
		pod.Containers = append(pod.Containers, corev1.Container{Name: "second", Image: "busybox:1.28", Command: []string{"/bin/sh", "-c", text}})
	})
}

// configMap takes a variable of a ConfigMap that is not there, and secretVolume a volume of such a Secret.
func configMap(spec *batchv1.JobSpec) {
	spec.Template.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{
		ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "no-such"}},
	}}
}

func secretVolume(spec *batchv1.JobSpec) {
	mount(spec, "secret", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "no-such"}})
}

// scratch is a volume that may hold a mebibyte.
func scratch(spec *batchv1.JobSpec) {
	mount(spec, "scratch", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: ptr.To(quantity("1Mi"))}})
}

func mount(spec *batchv1.JobSpec, name string, source corev1.VolumeSource) {
	pod := &spec.Template.Spec
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: name, VolumeSource: source})
	pod.Containers[0].VolumeMounts = append(pod.Containers[0].VolumeMounts, corev1.VolumeMount{Name: name, MountPath: "/" + name})
}

// nowhere asks for a node that is not there.
func nowhere(spec *batchv1.JobSpec) {
	spec.Template.Spec.NodeSelector = map[string]string{"disktype": "unobtainium"}
}

func quantity(text string) resource.Quantity { return resource.MustParse(text) }
