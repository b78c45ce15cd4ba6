package moving

import (
	"cmp"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/internal/names"
)

// Owner is a tool that would write an object again as it has it, so that a move has to go through that tool.
type Owner struct {
	// Tool is Helm, Flux, Argo CD, or the kind of an object that controls this one. Who is its release, application or name.
	Tool, Who string
}

const (
	helm   = "Helm"
	flux   = "Flux"
	argoCD = "Argo CD"
)

// writers are the field managers by which tools write objects.
var writers = map[string]string{
	"helm": helm, "kustomize-controller": flux, "helm-controller": flux,
	"argocd-controller": argoCD, "argocd-application-controller": argoCD,
}

// OwnerOf returns the tool that an object is written by; nil where there is none that is known.
func OwnerOf(meta *metav1.ObjectMeta) *Owner {
	labels, annotations := meta.Labels, meta.Annotations
	switch {
	case labels["kustomize.toolkit.fluxcd.io/name"] != "":
		return &Owner{flux, "Kustomization " + labels["kustomize.toolkit.fluxcd.io/namespace"] + "/" + labels["kustomize.toolkit.fluxcd.io/name"]}
	case labels["helm.toolkit.fluxcd.io/name"] != "":
		return &Owner{flux, "HelmRelease " + labels["helm.toolkit.fluxcd.io/namespace"] + "/" + labels["helm.toolkit.fluxcd.io/name"]}
	case annotations["argocd.argoproj.io/tracking-id"] != "":
		application, _, _ := strings.Cut(annotations["argocd.argoproj.io/tracking-id"], ":")
		return &Owner{argoCD, "application " + application}
	case labels["argocd.argoproj.io/instance"] != "":
		return &Owner{argoCD, "application " + labels["argocd.argoproj.io/instance"]}
	case annotations["meta.helm.sh/release-name"] != "":
		return &Owner{helm, "release " + cmp.Or(annotations["meta.helm.sh/release-namespace"], meta.Namespace) + "/" + annotations["meta.helm.sh/release-name"]}
	case strings.EqualFold(labels["app.kubernetes.io/managed-by"], helm):
		return &Owner{helm, "release " + cmp.Or(labels["app.kubernetes.io/instance"], "of an unknown name")}
	}
	if controller := metav1.GetControllerOf(meta); controller != nil {
		return &Owner{controller.Kind, controller.Name}
	}
	for _, manager := range meta.ManagedFields {
		if tool := writers[manager.Manager]; tool != "" && manager.Subresource == "" {
			return &Owner{tool, "as the field manager " + manager.Manager + " says"}
		}
	}
	return nil
}

// noteOfLastRun prints what schedule.NoteLastRun returns, as an argument of kubectl in a shell.
const noteOfLastRun = "{.status.lastScheduleTime} noted $(date -u +%Y-%m-%dT%H:%M:%SZ)"

// Steps says how an object of an owner moves: through what the owner reads. name is the CronJob's, and namespace its own.
func (o Owner) Steps(namespace, name string, undo bool) string {
	old, made, version := "cronjobs.batch", "cronjobs.batch.ostinato.dev", "batch.ostinato.dev/v1"
	if undo {
		old, made, version = made, old, "batch/v1"
	}
	source := map[string]string{
		helm: "the chart's template or its values (helm upgrade)", flux: "Git (flux reconcile)", argoCD: "Git (argocd app sync)",
	}[o.Tool]
	source = cmp.Or(source, o.Tool+" "+o.Who)
	var text strings.Builder
	fmt.Fprintf(&text, "%s/%s is written by %s, %s, which would write it again. Nothing was changed. Make these changes in %s, one after the other:\n",
		namespace, name, o.Tool, o.Who, source)
	fmt.Fprintf(&text, "  1. Between the start of a run and 5 s before the next, set spec.suspend: true, and wait until it is in the cluster and no run is active:\n")
	fmt.Fprintf(&text, "     kubectl -n %s get %s %s -o jsonpath='{.spec.suspend} {.status.active[*].name}'\n", namespace, old, name)
	if undo {
		fmt.Fprintf(&text, "  2. Before the next time of the schedule, change apiVersion to %s, and spec.suspend to false.\n", version)
	} else {
		fmt.Fprintf(&text, "  2. Have the last run noted, at most an hour before the new object is in the cluster. If there is no last run, leave it out:\n")
		fmt.Fprintf(&text, "     kubectl -n %s get %s %s -o jsonpath=\"%s\"\n", namespace, old, name, noteOfLastRun)
		fmt.Fprintf(&text, "     Change apiVersion to %s and spec.suspend to false, and add the annotation %s with all that this prints.\n",
			version, names.LastScheduleTimeAnnotation)
	}
	fmt.Fprintf(&text, "  3. The tool deletes the old object, with its Jobs. To keep these, take it from the tool before step 2 and delete it after:\n")
	fmt.Fprintf(&text, "     kubectl -n %s delete %s %s --cascade=orphan\n", namespace, old, name)
	fmt.Fprintf(&text, "  4. See that the new one is scheduled: kubectl -n %s get %s %s\n", namespace, made, name)
	return text.String()
}
