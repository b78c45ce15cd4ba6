package commands

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ostinato.dev/ostinato/internal/names"
)

func TestASuspensionSaysWhoAndWhy(t *testing.T) {
	w := newWorld(t)
	_, _, code := w.run(t, "suspend", "report", "--by", "ada", "--reason", "an upgrade")
	assert.Zero(t, code)
	require.Len(t, w.api.patches, 1)
	assert.JSONEq(t, `{
		"metadata": {"uid": "uid-report", "resourceVersion": "7", "annotations": {
			"`+names.SuspendedByAnnotation+`": "ada", "`+names.SuspendNoteAnnotation+`": "an upgrade"}},
		"spec": {"suspend": true}}`, w.api.patches[0])
}

func TestARunWithoutOverridesIsTheUpdateTrigger(t *testing.T) {
	w := newWorld(t)
	_, _, code := w.run(t, "run", "report", "--by", "ada", "--note", "once more", "--overlap-policy", "queue")
	assert.Zero(t, code)
	require.Len(t, w.temporal.requests, 1)
	assert.JSONEq(t, `{"note": "once more", "by": "ada", "overlap": "Queue"}`, w.temporal.requests[0])
	assert.Empty(t, w.api.sent)
}

func TestARunWithOverridesIsAJobOfThePerson(t *testing.T) {
	w := newWorld(t)
	_, _, code := w.run(t, "run", "report", "--by", "ada", "--image", "report:2", "--env", "TOKEN=secret", "--", "--day", "1")
	assert.Zero(t, code)
	require.Len(t, w.api.sent, 1)
	sent := w.api.sent[0]
	assert.Equal(t, "report:2", sent.Spec.Template.Spec.Containers[0].Image)
	assert.Equal(t, []string{"--day", "1"}, sent.Spec.Template.Spec.Containers[0].Args)
	assert.Equal(t, map[string]string{
		names.AskedByAnnotation: "ada", names.ChangedAnnotation: "image report:2; args --day 1; env TOKEN",
	}, map[string]string{names.AskedByAnnotation: sent.Annotations[names.AskedByAnnotation], names.ChangedAnnotation: sent.Annotations[names.ChangedAnnotation]})
	assert.Empty(t, w.temporal.requests)
}

func TestADryRunCreatesNothing(t *testing.T) {
	w := newWorld(t)
	before := len(w.api.jobs)
	_, _, code := w.run(t, "run", "report", "--dry-run")
	assert.Zero(t, code)
	assert.Len(t, w.api.sent, 1, "the API server is asked")
	assert.Len(t, w.api.jobs, before)
}
