package harness

import (
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/dev/devstack/node"
)

// Indexed makes an Indexed Job that runs all its indexes at a time.
func Indexed(completions int32) JobOption {
	return func(spec *batchv1.JobSpec) {
		spec.CompletionMode, spec.Completions, spec.Parallelism = ptr.To(batchv1.IndexedCompletion), &completions, &completions
	}
}

// BackoffLimitPerIndex sets spec.backoffLimitPerIndex.
func BackoffLimitPerIndex(limit int32) JobOption {
	return func(spec *batchv1.JobSpec) { spec.BackoffLimitPerIndex = &limit }
}

// MaxFailedIndexes sets spec.maxFailedIndexes.
func MaxFailedIndexes(limit int32) JobOption {
	return func(spec *batchv1.JobSpec) { spec.MaxFailedIndexes = &limit }
}

// PodFailurePolicy sets the rules of spec.podFailurePolicy.
func PodFailurePolicy(rules ...batchv1.PodFailurePolicyRule) JobOption {
	return func(spec *batchv1.JobSpec) {
		spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: append([]batchv1.PodFailurePolicyRule{}, rules...)}
	}
}

// OnExitCodes is a rule for the exit codes of every container.
func OnExitCodes(action batchv1.PodFailurePolicyAction, operator batchv1.PodFailurePolicyOnExitCodesOperator, codes ...int32) batchv1.PodFailurePolicyRule {
	return batchv1.PodFailurePolicyRule{
		Action:      action,
		OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: operator, Values: codes},
	}
}

// OnExitCodesOf is a rule for the exit codes of one container.
func OnExitCodesOf(container string, action batchv1.PodFailurePolicyAction, operator batchv1.PodFailurePolicyOnExitCodesOperator, codes ...int32) batchv1.PodFailurePolicyRule {
	rule := OnExitCodes(action, operator, codes...)
	rule.OnExitCodes.ContainerName = &container
	return rule
}

// OnPodCondition is a rule for a condition of the Pod.
func OnPodCondition(action batchv1.PodFailurePolicyAction, condition corev1.PodConditionType, status corev1.ConditionStatus) batchv1.PodFailurePolicyRule {
	return batchv1.PodFailurePolicyRule{
		Action:          action,
		OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: condition, Status: status}},
	}
}

// SuccessPolicy sets the rules of spec.successPolicy.
func SuccessPolicy(rules ...batchv1.SuccessPolicyRule) JobOption {
	return func(spec *batchv1.JobSpec) { spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: rules} }
}

// SucceededIndexes is a rule of a success policy for the indexes.
func SucceededIndexes(indexes string) batchv1.SuccessPolicyRule {
	return batchv1.SuccessPolicyRule{SucceededIndexes: &indexes}
}

// SucceededCount is a rule of a success policy for any indexes.
func SucceededCount(count int32) batchv1.SuccessPolicyRule {
	return batchv1.SuccessPolicyRule{SucceededCount: &count}
}

// SucceededCountOf is a rule of a success policy for so many of the indexes.
func SucceededCountOf(indexes string, count int32) batchv1.SuccessPolicyRule {
	return batchv1.SuccessPolicyRule{SucceededIndexes: &indexes, SucceededCount: &count}
}

// PodReplacementPolicy sets spec.podReplacementPolicy.
func PodReplacementPolicy(policy batchv1.PodReplacementPolicy) JobOption {
	return func(spec *batchv1.JobSpec) { spec.PodReplacementPolicy = &policy }
}

// Suspended sets spec.suspend.
func Suspended() JobOption {
	return func(spec *batchv1.JobSpec) { spec.Suspend = ptr.To(true) }
}

// ActiveDeadline sets spec.activeDeadlineSeconds.
func ActiveDeadline(seconds int64) JobOption {
	return func(spec *batchv1.JobSpec) { spec.ActiveDeadlineSeconds = &seconds }
}

// TTLAfterFinished sets spec.ttlSecondsAfterFinished.
func TTLAfterFinished(seconds int32) JobOption {
	return func(spec *batchv1.JobSpec) { spec.TTLSecondsAfterFinished = &seconds }
}

// ManualSelector sets spec.manualSelector and the labels that select and are the Pods'.
func ManualSelector(labels map[string]string) JobOption {
	return func(spec *batchv1.JobSpec) {
		spec.ManualSelector = ptr.To(true)
		spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		spec.Template.Labels = labels
	}
}

// Container adds a container with the name.
func Container(name string) JobOption {
	return func(spec *batchv1.JobSpec) {
		container := spec.Template.Spec.Containers[0].DeepCopy()
		container.Name = name
		spec.Template.Spec.Containers = append(spec.Template.Spec.Containers, *container)
	}
}

// InitContainer adds an init container with the name.
func InitContainer(name string) JobOption {
	return func(spec *batchv1.JobSpec) {
		container := spec.Template.Spec.Containers[0].DeepCopy()
		container.Name = name
		spec.Template.Spec.InitContainers = append(spec.Template.Spec.InitContainers, *container)
	}
}

// PodTemplate changes the Pods' template.
func PodTemplate(change func(*corev1.PodTemplateSpec)) JobOption {
	return func(spec *batchv1.JobSpec) { change(&spec.Template) }
}

// TerminationSeconds makes deleted Pods take so long to end on a simulated node, within the default grace period.
func TerminationSeconds(seconds int) JobOption {
	annotate := podAnnotation(node.AnnotationTerminationSeconds, strconv.Itoa(seconds))
	return func(spec *batchv1.JobSpec) {
		annotate(spec)
		spec.Template.Spec.TerminationGracePeriodSeconds = nil
	}
}

// PendingSeconds makes Pods stay Pending so long on a simulated node.
func PendingSeconds(seconds int) JobOption {
	return podAnnotation(node.AnnotationPendingSeconds, strconv.Itoa(seconds))
}
