package deploy

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"ostinato.dev/ostinato/dev/devstack/manifests"
)

// The manifests apply without an error or a warning, also with fields that are
// not known refused.
func TestManifestsApply(t *testing.T) {
	if strings.Contains(installOutput, "Warning:") {
		t.Errorf("applying the overlay warns:\n%s", installOutput)
	}
	every := []string{manifests.TakeOverAll, manifests.WithoutPodLogs, manifests.NetworkPolicy, manifests.MetricsAuthentication}
	for name, installation := range map[string]manifests.Installation{
		"base":                   {Folder: manifests.Base},
		"example":                {Folder: manifests.Example},
		"take-over":              {Folder: manifests.Base, Components: []string{manifests.TakeOverJobs}},
		"take-over of CronJobs":  {Folder: manifests.Base, Components: []string{manifests.TakeOverCronJobs}},
		"without logs":           {Folder: manifests.Example, Components: []string{manifests.WithoutPodLogs}},
		"every component":        {Folder: manifests.Example, Components: every},
		"namespaced, everything": {Folder: manifests.Example, Namespaces: []string{"default", "kube-public"}, Components: every},
	} {
		t.Run(name, func(t *testing.T) {
			rendered := render(t, installation)
			output, err := manifests.Apply(t.Context(), stack.Stack, []byte(rendered), "--dry-run=server")
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(output, "Warning:") {
				t.Errorf("kubectl warns:\n%s", output)
			}
		})
	}
}

func render(t *testing.T, installation manifests.Installation) string {
	t.Helper()
	rendered, err := manifests.Render(t.Context(), installation)
	if err != nil {
		t.Fatal(err)
	}
	return string(rendered)
}

// Without the right to read logs nothing asks for them either, in a namespaced
// installation neither.
func TestLogsCanBeLeftOut(t *testing.T) {
	for name, namespaces := range map[string][]string{"everywhere": nil, "namespaced": {"shop"}} {
		t.Run(name, func(t *testing.T) {
			text := render(t, manifests.Installation{Folder: manifests.Base, Namespaces: namespaces, Components: []string{manifests.WithoutPodLogs}})
			if strings.Contains(text, "pods/log") || strings.Contains(text, "ostinato-worker-logs") ||
				!strings.Contains(text, "name: OSTINATO_EVIDENCE_LOG_LINES\n          value: \"0\"") {
				t.Errorf("the right is not left out, or logs are not switched off:\n%s", text)
			}
		})
	}
}

// grant is who gets rules where; everywhere has no namespace.
type grant struct{ account, namespace, role string }

// grants lists what an installation gives to whom, and the rules of its roles by
// namespace and name.
func grants(t *testing.T, rendered string) (all []grant, rules map[grant][]rbacv1.PolicyRule) {
	t.Helper()
	rules = map[grant][]rbacv1.PolicyRule{}
	for document := range strings.SplitSeq(rendered, "\n---\n") {
		var object struct {
			Kind     string `json:"kind"`
			Metadata struct {
				Name      string `json:"name"`
				Namespace string `json:"namespace"`
			} `json:"metadata"`
			Rules    []rbacv1.PolicyRule `json:"rules"`
			Subjects []rbacv1.Subject    `json:"subjects"`
			RoleRef  rbacv1.RoleRef      `json:"roleRef"`
		}
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatal(err)
		}
		switch object.Kind {
		case "Role", "ClusterRole":
			rules[grant{namespace: object.Metadata.Namespace, role: object.Metadata.Name}] = object.Rules
		case "RoleBinding", "ClusterRoleBinding":
			if want := strings.TrimSuffix(object.Kind, "Binding"); object.RoleRef.Kind != want {
				t.Errorf("%s %s refers to a %s", object.Kind, object.Metadata.Name, object.RoleRef.Kind)
			}
			for _, subject := range object.Subjects {
				if subject.Kind != "ServiceAccount" || subject.Namespace != manifests.SystemNamespace {
					t.Errorf("%s %s is for %+v", object.Kind, object.Metadata.Name, subject)
				}
				all = append(all, grant{subject.Name, object.Metadata.Namespace, object.RoleRef.Name})
			}
		}
	}
	slices.SortFunc(all, func(a, b grant) int {
		return strings.Compare(a.account+" "+a.namespace+" "+a.role, b.account+" "+b.namespace+" "+b.role)
	})
	return all, rules
}

