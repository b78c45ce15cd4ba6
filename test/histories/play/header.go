package play

import (
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"
)

// keyOf is a context that notes for what it is asked.
type keyOf struct {
	workflow.Context
	key any
}

func (k *keyOf) Value(key any) any {
	k.key = key
	return nil
}

// headed returns the context of a signal or an update that has come with a header. The SDK does not export the key under which it looks
// for one.
func headed(ctx workflow.Context, header map[string]string) workflow.Context {
	if len(header) == 0 {
		return ctx
	}
	payloads := map[string]*commonpb.Payload{}
	for name, value := range header {
		payload, err := converter.GetDefaultDataConverter().ToPayload(value)
		if err != nil {
			panic(err)
		}
		payloads[name] = payload
	}
	asked := &keyOf{Context: ctx}
	interceptor.WorkflowHeader(asked)
	return workflow.WithValue(ctx, asked.key, payloads)
}
