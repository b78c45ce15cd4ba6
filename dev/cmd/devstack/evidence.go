package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"ostinato.dev/ostinato/dev/devstack"
)

// lastWords is what the container of deploy/samples/fails.yaml prints before it ends.
const lastWords = "connection refused"

// checkEvidence runs a Job that fails, deletes it with its Pod, and asks its
// workflow afterwards why it failed.
func checkEvidence(ctx context.Context, stack *devstack.Stack, stdout io.Writer) error {
	if err := stack.ApplySample(ctx, "fails.yaml"); err != nil {
		return err
	}
	if _, err := stack.Kubectl(ctx, "wait", "--for=condition=Failed", "--timeout=60s", "job/fails"); err != nil {
		return err
	}
	if _, err := stack.Kubectl(ctx, "delete", "job/fails", "--cascade=foreground"); err != nil {
		return err
	}
	pods, err := stack.Kubectl(ctx, "get", "pods", "--selector=job-name=fails", "--output=name")
	if err != nil {
		return err
	}
	if strings.TrimSpace(pods) != "" {
		return fmt.Errorf("the Job fails is gone and its Pods are not: %s", pods)
	}
	answer, err := stack.Temporal(ctx, "workflow", "query", "--workflow-id", "job/default/fails", "--type", "describe")
	if err != nil {
		return err
	}
	for _, want := range []string{lastWords, "exitCode"} {
		if !strings.Contains(answer, want) {
			return fmt.Errorf("the workflow of the failed Job does not tell %q after its Pod is gone; it says:\n%s", want, answer)
		}
	}
	fmt.Fprintf(stdout, "the Job fails was deleted with its Pod; its workflow still tells that the container ended with exit code 3, after %q\n", lastWords)
	return nil
}
