package admission

import (
	"fmt"
	"strings"
)

// failing makes a Job of a podFailurePolicy's rules; Pods of such a Job never restart.
func failing(rules string, more ...string) string {
	return `{` + strings.Join(append(more, `template: {spec: {restartPolicy: Never}}, podFailurePolicy: {rules: [`+rules+`]}`), ", ") + `}`
}

const anyCode = `{action: Ignore, onExitCodes: {operator: NotIn, values: [0]}}`

var policyRows = []row{
	{name: "failure policy", job: failing(`{action: FailJob, onExitCodes: {containerName: backup, operator: In, values: [1, 42]}}, {action: Count, onPodConditions: [{type: DisruptionTarget}]}`)},
	{name: "failure policy of an init container", job: failing(`{action: FailJob, onExitCodes: {containerName: first, operator: In, values: [1]}}`),
		pod: `initContainers: [{name: first, image: busybox}]`},
	{name: "failure policy of conditions of others", job: failing(`{action: Ignore, onPodConditions: [{type: example.com/Ready, status: "False"}]}`)},
	{name: "failure policy without a rule", job: failing(``)},
	{name: "failure policy that is empty", job: `{template: {spec: {restartPolicy: Never}}, podFailurePolicy: {}}`, want: oursOnly, says: "rules: Required value",
		why: "the published type requires rules, and the server of batch/v1 forgets to look"},
	{name: "failure policy with restarts", job: failing(anyCode), pod: `restartPolicy: OnFailure`, want: refused, says: "must be Never when podFailurePolicy is set"},
	{name: "twenty rules", job: failing(strings.Repeat(anyCode+", ", 19) + anyCode)},
	{name: "twenty-one rules", job: failing(strings.Repeat(anyCode+", ", 20) + anyCode), want: refused, says: "at most 20 items"},
	{name: "rule without an action", job: failing(`{onExitCodes: {operator: In, values: [1]}}`), want: refused, says: "action"},
	{name: "unknown action", job: failing(`{action: Retry, onExitCodes: {operator: In, values: [1]}}`), want: refused, says: `supported values: "Count"`},
	{name: "rule of nothing", job: failing(`{action: Ignore}`), want: refused, says: "exactly one of onExitCodes and onPodConditions"},
	{name: "rule of no condition", job: failing(`{action: Ignore, onPodConditions: []}`), want: refused, says: "exactly one of"},
	{name: "rule of both", job: failing(`{action: Ignore, onExitCodes: {operator: In, values: [1]}, onPodConditions: [{type: DisruptionTarget}]}`), want: refused, says: "exactly one of"},
	{name: "FailIndex", job: failing(`{action: FailIndex, onExitCodes: {operator: In, values: [1]}}`, `completionMode: Indexed`, `completions: 2`, `backoffLimitPerIndex: 1`)},
	{name: "FailIndex without a limit for each", job: failing(`{action: FailIndex, onExitCodes: {operator: In, values: [1]}}`, `completionMode: Indexed`, `completions: 2`),
		want: refused, says: "FailIndex needs backoffLimitPerIndex"},
	{name: "rule of an unknown container", job: failing(`{action: FailJob, onExitCodes: {containerName: main, operator: In, values: [1]}}`), want: refused, says: "containerName must be that of a container"},
	{name: "unknown operator", job: failing(`{action: FailJob, onExitCodes: {operator: Exists, values: [1]}}`), want: refused, says: `supported values: "In", "NotIn"`},
	{name: "no operator", job: failing(`{action: FailJob, onExitCodes: {values: [1]}}`), want: refused, says: "operator"},
	{name: "no exit code", job: failing(`{action: FailJob, onExitCodes: {operator: In, values: []}}`), want: refused, says: "at least 1 items"},
	{name: "exit code 0 with In", job: failing(`{action: FailJob, onExitCodes: {operator: In, values: [0, 1]}}`), want: refused, says: "must not have 0 with operator In"},
	{name: "exit codes out of order", job: failing(`{action: FailJob, onExitCodes: {operator: In, values: [2, 1]}}`), want: refused, says: "ascending order"},
	{name: "exit code twice", job: failing(`{action: FailJob, onExitCodes: {operator: In, values: [1, 1]}}`), want: refused, says: "Duplicate value"},
	{name: "condition of an unknown status", job: failing(`{action: Ignore, onPodConditions: [{type: DisruptionTarget, status: "yes"}]}`), want: refused, says: "supported values"},
	{name: "condition without a type", job: failing(`{action: Ignore, onPodConditions: [{status: "True"}]}`), want: refused, says: "type"},
	{name: "condition with a bad type", job: failing(`{action: Ignore, onPodConditions: [{type: "not a name"}]}`), want: refused, says: "type"},
	{name: "twenty-one conditions", job: failing(`{action: Ignore, onPodConditions: [` + strings.Repeat(`{type: A}, `, 20) + `{type: A}]}`), want: refused, says: "at most 20 items"},

	{name: "replacement of failed Pods", job: `podReplacementPolicy: Failed`},
	{name: "replacement of terminating Pods", job: `podReplacementPolicy: TerminatingOrFailed`},
	{name: "unknown replacement", job: `podReplacementPolicy: Never`, want: refused, says: "supported values"},
	{name: "failure policy with replacement of failed Pods", job: failing(anyCode, `podReplacementPolicy: Failed`)},
	{name: "failure policy with replacement of terminating Pods", job: failing(anyCode, `podReplacementPolicy: TerminatingOrFailed`), want: refused, says: "must be Failed, or left out"},
}

