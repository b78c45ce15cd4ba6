package main

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"ostinato.dev/ostinato/cmd/ostinato/internal/commands"
	"ostinato.dev/ostinato/internal/command"
)

func TestHelpListsTheCommands(t *testing.T) {
	var stdout, stderr bytes.Buffer
	assert.Zero(t, command.Execute(context.Background(), commands.New("ostinato", newVersion()), []string{"--help"}, &stdout, &stderr))
	assert.Contains(t, stdout.String(), "  version ")
	assert.Empty(t, stderr.String())
}

func TestAPluginIsCalledByItsTool(t *testing.T) {
	for program, want := range map[string]string{
		"/usr/bin/ostinato": "ostinato", "kubectl-ostinato": "kubectl ostinato", "temporal-ostinato": "temporal ostinato", "/tmp/main.test": "ostinato",
	} {
		assert.Equal(t, want, calledAs(program))
	}
}
