package parity

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"ostinato.dev/ostinato/internal/names"
)

// shape is what two controllers are compared by: a Job and its Pods without
// what differs between any two Jobs, such as times, UIDs and random names.
type shape struct {
	Step        string            `json:"step"`
	Labels      []string          `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	Finalizers  []string          `json:"finalizers"`
	// Status is nil when the Job is gone.
	Status *statusShape `json:"status"`
	Pods   []podShape   `json:"pods"`
}

type statusShape struct {
	Active         int32            `json:"active"`
	Succeeded      int32            `json:"succeeded"`
	Failed         int32            `json:"failed"`
	Ready          *int32           `json:"ready"`
	Terminating    *int32           `json:"terminating"`
	Completed      string           `json:"completedIndexes,omitempty"`
	FailedIndexes  *string          `json:"failedIndexes,omitempty"`
	Uncounted      string           `json:"uncountedTerminatedPods"`
	StartTime      bool             `json:"startTime"`
	CompletionTime bool             `json:"completionTime"`
	Conditions     []conditionShape `json:"conditions"`
}

type conditionShape struct {
	Type    batchv1.JobConditionType `json:"type"`
	Status  corev1.ConditionStatus   `json:"status"`
	Reason  string                   `json:"reason"`
	Message string                   `json:"message"`
	Probed  bool                     `json:"lastProbeTime"`
	Since   bool                     `json:"lastTransitionTime"`
}

type podShape struct {
	GenerateName string                  `json:"generateName"`
	NameFits     bool                    `json:"nameIsGenerateNameAndFiveCharacters"`
	Labels       map[string]string       `json:"labels"`
	Annotations  map[string]string       `json:"annotations"`
	Finalizers   []string                `json:"finalizers"`
	Owners       []metav1.OwnerReference `json:"ownerReferences"`
	Phase        corev1.PodPhase         `json:"phase"`
	Deleting     bool                    `json:"deletionTimestamp"`
	Spec         string                  `json:"spec"`
}

func shapeOf(step string, s subject) shape {
	result := shape{Step: step}
	if s.job != nil {
		result.Labels = slices.Sorted(maps.Keys(s.job.Labels))
		result.Annotations, result.Finalizers = shared(s.job.Annotations), s.job.Finalizers
		result.Status = statusShapeOf(s)
	}
	for _, pod := range s.pods {
		result.Pods = append(result.Pods, podShapeOf(s, pod))
	}
	return result
}

// shared returns the annotations without those that Ostinato alone writes (docs/compat.md).
func shared(annotations map[string]string) map[string]string {
	rest := maps.Clone(annotations)
	delete(rest, names.CountedAnnotation)
	delete(rest, names.RemovedAnnotation)
	if len(rest) == 0 {
		return nil
	}
	return rest
}

func statusShapeOf(s subject) *statusShape {
	status := s.job.Status
	result := &statusShape{
		Active: status.Active, Succeeded: status.Succeeded, Failed: status.Failed,
		Ready: status.Ready, Terminating: status.Terminating,
		Completed: status.CompletedIndexes, FailedIndexes: status.FailedIndexes,
		Uncounted: "absent",
		StartTime: status.StartTime != nil, CompletionTime: status.CompletionTime != nil,
	}
	if pods := status.UncountedTerminatedPods; pods != nil {
		result.Uncounted = fmt.Sprintf("%d succeeded, %d failed", len(pods.Succeeded), len(pods.Failed))
	}
	for _, condition := range status.Conditions {
		result.Conditions = append(result.Conditions, conditionShape{
			Type: condition.Type, Status: condition.Status, Reason: condition.Reason, Message: s.general(condition.Message),
			Probed: !condition.LastProbeTime.IsZero(), Since: !condition.LastTransitionTime.IsZero(),
		})
	}
	return result
}

// word is what may be a name in a text, uid what may be a UID.
var (
	word = regexp.MustCompile(`[a-z0-9][a-z0-9.-]*[a-z0-9]`)
	uid  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
)

// unnamed is how upstream calls a Pod that was refused before it had a name, for
// the API server makes the end of its Pods' names; Ostinato's have one before.
const unnamed = `-" is forbidden`

// general returns a text without what differs between any two Jobs: the random
// ends of its Pods' names, its namespace, and UIDs.
func (s subject) general(text string) string {
	begin := s.name[:min(len(s.name), 50)]
	text = word.ReplaceAllStringFunc(text, func(name string) string {
		if !strings.HasPrefix(name, begin) || name == s.name || len(name) < len(begin)+5 {
			return name
		}
		return name[:len(name)-5] + "<pod>"
	})
	text = strings.ReplaceAll(text, unnamed, strings.Replace(unnamed, "-", "-<pod>", 1))
	text = strings.ReplaceAll(text, s.namespace, "<namespace>")
	if s.job != nil {
		text = strings.ReplaceAll(text, string(s.job.UID), "<the Job's UID>")
	}
	return uid.ReplaceAllString(text, "<a UID>")
}

// tokenVolume is the random name of the volume that admission adds.
var tokenVolume = regexp.MustCompile(`kube-api-access-[a-z0-9]{5}`)

func podShapeOf(s subject, pod *corev1.Pod) podShape {
	placed := pod.Spec
	// It is the scheduler's, which takes a moment of its own.
	placed.NodeName = ""
	spec, err := yaml.Marshal(placed)
	if err != nil {
		spec = []byte(err.Error())
	}
	suffix, prefixed := strings.CutPrefix(pod.Name, pod.GenerateName)
	result := podShape{
		GenerateName: pod.GenerateName,
		NameFits:     prefixed && len(suffix) == 5,
		Labels:       map[string]string{},
		Annotations:  shared(pod.Annotations),
		Finalizers:   pod.Finalizers,
		Phase:        pod.Status.Phase,
		Deleting:     pod.DeletionTimestamp != nil,
		Spec:         tokenVolume.ReplaceAllString(string(spec), "kube-api-access"),
	}
	for key, value := range pod.Labels {
		result.Labels[key] = s.general(value)
	}
	for _, owner := range pod.OwnerReferences {
		owner.UID = types.UID(s.general(string(owner.UID)))
		result.Owners = append(result.Owners, owner)
	}
	return result
}
