package integration

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"ostinato.dev/ostinato/dev/harness"
)

// Each command does its work with the rights of its row in docs/cookbook.md and no others, and the API server's audit log shows
// nothing else that it asked for.
func TestEachCommandNeedsOnlyTheRightsOfItsRow(t *testing.T) {
	t.Parallel()
	if _, err := stack.Kubernetes.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: auditedNamespace}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	namespace := stack.Namespace(t)
	for _, name := range []string{"hello", "gone"} {
		stack.CreateCronJob(t, harness.NewCronJob(namespace, name, harness.Yearly, harness.JobSpec()))
		awaitWorkflow(t, namespace, name)
	}
	for _, name := range []string{"native", "other"} {
		like := harness.NewCronJob(namespace, name, harness.Yearly, harness.JobSpec())
		if _, err := stack.Kubernetes.BatchV1().CronJobs(namespace).Create(t.Context(), &batchv1.CronJob{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": name}},
			Spec:       batchv1.CronJobSpec{Schedule: like.Spec.Schedule, JobTemplate: batchv1.JobTemplateSpec{Spec: like.Spec.JobTemplate.Spec}},
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	p := newPerson(t, namespace)
	p.prints("run", "gone", "--wait")
	if _, err := stack.Stack.Kubectl(t.Context(), "delete", "jobs", "-n", namespace, "--all", "--cascade=foreground"); err != nil {
		t.Fatal(err)
	}
	job := strings.Fields(p.prints("run", "hello", "--wait", "-o", "name"))[0]
	manifest := filepath.Join(t.TempDir(), "cronjob.yaml")
	if err := os.WriteFile(manifest, []byte(`apiVersion: batch.ostinato.dev/v1
kind: CronJob
metadata: {name: new}
spec:
  schedule: "0 2 * * *"
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: busybox}]}}}}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	export := filepath.Join(t.TempDir(), "export.jsonl")
	installTemporal(t, namespace)
	rights := rightsOfRows(t)
	// Rows follow each other where one needs what another has left.
	for _, command := range []struct {
		row       string
		arguments []string
		code      int
		env       string
	}{
		{row: "status", arguments: []string{"status"}},
		{row: "get", arguments: []string{"get"}},
		{row: "next", arguments: []string{"next", "370d"}},
		{row: "get NAME", arguments: []string{"get", "hello", "-o", "yaml"}},
		{row: "failed", arguments: []string{"failed", "1h"}},
		{row: "why", arguments: []string{"why", "hello"}, code: 1},
		{row: "runs", arguments: []string{"runs", "hello"}},
		{row: "tree", arguments: []string{"tree", "hello"}},
		{row: "logs", arguments: []string{"logs", "hello"}},
		{row: "logs of Pods that are gone", arguments: []string{"logs", "gone"}},
		{row: "logs job/NAME", arguments: []string{"logs", strings.Replace(job, "job.batch/", "job/", 1)}},
		{row: "run", arguments: []string{"run", "hello"}},
		{row: "run where no address is named", arguments: []string{"run", "hello", "--system-namespace", namespace}, env: "TEMPORAL_ADDRESS="},
		{row: "run with overrides", arguments: []string{"run", "hello", "--env", "REGION=us"}},
		{row: "run --wait", arguments: []string{"run", "hello", "--wait"}},
		{row: "run --logs", arguments: []string{"run", "hello", "--logs"}},
		{row: "backfill", arguments: []string{"backfill", "hello", "2026-01-01 00:00", "2026-01-02 00:00", "--dry-run"}},
		{row: "suspend NAME", arguments: []string{"suspend", "hello", "--by", "ada"}},
		{row: "resume NAME", arguments: []string{"resume", "hello", "--by", "ada"}},
		{row: "suspend", arguments: []string{"suspend", "--all", "--by", "ada"}},
		{row: "resume", arguments: []string{"resume", "--all", "--by", "ada"}},
		{row: "check -f", arguments: []string{"check", "-f", manifest}},
		{row: "check", arguments: []string{"check"}, code: 1},
		{row: "move NAME", arguments: []string{"move", "native", "--yes"}},
		{row: "move --undo NAME", arguments: []string{"move", "--undo", "native", "--yes"}},
		{row: "move", arguments: []string{"move", "-l", "team=other", "--yes"}},
		{row: "export", arguments: []string{"export", "-o", export}},
		{row: "import", arguments: []string{"import", export}},
		{row: "report", arguments: []string{"report", "-f", filepath.Join(t.TempDir(), "report.tar.gz"), "--system-namespace", namespace}},
	} {
		t.Run(command.row, func(t *testing.T) {
			granted, known := rights[command.row]
			if !known {
				t.Fatalf("docs/cookbook.md has no row %q", command.row)
			}
			who := strings.ToLower(strings.NewReplacer(" --", "-", " ", "-", "/", "-").Replace(command.row))
			with := *p
			with.env = append(slices.Clone(p.env), "KUBECONFIG="+kubeconfigOf(t, namespace, who, granted), command.env)
			if output, code := with.run(command.arguments...); code != command.code {
				t.Errorf("with the rights of its row: exit code %d, want %d\n%s", code, command.code, output)
			}
			asked := 0
			for _, entry := range auditEntries(t) {
				if entry.User.Username != "system:serviceaccount:"+auditedNamespace+":"+who || entry.ObjectRef.Resource == "" || entry.ObjectRef.APIGroup == authorizationv1.GroupName {
					continue
				}
				asked++
				right := entry.Verb + " " + resourceOf(entry)
				if !slices.Contains(granted, right) || entry.ResponseStatus.Code == 403 {
					t.Errorf("asked for %s of %s: code %d; its row has %v", right, entry.RequestURI, entry.ResponseStatus.Code, granted)
				}
			}
			if asked == 0 {
				t.Error("the audit log has nothing of it")
			}
		})
	}
}

// installTemporal makes what an installation has in the cluster of the way to Temporal: the ConfigMap of the workers, a Service, and a Pod
// behind it. The simulated node leads connections to its ports to the Temporal of the stack.
func installTemporal(t *testing.T, namespace string) {
	t.Helper()
	meta := metav1.ObjectMeta{Name: "temporal-frontend", Labels: map[string]string{"app": "temporal"}}
	core := stack.Kubernetes.CoreV1()
	_, err := core.ConfigMaps(namespace).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "ostinato-temporal"}, Data: map[string]string{"TEMPORAL_ADDRESS": meta.Name + "." + namespace + ":7233"},
	}, metav1.CreateOptions{})
	if err == nil {
		_, err = core.Services(namespace).Create(t.Context(), &corev1.Service{
			ObjectMeta: meta, Spec: corev1.ServiceSpec{Selector: meta.Labels, Ports: []corev1.ServicePort{{Port: 7233}}},
		}, metav1.CreateOptions{})
	}
	if err == nil {
		_, err = core.Pods(namespace).Create(t.Context(), &corev1.Pod{
			ObjectMeta: meta, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "server", Image: "temporal"}}},
		}, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		pod, err := core.Pods(namespace).Get(ctx, meta.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("pod %s/%s is not ready", namespace, meta.Name)
	})
}

// prints runs a command that must succeed.
func (p *person) prints(arguments ...string) string {
	p.t.Helper()
	output, code := p.run(arguments...)
	if code != 0 {
		p.t.Fatalf("ostinato %s: exit code %d\n%s", strings.Join(arguments, " "), code, output)
	}
	return output
}

// resourceOf names the resource of a request as the table does.
func resourceOf(entry auditEntry) string {
	resource := entry.ObjectRef.Resource
	if entry.ObjectRef.Subresource != "" {
		resource += "/" + entry.ObjectRef.Subresource
	}
	if resource == "cronjobs" && entry.ObjectRef.APIGroup == batchv1.GroupName {
		resource += "." + batchv1.GroupName
	}
	return resource
}

// rightsOfRows are the rights in Kubernetes that docs/cookbook.md says each command needs.
func rightsOfRows(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/cookbook.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Which rights it needs\n")
	rows := map[string][]string{}
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 3 || strings.Contains(cells[0], "---") {
			continue
		}
		for name := range strings.SplitSeq(strings.ReplaceAll(cells[0], "`", ""), ",") {
			rows[strings.TrimSpace(name)] = strings.Split(strings.TrimSpace(cells[1]), ", ")
		}
	}
	return rows
}

// groups are the API groups of resources that are not of the core group.
var groups = map[string]string{
	"cronjobs": "batch.ostinato.dev", "cronjobs.batch": batchv1.GroupName, "jobs": batchv1.GroupName, "deployments": appsv1.GroupName,
	"statefulsets": appsv1.GroupName, "storageclasses": storagev1.GroupName, "certificatesigningrequests": certificatesv1.GroupName,
	"validatingadmissionpolicies": admissionv1.GroupName, "validatingadmissionpolicybindings": admissionv1.GroupName,
}

// everywhere are the resources that commands list in all namespaces, or that have none.
var everywhere = []string{"deployments", "statefulsets", "storageclasses", "certificatesigningrequests", "validatingadmissionpolicies", "validatingadmissionpolicybindings"}

// kubeconfigOf makes a service account with rights in a namespace, and returns a kubeconfig of it.
func kubeconfigOf(t *testing.T, namespace, name string, rights []string) string {
	t.Helper()
	meta := metav1.ObjectMeta{Name: name}
	role, wide := &rbacv1.Role{ObjectMeta: meta}, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: auditedNamespace + "-" + name}}
	var reviews []authorizationv1.ResourceAttributes
	for _, right := range rights {
		verb, resource, _ := strings.Cut(right, " ")
		group, in := groups[resource], namespace
		resource = strings.TrimSuffix(resource, "."+batchv1.GroupName)
		rule := rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{group}, Resources: []string{resource}}
		if slices.Contains(everywhere, resource) {
			wide.Rules, in = append(wide.Rules, rule), ""
		} else {
			role.Rules = append(role.Rules, rule)
		}
		resource, subresource, _ := strings.Cut(resource, "/")
		reviews = append(reviews, authorizationv1.ResourceAttributes{Namespace: in, Verb: verb, Group: group, Resource: resource, Subresource: subresource})
	}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: auditedNamespace, Name: name}}
	roles, accounts := stack.Kubernetes.RbacV1(), stack.Kubernetes.CoreV1().ServiceAccounts(auditedNamespace)
	_, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: meta}, metav1.CreateOptions{})
	if err == nil {
		_, err = roles.Roles(namespace).Create(t.Context(), role, metav1.CreateOptions{})
	}
	if err == nil {
		_, err = roles.RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name}, Subjects: subjects,
		}, metav1.CreateOptions{})
	}
	if err == nil {
		_, err = roles.ClusterRoles().Create(t.Context(), wide, metav1.CreateOptions{})
	}
	if err == nil {
		_, err = roles.ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
			ObjectMeta: wide.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: wide.Name}, Subjects: subjects,
		}, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	token, err := accounts.CreateToken(t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.LoadFromFile(stack.Stack.KubeconfigPath())
	if err != nil {
		t.Fatal(err)
	}
	for user := range config.AuthInfos {
		config.AuthInfos[user] = &api.AuthInfo{Token: token.Status.Token}
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	// The authorizer hears of roles by watches.
	for n := range reviews {
		harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
			review, err := stack.Kubernetes.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
				Spec: authorizationv1.SubjectAccessReviewSpec{
					User: "system:serviceaccount:" + auditedNamespace + ":" + name, ResourceAttributes: &reviews[n],
				},
			}, metav1.CreateOptions{})
			if err == nil && !review.Status.Allowed {
				err = fmt.Errorf("%s may not %s yet: %s", name, rights[n], review.Status.Reason)
			}
			return err
		})
	}
	return file
}
