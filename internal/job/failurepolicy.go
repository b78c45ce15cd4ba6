package job

import (
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// handling is what spec.podFailurePolicy says of a failed Pod.
type handling struct {
	// action is the matching rule's; empty when no rule matches, and the Pod counts.
	action batchv1.PodFailurePolicyAction
	// message says what matched, for a FailJob rule.
	message string
}

// handle returns what the policy says of a failed Pod (parity 2.14).
func handle(policy *batchv1.PodFailurePolicy, namespace string, pod Pod) handling {
	if pod.Phase != corev1.PodFailed {
		return handling{}
	}
	return match(policy, namespace, pod)
}

// match returns what the policy says of a Pod, whether or not it has ended: the first rule that
// matches and has a known action wins.
func match(policy *batchv1.PodFailurePolicy, namespace string, pod Pod) handling {
	if policy == nil {
		return handling{}
	}
	for i, rule := range policy.Rules {
		switch rule.Action {
		case batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyActionFailIndex,
			batchv1.PodFailurePolicyActionIgnore, batchv1.PodFailurePolicyActionCount:
		default:
			continue
		}
		if rule.OnExitCodes != nil {
			if exit := matchingExit(*rule.OnExitCodes, pod.Exits); exit != nil {
				return handling{rule.Action, fmt.Sprintf("Container %s for pod %s/%s failed with exit code %v matching %v rule at index %d",
					exit.Container, namespace, pod.Name, exit.Code, rule.Action, i)}
			}
		} else if kind := matchingCondition(rule.OnPodConditions, pod.PodFact.Conditions); kind != "" {
			return handling{rule.Action, fmt.Sprintf("Pod %s/%s has condition %v matching %v rule at index %d",
				namespace, pod.Name, kind, rule.Action, i)}
		}
	}
	return handling{}
}

func matchingExit(requirement batchv1.PodFailurePolicyOnExitCodesRequirement, exits []Exit) *Exit {
	for i, exit := range exits {
		if requirement.ContainerName != nil && *requirement.ContainerName != exit.Container {
			continue
		}
		operator := batchv1.PodFailurePolicyOnExitCodesOpNotIn
		if slices.Contains(requirement.Values, exit.Code) {
			operator = batchv1.PodFailurePolicyOnExitCodesOpIn
		}
		if requirement.Operator == operator {
			return &exits[i]
		}
	}
	return nil
}

// matchingCondition returns the type of the first of the Pod's conditions that equals a pattern; empty when none does.
func matchingCondition(patterns []batchv1.PodFailurePolicyOnPodConditionsPattern, conditions []string) string {
	for _, condition := range conditions {
		kind, status, _ := strings.Cut(condition, "=")
		for _, pattern := range patterns {
			if string(pattern.Type) == kind && string(pattern.Status) == status {
				return kind
			}
		}
	}
	return ""
}

// judge keeps the message of the first FailJob rule that a Pod matches. Pods are judged when they
// end, whether they count or not, unless the Job has removed them.
func (p *pass) judge(pod Pod) {
	if handled := handle(p.spec.PodFailurePolicy, p.state.Namespace, pod); p.failJob == "" && handled.action == batchv1.PodFailurePolicyActionFailJob {
		p.failJob = handled.message
	}
}

// podFailurePolicy decides that a failed Pod matches a FailJob rule.
func (p *pass) podFailurePolicy() *Verdict {
	if p.failJob == "" {
		return nil
	}
	return &Verdict{batchv1.JobFailureTarget, batchv1.JobReasonPodFailurePolicy, p.failJob}
}
