package main

// section is a part of a template: some objects, and when the chart has them.
type section struct {
	// files are below deploy.
	files []string
	// base has the section's objects put into the namespace of the system, as the base does; a component's files name theirs.
	base bool
	// without are kinds that other templates have.
	without []string
	// guard is what must be true of the values; none means that nothing need be. define makes the section a template of its own.
	guard, define string
	// replace are pairs of texts, replaced before all others.
	replace []string
}

// anyKind makes Roles of ClusterRoles if a namespace is given.
var anyKind = []string{
	"kind: ClusterRoleBinding\nmetadata:\n", "kind: {{ .kind }}Binding\nmetadata:\n  {{- with .namespace }}\n  namespace: {{ . | quote }}\n  {{- end }}\n",
	"kind: ClusterRole\nmetadata:\n", "kind: {{ .kind }}\nmetadata:\n  {{- with .namespace }}\n  namespace: {{ . | quote }}\n  {{- end }}\n",
	"kind: ClusterRole\n", "kind: {{ .kind }}\n",
}

// templates by the names of their files.
var templates = map[string][]section{
	"crds.yaml": {{
		files: []string{"crd/batch.ostinato.dev_cronjobs.yaml"}, guard: ".Values.crds.install",
		replace: []string{"\nmetadata:\n  annotations:\n", "\nmetadata:\n  annotations:\n    {{- if .Values.crds.keep }}\n    helm.sh/resource-policy: keep\n    {{- end }}\n"},
	}},
	"base.yaml": {{
		base: true,
		files: []string{
			"base/serviceaccounts.yaml", "base/rbac-lease.yaml", "base/rbac-users.yaml", "base/flowschema.yaml", "base/disruption.yaml",
		},
	}},
	"admission.yaml": {{files: []string{"base/admission-policy.yaml", "base/admission-bounds.yaml"}}},
	"_rights.tpl": {
		{files: []string{"rbac/worker.yaml", "rbac/bridge.yaml"}, define: "ostinato.rights", replace: anyKind},
		{files: []string{"rbac/worker-logs.yaml"}, define: "ostinato.rights.logs", replace: anyKind},
		{files: []string{"components/takeover-jobs/rbac/worker.yaml"}, define: "ostinato.rights.takeover-jobs", replace: anyKind},
		{files: []string{"components/takeover-cronjobs/rbac/worker.yaml"}, define: "ostinato.rights.takeover-cronjobs", replace: anyKind},
	},
	"takeover.yaml": {
		{files: []string{"components/takeover-cronjobs/namespace.yaml"}, guard: "or .Values.takeover.jobs .Values.takeover.cronJobs"},
		{files: []string{"components/takeover-jobs/probe.yaml"}, without: []string{"Namespace"}, guard: ".Values.takeover.jobs"},
		{files: []string{"components/takeover-cronjobs/shared/probe.yaml"}, guard: ".Values.takeover.cronJobs"},
	},
	"metrics.yaml": {
		{files: []string{"components/metrics-authentication/rbac.yaml"}, guard: ".Values.metrics.authentication"},
		{files: []string{"components/prometheus-operator/authentication/rbac.yaml"}, guard: "and .Values.metrics.authentication .Values.prometheusOperator.enabled"},
		{files: []string{"components/prometheus-operator/prometheusrule.yaml"}, guard: ".Values.prometheusOperator.enabled"},
	},
	"temporal.yaml": {
		{files: []string{"components/temporal-embedded/network-policy.yaml"}, guard: "not .Values.temporal.address"},
		{files: []string{"components/temporal-access/rbac.yaml", "components/temporal-access/users.yaml"}, guard: `include "ostinato.guarded" .`},
	},
	"codec-server.yaml": {{
		files:   []string{"components/codec-server/codec-server.yaml", "components/codec-server/rbac.yaml", "components/codec-server/network-policy.yaml"},
		without: []string{"StatefulSet"}, guard: ".Values.codecServer.enabled",
	}},
	"who.yaml": {{files: []string{"components/who/admission-policy.yaml"}, guard: ".Values.stampedUsers"}},
}
