package ask

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

// namespaceInEndpoint stands in an endpoint for the namespace of Temporal, as the temporal command has it.
const namespaceInEndpoint = "{namespace}"

// ValidCodecEndpoint returns an error that says what to write where an endpoint is no address of a codec server.
func ValidCodecEndpoint(endpoint string) error {
	if endpoint == "" {
		return nil
	}
	parsed, err := url.Parse(strings.ReplaceAll(endpoint, namespaceInEndpoint, "namespace"))
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" {
		return fmt.Errorf("%q is no address of a codec server; write http://127.0.0.1:8085", endpoint)
	}
	return nil
}

// withCodec makes the options encode and decode payloads by a codec server, which is asked as the person.
func withCodec(options *client.Options, codec *envconfig.ClientConfigCodec) {
	if codec == nil || codec.Endpoint == "" {
		return
	}
	namespace := options.Namespace
	endpoint := strings.TrimSuffix(strings.ReplaceAll(codec.Endpoint, namespaceInEndpoint, url.PathEscape(namespace)), "/")
	remote := converter.NewRemotePayloadCodec(converter.RemotePayloadCodecOptions{
		Endpoint: endpoint,
		Client:   http.Client{Timeout: patience},
		ModifyRequest: func(request *http.Request) error {
			request.Header.Set("X-Namespace", namespace)
			if codec.Auth != "" {
				request.Header.Set("Authorization", codec.Auth)
			}
			return nil
		},
	})
	options.DataConverter = converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), named{remote, endpoint})
	options.FailureConverter = temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{DataConverter: options.DataConverter})
}

// named is a codec whose errors name it.
type named struct {
	codec    converter.PayloadCodec
	endpoint string
}

// Encode implements converter.PayloadCodec.
func (n named) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	encoded, err := n.codec.Encode(payloads)
	return encoded, n.error("encode", err)
}

// Decode implements converter.PayloadCodec.
func (n named) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	decoded, err := n.codec.Decode(payloads)
	return decoded, n.error("decode", err)
}

// error keeps the whole text in the innermost error, which is what notes show.
func (n named) error(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("codec server %s does not %s: %s", n.endpoint, what, strings.TrimSpace(err.Error()))
}

// errEncrypted says what to do about payloads that can't be read here.
var errEncrypted = errors.New("payloads are encrypted: name a codec server by --codec-endpoint or TEMPORAL_CODEC_ENDPOINT")

// legible returns errEncrypted for an error of a payload that has the encoding of no converter.
func legible(err error) error {
	if errors.Is(err, converter.ErrEncodingIsNotSupported) {
		return errEncrypted
	}
	return err
}