const beyondASchema = "a schema that checked all of a Pod would not be understood by anybody: the API server checks the Job"

var podRows = []row{
	{name: "labels of the Pods", job: `template: {metadata: {labels: {app.kubernetes.io/name: backup, empty: ""}, annotations: {example.com/a: "b c"}}}`},
	{name: "label value with a space", job: `template: {metadata: {labels: {app: "my backup"}}}`, want: refused, says: "labels"},
	{name: "label value of 64 characters", job: `template: {metadata: {labels: {app: ` + x52 + `xxxxxxxxxxxx}}}`, want: refused, says: "labels"},
	{name: "no container", pod: `containers: []`, want: refused, says: "containers"},
	{name: "containers left out", pod: `containers: null`, want: refused, says: "containers"},
	{name: "container name with an underscore", pod: `containers: [{name: my_backup, image: busybox}]`, want: refused, says: "name"},
	{name: "container without a name", pod: `containers: [{image: busybox}]`, want: refused, says: "name"},
	{name: "two containers of one name", pod: `containers: [{name: a, image: b}, {name: a, image: b}]`, want: refused, says: "Duplicate value"},
	{name: "variable twice", pod: `containers: [{name: a, image: b, env: [{name: A, value: "1"}, {name: A, value: "2"}]}]`},
	{name: "number for the value of a variable", pod: `containers: [{name: a, image: b, env: [{name: A, value: 1}]}]`, want: refused, says: "env"},
	{name: "bad quantity", pod: `containers: [{name: a, image: b, resources: {limits: {memory: lots}}}]`, want: refused, says: "memory"},

	{name: "label key with a space", job: `template: {metadata: {labels: {"my app": backup}}}`, want: oursLater, says: "my app",
		why: "a schema can't judge the keys of a map"},
	{name: "container without an image", pod: `containers: [{name: a}]`, want: oursLater, says: "image", why: beyondASchema},
	{name: "mount of no volume", pod: `containers: [{name: a, image: b, volumeMounts: [{name: data, mountPath: /data}]}]`, want: oursLater, says: "volumeMounts", why: beyondASchema},
	{name: "volume of two kinds", pod: `volumes: [{name: data, emptyDir: {}, hostPath: {path: /data}}]`, want: oursLater, says: "may not specify more than 1 volume type", why: beyondASchema},
	{name: "request above its limit", pod: `containers: [{name: a, image: b, resources: {requests: {cpu: "2"}, limits: {cpu: "1"}}}]`, want: oursLater, says: "must be less than or equal to cpu limit", why: beyondASchema},
	{name: "unknown pull policy", pod: `containers: [{name: a, image: b, imagePullPolicy: always}]`, want: oursLater, says: "imagePullPolicy", why: beyondASchema},

	{name: "ephemeral container", pod: `ephemeralContainers: [{name: a, image: b}]`, want: oursLater, says: "ephemeralContainers", why: beyondASchema},
	{name: "more than 1000 init containers", pod: manyContainers(1001), want: oursOnly, says: "at most 1000 items",
		why: "the API server takes rules of bounded cost only"},

	{name: "job-name label of another Job", job: `template: {metadata: {labels: {job-name: other}}}`, want: bothLater, says: "job-name"},
	{name: "controller-uid label of another Job", job: `template: {metadata: {labels: {controller-uid: other}}}`, want: bothLater, says: "controller-uid"},
	{name: "bad label of the Job", spec: `jobTemplate: {metadata: {labels: {app: "my backup"}}}`, want: bothLater, says: "labels"},
}

func manyContainers(count int) string {
	var list strings.Builder
	for number := range count {
		fmt.Fprintf(&list, "{name: c%d, image: b}, ", number)
	}
	return "initContainers: [" + list.String() + "]"
}
