package main

import (
	"context"
	"io"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// parseOptions returns the options that a run would have.
func parseOptions(arguments []string) (o options, err error) {
	cmd := newCommand(func(_ context.Context, given options, _, _ io.Writer) error { o = given; return nil })
	cmd.SetArgs(slices.Concat([]string{}, arguments))
	err = cmd.Execute()
	return o, err
}

func TestDefaultsJudgeOstinatoByAllSpecs(t *testing.T) {
	o, err := parseOptions(nil)
	require.NoError(t, err)
	assert.Equal(t, Ostinato, o.controller)
	assert.False(t, o.isPartial())
	assert.Equal(t, "make conformance", o.command())
	selection := regexp.MustCompile(o.selection())
	for name, want := range map[string]bool{
		"Kubernetes e2e suite [sig-apps] Job should delete a job [Conformance]":                      true,
		"Kubernetes e2e suite [sig-apps] TTLAfterFinished job should be deleted once it finishes":    true,
		"Kubernetes e2e suite [sig-apps] CronJob should delete failed finished jobs":                 true,
		"Kubernetes e2e suite [sig-apps] Deployment should run the lifecycle of a Deployment":        false,
		"Kubernetes e2e suite [sig-cli] Kubectl client Kubectl run job should create a Job from run": false,
	} {
		assert.Equal(t, want, selection.MatchString(name), name)
	}
}

func TestAFocusLeavesTheDocumentationAlone(t *testing.T) {
	o, err := parseOptions([]string{"--controller=builtin", "--focus=should delete a job"})
	require.NoError(t, err)
	assert.True(t, o.isPartial())
	assert.Equal(t, "make conformance CONTROLLER=builtin", o.command())
	assert.Contains(t, suiteArguments(o, "e2e.test", "kubeconfig", "out"), "--focus=should delete a job")
}

func TestTheSuiteIsSelectedByItsFocusAlone(t *testing.T) {
	o, err := parseOptions([]string{"--processes=3", "--timeout=20m"})
	require.NoError(t, err)
	arguments := suiteArguments(o, "/bin/e2e.test", "/state/kubeconfig", "/state/suite")
	assert.Contains(t, arguments, "--procs=3")
	assert.Contains(t, arguments, "--timeout=20m0s")
	for _, argument := range arguments {
		assert.NotRegexp(t, "skip|label-filter|flake|retry", argument, "nothing leaves a spec out or runs it twice")
	}
}

func TestMistakesAreNamed(t *testing.T) {
	for argument, want := range map[string]string{
		"--controller=kcm": `--controller="kcm": use ostinato or builtin`,
		"--focus=(":        "--focus: error parsing regexp",
		"--processes=0":    "--processes must be 1 or more",
		"--timeout=1s":     "--timeout 1m or more",
		"builtin":          `unexpected argument "builtin"`,
	} {
		_, err := parseOptions([]string{argument})
		assert.ErrorContains(t, err, want, argument)
	}
}

func TestOnlyOstinatoTakesControllersOver(t *testing.T) {
	assert.Empty(t, controllerManager(Builtin).Controllers, "as a real cluster has it")
	assert.Equal(t, "*,-cronjob-controller,-job-controller", controllerManager(Ostinato).Controllers)
	assert.Zero(t, controllerManager(Builtin).QPS, "at its own limits")
}

func TestImages(t *testing.T) {
	found, err := chooseImages("registry.example/pause:3.10.2\nregistry.example/e2e-test-images/busybox:1.37.0-2\nregistry.example/e2e-test-images/busybox:1.36.1-1\nregistry.example/e2e-test-images/agnhost:2.66.1\n")
	require.NoError(t, err)
	assert.Equal(t, images{
		busyBox: []string{"registry.example/e2e-test-images/busybox:1.36.1-1", "registry.example/e2e-test-images/busybox:1.37.0-2"},
		pause:   []string{"registry.example/pause:3.10.2"},
	}, found)
	_, err = chooseImages("registry.example/pause:3.10.2\n")
	assert.ErrorContains(t, err, "lists no busybox or no pause image")
}
