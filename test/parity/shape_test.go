package parity

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// shape is what two controllers are compared by: a Job and its Pods without
// what differs between any two Jobs, such as times, UIDs and random names.
type shape struct {
	Step   string      `json:"step"`
	Labels []string    `json:"labels"`
	Status statusShape `json:"status"`
	Pods   []podShape  `json:"pods"`
}

type statusShape struct {
	Active         int32            `json:"active"`
	Succeeded      int32            `json:"succeeded"`
	Failed         int32            `json:"failed"`
	Ready          *int32           `json:"ready"`
	Terminating    *int32           `json:"terminating"`
	Indexes        string           `json:"indexes,omitempty"`
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
	Spec         string                  `json:"spec"`
}

func shapeOf(step string, s subject) shape {
	result := shape{Step: step, Status: statusShapeOf(s.job.Status)}
	for key := range s.job.Labels {
		result.Labels = append(result.Labels, key)
	}
	slices.Sort(result.Labels)
	for i := range s.pods {
		result.Pods = append(result.Pods, podShapeOf(s.job, &s.pods[i]))
	}
	return result
}

func statusShapeOf(status batchv1.JobStatus) statusShape {
	result := statusShape{
		Active: status.Active, Succeeded: status.Succeeded, Failed: status.Failed,
		Ready: status.Ready, Terminating: status.Terminating,
		Indexes:   status.CompletedIndexes,
		Uncounted: "absent",
		StartTime: status.StartTime != nil, CompletionTime: status.CompletionTime != nil,
	}
	if pods := status.UncountedTerminatedPods; pods != nil {
		result.Uncounted = fmt.Sprintf("%d succeeded, %d failed", len(pods.Succeeded), len(pods.Failed))
	}
	if status.FailedIndexes != nil {
		result.Indexes += " failed " + *status.FailedIndexes
	}
	for _, condition := range status.Conditions {
		result.Conditions = append(result.Conditions, conditionShape{
			Type: condition.Type, Status: condition.Status, Reason: condition.Reason, Message: condition.Message,
			Probed: !condition.LastProbeTime.IsZero(), Since: !condition.LastTransitionTime.IsZero(),
		})
	}
	return result
}

// tokenVolume is the random name of the volume that admission adds.
var tokenVolume = regexp.MustCompile(`kube-api-access-[a-z0-9]{5}`)

func podShapeOf(job *batchv1.Job, pod *corev1.Pod) podShape {
	spec, err := yaml.Marshal(pod.Spec)
	if err != nil {
		spec = []byte(err.Error())
	}
	suffix, prefixed := strings.CutPrefix(pod.Name, pod.GenerateName)
	result := podShape{
		GenerateName: pod.GenerateName,
		NameFits:     prefixed && len(suffix) == 5,
		Labels:       map[string]string{},
		Annotations:  pod.Annotations,
		Finalizers:   pod.Finalizers,
		Phase:        pod.Status.Phase,
		Spec:         tokenVolume.ReplaceAllString(string(spec), "kube-api-access"),
	}
	for key, value := range pod.Labels {
		result.Labels[key] = strings.ReplaceAll(value, string(job.UID), "the Job's UID")
	}
	for _, owner := range pod.OwnerReferences {
		if owner.UID == job.UID {
			owner.UID = "the Job's UID"
		}
		result.Owners = append(result.Owners, owner)
	}
	return result
}
