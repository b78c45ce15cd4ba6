package payloadcodec

import (
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

// Apply makes a Temporal client, and the workers made of it, use the codec for all
// they send and read. With failures, messages and stack traces of failures are
// encoded too; those that are encoded are read either way.
func Apply(options *client.Options, codec converter.PayloadCodec, failures bool) {
	options.DataConverter = converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), codec)
	options.FailureConverter = temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter:          options.DataConverter,
		EncodeCommonAttributes: failures,
	})
}
