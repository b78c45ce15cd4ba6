package main

import "slices"

// What batch/v1 checks in the template of a CronJob (parity 1.1) and a schema can say.
// The types of the template are upstream's, so that api/v1 can't annotate them. The
// rules are at the deepest node that they need: an edit that leaves a node of an old
// object as it was is not held up by it.

const (
	jobSpec     = "spec.jobTemplate.spec"
	podTemplate = jobSpec + ".template"
	podSpec     = podTemplate + ".spec"
)

// maxContainers bounds what the API server must expect a rule to cost.
const maxContainers = 1000

const (
	dnsLabel      = `^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	labelValue    = `^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$`
	qualifiedName = `^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$`
	domainPath    = `^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$`
	indexes       = `^([+]?[0-9]{1,9}(-[+]?[0-9]{1,9})?(,[+]?[0-9]{1,9}(-[+]?[0-9]{1,9})?)*)?$`
)

// Reasons of refusals; "Invalid value" where there is none.
const (
	required  = "FieldValueRequired"
	forbidden = "FieldValueForbidden"
)

// In the rules of a JobSpec.
const (
	isIndexed = `has(self.completionMode) && self.completionMode == 'Indexed'`
	// isHuge is set for a Job for which upstream's lower limits hold.
	isHuge = isIndexed + ` && has(self.completions) && self.completions > 100000 && has(self.backoffLimitPerIndex)`
)

// amendments returns what is added to the schema of a CronJob.
func amendments() []amendment {
	atLeastZero := map[string]any{"minimum": 0}
	list := []amendment{
		{at: "spec.schedule", rules: scheduleRules()},
		{at: "spec.jobTemplate", schema: map[string]any{"required": []any{"spec"}}},
		{at: jobSpec, rules: jobRules()},
		{at: podTemplate, schema: map[string]any{"required": []any{"spec"}}},
		{at: podTemplate + ".metadata.labels.*", schema: map[string]any{"maxLength": 63, "pattern": labelValue}},
		{at: podSpec, rules: []rule{{
			Rule:   `has(self.restartPolicy)`,
			Reason: required, FieldPath: ".restartPolicy",
			Message: "must be OnFailure or Never (Always, the default of Pods, is not for Jobs)",
		}}},
		{at: podSpec + ".restartPolicy", rules: []rule{{
			Rule:    `self in ['OnFailure', 'Never']`,
			Message: "must be OnFailure or Never in a Job",
		}}},
		{at: podSpec + ".containers", schema: map[string]any{"minItems": 1, "maxItems": maxContainers}},
		{at: podSpec + ".initContainers", schema: map[string]any{"maxItems": maxContainers}},
		{at: jobSpec + ".completionMode", schema: enum("NonIndexed", "Indexed")},
		{at: jobSpec + ".podReplacementPolicy", schema: enum("TerminatingOrFailed", "Failed")},
		{at: jobSpec + ".managedBy", schema: map[string]any{"maxLength": 63, "pattern": domainPath}},
	}
	for _, field := range []string{"activeDeadlineSeconds", "backoffLimit", "backoffLimitPerIndex", "completions", "maxFailedIndexes", "parallelism", "ttlSecondsAfterFinished"} {
		list = append(list, amendment{at: jobSpec + "." + field, schema: atLeastZero})
	}
	for _, containers := range []string{"containers", "initContainers"} {
		list = append(list, amendment{at: podSpec + "." + containers + "[].name", schema: map[string]any{"maxLength": 63, "pattern": dnsLabel}})
	}
	return slices.Concat(list, failurePolicy(), successPolicy(), status())
}

func jobRules() []rule {
	return []rule{
		{Rule: `!has(self.selector)`, Reason: forbidden, FieldPath: ".selector", Message: "remove it: the selector of each run is generated"},
		{Rule: `!has(self.manualSelector) || !self.manualSelector`, Reason: forbidden, FieldPath: ".manualSelector",
			Message: "remove it: the selector of each run is generated"},

		{Rule: `!(` + isIndexed + `) || has(self.completions)`, Reason: required, FieldPath: ".completions",
			Message: "set how many indexes there are: completionMode is Indexed"},
		{Rule: `!(` + isIndexed + `) || !has(self.parallelism) || self.parallelism <= 100000`, FieldPath: ".parallelism",
			Message: "must be at most 100000 when completionMode is Indexed"},
		{Rule: `!has(self.backoffLimitPerIndex) || ` + isIndexed, FieldPath: ".backoffLimitPerIndex", Message: "needs completionMode: Indexed"},
		{Rule: `!has(self.maxFailedIndexes) || ` + isIndexed, FieldPath: ".maxFailedIndexes", Message: "needs completionMode: Indexed"},
		{Rule: `!has(self.maxFailedIndexes) || has(self.backoffLimitPerIndex)`, Reason: required, FieldPath: ".backoffLimitPerIndex",
			Message: "set it: maxFailedIndexes is set"},
		{Rule: `!has(self.maxFailedIndexes) || self.maxFailedIndexes <= 100000 && (!has(self.completions) || self.maxFailedIndexes <= self.completions)`,
			FieldPath: ".maxFailedIndexes", Message: "must be at most completions, and at most 100000"},
		{Rule: `!(` + isHuge + `) || has(self.maxFailedIndexes) && self.maxFailedIndexes <= 10000`, FieldPath: ".maxFailedIndexes",
			Message: "set it to at most 10000: backoffLimitPerIndex is set for more than 100000 completions"},
		{Rule: `!(` + isHuge + `) || !has(self.parallelism) || self.parallelism <= 10000`, FieldPath: ".parallelism",
			Message: "must be at most 10000: backoffLimitPerIndex is set for more than 100000 completions"},

		{Rule: `!has(self.podFailurePolicy) || !has(self.template.spec) || !has(self.template.spec.restartPolicy) || self.template.spec.restartPolicy != 'OnFailure'`,
			FieldPath: ".template.spec.restartPolicy", Message: "must be Never when podFailurePolicy is set"},
		{Rule: `!has(self.podFailurePolicy) || !has(self.podReplacementPolicy) || self.podReplacementPolicy == 'Failed'`,
			FieldPath: ".podReplacementPolicy", Message: "must be Failed, or left out, when podFailurePolicy is set"},
		{Rule: `!has(self.podFailurePolicy) || has(self.backoffLimitPerIndex) || self.podFailurePolicy.rules.all(r, r.action != 'FailIndex')`,
			FieldPath: ".podFailurePolicy.rules", Message: "action FailIndex needs backoffLimitPerIndex"},
		{Rule: `!has(self.podFailurePolicy) || !has(self.template.spec) || self.podFailurePolicy.rules.all(r, ` +
			`!has(r.onExitCodes) || !has(r.onExitCodes.containerName) || ` +
			`self.template.spec.containers.exists(c, c.name == r.onExitCodes.containerName) || ` +
			`has(self.template.spec.initContainers) && self.template.spec.initContainers.exists(c, c.name == r.onExitCodes.containerName))`,
			FieldPath: ".podFailurePolicy.rules", Message: "containerName must be that of a container or init container of the template"},

		{Rule: `!has(self.successPolicy) || ` + isIndexed, FieldPath: ".successPolicy", Message: "needs completionMode: Indexed"},
		{Rule: `!has(self.successPolicy) || !has(self.completions) || self.successPolicy.rules.all(r, !has(r.succeededCount) || r.succeededCount <= self.completions)`,
			FieldPath: ".successPolicy.rules", Message: "succeededCount must be at most completions"},
		{Rule: `!has(self.successPolicy) || !has(self.completions) || self.successPolicy.rules.all(r, !has(r.succeededIndexes) || ` +
			`r.succeededIndexes.find('[0-9]{1,9}$') == '' || int(r.succeededIndexes.find('[0-9]{1,9}$')) < self.completions)`,
			FieldPath: ".successPolicy.rules", Message: "succeededIndexes must be below completions: indexes begin with 0"},
	}
}

func failurePolicy() []amendment {
	const rules = jobSpec + ".podFailurePolicy.rules"
	const exitCodes, conditions = rules + "[].onExitCodes", rules + "[].onPodConditions"
	return []amendment{
		{at: rules, schema: map[string]any{"maxItems": 20}},
		{at: rules + "[]", rules: []rule{{
			Rule:    `has(self.onExitCodes) != (has(self.onPodConditions) && self.onPodConditions.size() > 0)`,
			Message: "must have exactly one of onExitCodes and onPodConditions",
		}}},
		{at: rules + "[].action", schema: enum("Count", "FailIndex", "FailJob", "Ignore")},
		{at: exitCodes, rules: []rule{
			{Rule: `self.operator != 'In' || !(0 in self.values)`, FieldPath: ".values", Message: "must not have 0 with operator In: a container that ends with 0 has not failed"},
			{Rule: `self.values.isSorted()`, FieldPath: ".values", Message: "must be in ascending order"},
		}},
		{at: exitCodes + ".containerName", schema: map[string]any{"maxLength": 63}},
		{at: exitCodes + ".operator", schema: enum("In", "NotIn")},
		{at: exitCodes + ".values", schema: map[string]any{"minItems": 1, "maxItems": 255}},
		{at: conditions, schema: map[string]any{"maxItems": 20}},
		{at: conditions + "[].status", schema: enum("True", "False", "Unknown")},
		{at: conditions + "[].type", schema: map[string]any{"maxLength": 317, "pattern": qualifiedName}},
	}
}

func successPolicy() []amendment {
	const rules = jobSpec + ".successPolicy.rules"
	return []amendment{
		{at: rules, schema: map[string]any{"minItems": 1, "maxItems": 20}},
		{at: rules + "[]", rules: []rule{{
			Rule:    `has(self.succeededCount) || has(self.succeededIndexes)`,
			Message: "must have succeededCount or succeededIndexes",
		}}},
		{at: rules + "[].succeededCount", schema: map[string]any{"minimum": 0}},
		{at: rules + "[].succeededIndexes", schema: map[string]any{"maxLength": 64 * 1024, "pattern": indexes}},
	}
}

func enum(values ...any) map[string]any { return map[string]any{"enum": values} }
