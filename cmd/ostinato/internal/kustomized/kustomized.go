// Package kustomized builds a kustomization as `kubectl kustomize` does, and finds what kustomize loses in its CronJobs. kustomize merges
// lists by their keys, and fills in labels and generated names, for kinds whose fields it knows. It knows those of batch/v1.
package kustomized

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
)

// Built is what a kustomization makes.
type Built struct {
	// Manifests are its objects, as YAML.
	Manifests []byte
	// lost has the fields that a CronJob would have if it were of batch/v1, by namespace and name.
	lost map[string][]string
}

// Lost are the fields that kustomize drops from a CronJob, or leaves as the base has them, which it would not do in one of batch/v1.
// Those of the Pod template come first, with their path from its spec.
func (b Built) Lost(namespace, name string) []string { return b.lost[namespace+"/"+name] }

// IsFolder reports whether a path is that of a folder, which Build takes.
func IsFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Build builds the kustomization of a folder. It builds it a second time with its CronJobs as those of batch/v1, to compare. A folder that
// only the second build takes has lost what its patches or replacements name, and the error says so.
func Build(folder string) (Built, error) {
	disk := filesys.MakeFsOnDisk()
	ours, err := build(disk, folder)
	likeNative, nativeErr := build(native{disk}, folder)
	switch {
	case err != nil && nativeErr == nil:
		return Built{}, fmt.Errorf("kustomize can't build %s, but could if its CronJobs were of batch/v1, whose fields it knows: %w", folder, err)
	case err != nil:
		return Built{}, fmt.Errorf("build the kustomization %s: %w", folder, err)
	}
	manifests, err := ours.AsYaml()
	if err != nil {
		return Built{}, fmt.Errorf("write what the kustomization %s makes: %w", folder, err)
	}
	built := Built{Manifests: manifests, lost: map[string][]string{}}
	if nativeErr != nil {
		// It has a native CronJob of the same name, so there is nothing to compare.
		return built, nil
	}
	for _, cronJob := range cronJobsOf(ours, ostinatov1.GroupName) {
		for _, like := range cronJobsOf(likeNative, nativeGroup) {
			if like.GetName() != cronJob.GetName() || like.GetNamespace() != cronJob.GetNamespace() {
				continue
			}
			lost, err := compare(like, cronJob)
			if err != nil {
				return Built{}, fmt.Errorf("read CronJob %s of the kustomization %s: %w", cronJob.GetName(), folder, err)
			}
			built.lost[cronJob.GetNamespace()+"/"+cronJob.GetName()] = lost
		}
	}
	return built, nil
}

func build(files filesys.FileSystem, folder string) (resmap.ResMap, error) {
	return krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, folder)
}

const nativeGroup = "batch"

// asNative writes CronJobs of ours, and what a kustomization says about them, as those of batch/v1.
var asNative = strings.NewReplacer(ostinatov1.GroupVersion.String(), nativeGroup+"/v1", "group: "+ostinatov1.GroupName, "group: "+nativeGroup)

// native is a file system whose manifests have native CronJobs in place of ours.
type native struct{ filesys.FileSystem }

func (n native) ReadFile(path string) ([]byte, error) {
	text, err := n.FileSystem.ReadFile(path)
	return []byte(asNative.Replace(string(text))), err
}

func cronJobsOf(built resmap.ResMap, group string) (found []*resource.Resource) {
	for _, object := range built.Resources() {
		if kind := object.GetGvk(); kind.Kind == ostinatov1.CronJobKind.Kind && kind.Group == group {
			found = append(found, object)
		}
	}
	return found
}

// compare returns the fields of a native CronJob that another lacks, or has with another value.
func compare(native, ours *resource.Resource) ([]string, error) {
	want, err := native.Map()
	if err != nil {
		return nil, err
	}
	got, err := ours.Map()
	if err != nil {
		return nil, err
	}
	const podSpec = "spec.jobTemplate.spec.template.spec."
	var inside, outside []string
	for _, path := range missing("spec", want["spec"], got["spec"]) {
		if within, found := strings.CutPrefix(path, podSpec); found {
			inside = append(inside, within)
		} else {
			outside = append(outside, path)
		}
	}
	return append(inside, outside...), nil
}

// missing are the paths of what a value has and another has not, the outermost of each.
func missing(at string, want, got any) (lost []string) {
	switch want := want.(type) {
	case map[string]any:
		kept, isMap := got.(map[string]any)
		if !isMap {
			return []string{at}
		}
		for _, name := range slices.Sorted(maps.Keys(want)) {
			lost = append(lost, missing(at+"."+name, want[name], kept[name])...)
		}
	case []any:
		kept, isList := got.([]any)
		if !isList {
			return []string{at}
		}
		for n, item := range want {
			key := keyOf(item, n)
			var like any
			for m := range kept {
				if keyOf(kept[m], m) == key {
					like = kept[m]
				}
			}
			lost = append(lost, missing(at+"["+key+"]", item, like)...)
		}
	default:
		if fmt.Sprint(want) != fmt.Sprint(got) {
			return []string{at}
		}
	}
	return lost
}

// keyOf is what tells an item of a list from the others: its merge key, else its place.
func keyOf(item any, place int) string {
	fields, _ := item.(map[string]any)
	for _, key := range []string{"name", "mountPath", "devicePath", "containerPort", "ip", "topologyKey"} {
		if value, has := fields[key]; has {
			return fmt.Sprint(value)
		}
	}
	return fmt.Sprint(place)
}
