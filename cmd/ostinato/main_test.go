package main

import (
	"bytes"
	"context"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"

	"ostinato.dev/ostinato/internal/command"
)

func TestHelpListsTheCommands(t *testing.T) {
	var stdout, stderr bytes.Buffer
	assert.Zero(t, command.Execute(context.Background(), newCommand(), []string{"--help"}, &stdout, &stderr))
	assert.Contains(t, stdout.String(), "  version ")
	assert.Empty(t, stderr.String())
}

func TestVersion(t *testing.T) {
	for want, info := range map[string]*debug.BuildInfo{
		"unknown": nil,
		"v1.2.3":  {Main: debug.Module{Version: "v1.2.3"}},
	} {
		assert.Equal(t, want, version(info))
	}
}