// In a namespaced installation nobody has a right in a namespace that is not named,
// but its own and the probe's; in those named, the same as everywhere else.
func TestANamespacedInstallationGivesRightsInItsNamespacesOnly(t *testing.T) {
	system, probe := manifests.SystemNamespace, manifests.ProbeNamespace
	_, everywhere := grants(t, render(t, manifests.Installation{Folder: manifests.Base, Components: []string{manifests.TakeOverAll}}))
	for name, test := range map[string]struct {
		installation manifests.Installation
		want         []grant
	}{
		"the example": {
			installation: manifests.Installation{Folder: manifests.ExampleNamespaced},
			want: []grant{
				{"ostinato-bridge", "billing", "ostinato-bridge"}, {"ostinato-bridge", system, "ostinato-bridge-lease"}, {"ostinato-bridge", "shop", "ostinato-bridge"},
				{"ostinato-worker", "billing", "ostinato-worker"}, {"ostinato-worker", "billing", "ostinato-worker-logs"},
				{"ostinato-worker", "shop", "ostinato-worker"}, {"ostinato-worker", "shop", "ostinato-worker-logs"},
			},
		},
		"with take-over, without logs": {
			installation: manifests.Installation{
				Folder: manifests.Base, Namespaces: []string{"shop"}, Components: []string{manifests.TakeOverJobs, manifests.WithoutPodLogs},
			},
			want: []grant{
				{"ostinato-bridge", probe, "ostinato-bridge-probe"}, {"ostinato-bridge", system, "ostinato-bridge-lease"},
				{"ostinato-bridge", "shop", "ostinato-bridge"},
				{"ostinato-worker", "shop", "ostinato-worker"}, {"ostinato-worker", "shop", "ostinato-worker-takeover"},
			},
		},
		"with take-over of both": {
			installation: manifests.Installation{Folder: manifests.Base, Namespaces: []string{"shop"}, Components: []string{manifests.TakeOverAll, manifests.WithoutPodLogs}},
			want: []grant{
				{"ostinato-bridge", probe, "ostinato-bridge-probe"}, {"ostinato-bridge", probe, "ostinato-bridge-probe-cronjobs"},
				{"ostinato-bridge", system, "ostinato-bridge-lease"}, {"ostinato-bridge", "shop", "ostinato-bridge"},
				{"ostinato-worker", "shop", "ostinato-worker"}, {"ostinato-worker", "shop", "ostinato-worker-takeover"},
				{"ostinato-worker", "shop", "ostinato-worker-takeover-cronjobs"},
			},
		},
		"with authenticated metrics, which are no namespace's": {
			installation: manifests.Installation{Folder: manifests.Base, Namespaces: []string{"shop"}, Components: []string{manifests.MetricsAuthentication}},
			want: []grant{
				{"ostinato-bridge", "", "ostinato-metrics-authentication"}, {"ostinato-bridge", system, "ostinato-bridge-lease"}, {"ostinato-bridge", "shop", "ostinato-bridge"},
				{"ostinato-worker", "", "ostinato-metrics-authentication"}, {"ostinato-worker", "shop", "ostinato-worker"}, {"ostinato-worker", "shop", "ostinato-worker-logs"},
			},
		},
		"one that serves its own namespace": {
			installation: manifests.Installation{Folder: manifests.Base, Namespaces: []string{system}},
			want: []grant{
				{"ostinato-bridge", system, "ostinato-bridge"}, {"ostinato-bridge", system, "ostinato-bridge-lease"},
				{"ostinato-worker", system, "ostinato-worker"}, {"ostinato-worker", system, "ostinato-worker-logs"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, rules := grants(t, render(t, test.installation))
			if !slices.Equal(got, test.want) {
				t.Errorf("gives\n%v, want\n%v", got, test.want)
			}
			for of, has := range rules {
				want, known := everywhere[grant{role: of.role}]
				if known && !equalRules(has, want) {
					t.Errorf("%s in %q has the rules %v, everywhere %v", of.role, of.namespace, has, want)
				}
			}
		})
	}
}

func equalRules(a, b []rbacv1.PolicyRule) bool {
	return slices.EqualFunc(a, b, func(a, b rbacv1.PolicyRule) bool { return a.String() == b.String() })
}

// Worker and bridge learn the namespaces from one list, whose change restarts them.
func TestANamespacedInstallationNamesItsNamespacesOnce(t *testing.T) {
	text := render(t, manifests.Installation{Folder: manifests.ExampleNamespaced})
	for want, times := range map[string]int{
		"  namespaces: billing,shop\n": 1,
		"        - name: OSTINATO_NAMESPACES\n          valueFrom:\n            configMapKeyRef:\n": 2,
		"name: ostinato-namespaces-": 3,
	} {
		if got := strings.Count(text, want); got != times {
			t.Errorf("%d times %q, want %d", got, want, times)
		}
	}
}
