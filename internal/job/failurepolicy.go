package job

import (
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// handling is what spec.podFailurePolicy says about a failed Pod.
type handling struct {
	// action is the matching rule's; empty when no rule matches, and the Pod counts.
	action batchv1.PodFailurePolicyAction
	// message says what matched, for a FailJob rule.
	message string
	// exits and conditions hold the one of the Pod's that the rule matches.
	exits      []Exit
	conditions []string
}

// handle returns what the policy says about a failed Pod (parity 2.14).
func handle(policy *batchv1.PodFailurePolicy, namespace string, pod Pod) handling {
	if pod.Phase != corev1.PodFailed {
		return handling{}
	}
	return match(policy, namespace, pod)
}

// match returns what the policy says about a Pod, ended or not: the first rule with a known action that matches wins.
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
				return handling{action: rule.Action, exits: []Exit{*exit}, message: fmt.Sprintf(
					"Container %s for pod %s/%s failed with exit code %v matching %v rule at index %d",
					exit.Container, namespace, pod.Name, exit.Code, rule.Action, i)}
			}
		} else if condition, kind := matchingCondition(rule.OnPodConditions, pod.PodFact.Conditions); kind != "" {
			return handling{action: rule.Action, conditions: []string{condition}, message: fmt.Sprintf(
				"Pod %s/%s has condition %v matching %v rule at index %d", namespace, pod.Name, kind, rule.Action, i)}
		}
	}
	return handling{}
}

// decisive leaves out the exits and conditions that do not decide how the policy, which is immutable, handles the Pod.
func (f PodFact) decisive(policy *batchv1.PodFailurePolicy) PodFact {
	handled := handle(policy, "", Pod{PodFact: f})
	f.Exits, f.Conditions = handled.exits, handled.conditions
	return f
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

// matchingCondition returns the first of the Pod's conditions that equals a pattern, and its type; empty when none does.
func matchingCondition(patterns []batchv1.PodFailurePolicyOnPodConditionsPattern, conditions []string) (condition, kind string) {
	for _, condition := range conditions {
		kind, status, _ := strings.Cut(condition, "=")
		for _, pattern := range patterns {
			if string(pattern.Type) == kind && string(pattern.Status) == status {
				return condition, kind
			}
		}
	}
	return "", ""
}

// judge keeps the message of the first FailJob rule that a Pod matches. Pods are judged when they
// end, whether they count or not, unless the Job has removed them.
func (p *pass) judge(pod Pod) {
	if handled := handle(p.spec.PodFailurePolicy, p.state.Namespace, pod); p.failJob == "" && handled.action == batchv1.PodFailurePolicyActionFailJob {
		p.failJob = handled.message
	}
}
