package deploy_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"ostinato.dev/ostinato/internal/config"
)

// What components are in.
const (
	encryption  = "components/payload-encryption"
	codecServer = "components/codec-server"
)

// keysOf asserts that a container reads its keys where its Pod mounts the Secret, so
// that nobody else in the Pod's network or on its disk can.
func keysOf(t *testing.T, pod corev1.PodSpec) {
	t.Helper()
	require.Len(t, pod.Volumes, 1)
	secret := pod.Volumes[0].Secret
	require.NotNil(t, secret)
	assert.Equal(t, "ostinato-payload-keys", secret.SecretName)
	assert.Equal(t, int32(0o440), *secret.DefaultMode)
	assert.NotNil(t, pod.SecurityContext.FSGroup, "a key is the group's to read")
	container := pod.Containers[0]
	require.Len(t, container.VolumeMounts, 1)
	mount := container.VolumeMounts[0]
	assert.Equal(t, pod.Volumes[0].Name, mount.Name)
	assert.True(t, mount.ReadOnly)
	assert.Contains(t, container.Env, corev1.EnvVar{Name: "OSTINATO_PAYLOAD_KEYS", Value: mount.MountPath})
}

// settings runs a command with a container's variables, and those of ConfigMaps as
// an operator would set them, and returns whether it ran.
func settings(t *testing.T, container corev1.Container, operator map[string]string, command func(config.LookupEnv, func()) *cobra.Command) bool {
	t.Helper()
	values := map[string]string{}
	for _, variable := range container.Env {
		values[variable.Name] = variable.Value
		if from := variable.ValueFrom; from != nil && from.ConfigMapKeyRef != nil {
			assert.Equal(t, "ostinato-temporal", from.ConfigMapKeyRef.Name)
			assert.True(t, *from.ConfigMapKeyRef.Optional)
			values[variable.Name] = operator[from.ConfigMapKeyRef.Key]
		}
	}
	ran := false
	cmd := command(func(name string) (string, bool) { value, ok := values[name]; return value, ok }, func() { ran = true })
	var output bytes.Buffer
	cmd.SetArgs(append([]string{}, container.Args...))
	cmd.SetOut(&output)
	require.NoError(t, cmd.Execute(), output.String())
	return ran
}

func TestWorkerAndBridgeHaveTheKeys(t *testing.T) {
	deployments := objectsOf[appsv1.Deployment](t, encryption, "Deployment")
	require.Len(t, deployments, 2)
	for _, deployment := range deployments {
		keysOf(t, deployment.Spec.Template.Spec)
		container := deployment.Spec.Template.Spec.Containers[0]
		assert.True(t, settings(t, container, nil, func(lookup config.LookupEnv, ran func()) *cobra.Command {
			if container.Name == "worker" {
				return config.WorkerCommand(lookup, func(_ context.Context, worker config.Worker) error {
					assert.NotEmpty(t, worker.PayloadKeys)
					ran()
					return nil
				})
			}
			return config.BridgeCommand(lookup, func(_ context.Context, bridge config.Bridge) error {
				assert.NotEmpty(t, bridge.PayloadKeys)
				ran()
				return nil
			})
		}))
	}
}

// The codec server can read keys and nothing else, and nobody reaches it but by
// forwarding the port of the Pod that the Role names.
func TestTheCodecServerIsReachedByPortForwardAlone(t *testing.T) {
	sets := objectsOf[appsv1.StatefulSet](t, codecServer, "StatefulSet")
	require.Len(t, sets, 1)
	set := sets[0]
	pod := set.Spec.Template.Spec
	keysOf(t, pod)
	assert.False(t, *pod.AutomountServiceAccountToken)
	account := objectsOf[corev1.ServiceAccount](t, codecServer, "ServiceAccount")[0]
	assert.Equal(t, account.Name, pod.ServiceAccountName)
	assert.True(t, *pod.SecurityContext.RunAsNonRoot)
	assert.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, pod.SecurityContext.SeccompProfile.Type)
	container := pod.Containers[0]
	assert.False(t, *container.SecurityContext.AllowPrivilegeEscalation)
	assert.True(t, *container.SecurityContext.ReadOnlyRootFilesystem)
	assert.Equal(t, []corev1.Capability{"ALL"}, container.SecurityContext.Capabilities.Drop)

	operator := map[string]string{"OSTINATO_PAYLOAD_ENCRYPTION_KEY": "2026", "OSTINATO_UI_ORIGINS": "https://temporal.example"}
	assert.True(t, settings(t, container, operator, func(lookup config.LookupEnv, ran func()) *cobra.Command {
		return config.CodecServerCommand(lookup, func(_ context.Context, server config.CodecServer) error {
			assert.Equal(t, "127.0.0.1:8083", server.Address)
			assert.Equal(t, "2026", server.PayloadEncryptionKey)
			assert.Equal(t, []string{"https://temporal.example"}, server.UIOrigins)
			ran()
			return nil
		})
	}))

	assert.Empty(t, documents(t, codecServer, "Service"))
	assert.Empty(t, documents(t, codecServer, "RoleBinding"), "who may read is the operator's to say")
	roles := objectsOf[rbacv1.Role](t, codecServer, "Role")
	require.Len(t, roles, 1)
	for _, rule := range roles[0].Rules {
		assert.Equal(t, []string{set.Name + "-0"}, rule.ResourceNames)
	}
	policy := objectsOf[networkingv1.NetworkPolicy](t, codecServer, "NetworkPolicy")[0]
	assert.Equal(t, set.Spec.Selector.MatchLabels, policy.Spec.PodSelector.MatchLabels)
	assert.Empty(t, policy.Spec.Egress)
	require.Len(t, policy.Spec.Ingress, 1)
	require.Len(t, policy.Spec.Ingress[0].Ports, 1)
	assert.Equal(t, "health", policy.Spec.Ingress[0].Ports[0].Port.String())
	for _, object := range []string{set.Namespace, account.Namespace, roles[0].Namespace, policy.Namespace} {
		assert.Equal(t, "ostinato-system", object)
	}
}

// A Namespace's annotation is all that is read of it.
func TestTheWorkerReadsNamespacesByName(t *testing.T) {
	for _, role := range objects[rbacv1.ClusterRole](t, "ClusterRole") {
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				if resource == "namespaces" {
					assert.Equal(t, "ostinato-worker", role.Name)
					assert.Equal(t, []string{"get"}, rule.Verbs)
				}
			}
		}
	}
}
