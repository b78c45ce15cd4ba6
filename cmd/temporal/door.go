package main

import (
	"context"
	"fmt"
	"log/slog"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"ostinato.dev/ostinato/internal/config"
	"ostinato.dev/ostinato/internal/temporalserver"
	"ostinato.dev/ostinato/internal/temporalserver/access"
	"ostinato.dev/ostinato/internal/temporalserver/certificates"
	"ostinato.dev/ostinato/internal/temporalserver/signer"
)

// service is the name at which clients dial the server, and the prefix of its Secrets' names.
const service = "ostinato-temporal"

// openDoor returns the door that the settings ask for, nil for none. It keeps certificates until ctx ends, and waits for the first.
func openDoor(ctx context.Context, settings config.TemporalServer, logger *slog.Logger) (*temporalserver.Door, error) {
	if settings.Access != config.AccessKubernetes {
		return nil, nil
	}
	configuration, err := config.Kubernetes{}.RESTConfig("ostinato-temporal")
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(configuration)
	if err != nil {
		return nil, fmt.Errorf("make a Kubernetes client: %w", err)
	}
	// In a Pod, the Pod's own.
	namespace, _, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil).Namespace()
	if err != nil {
		return nil, fmt.Errorf("find this program's Kubernetes namespace: %w", err)
	}
	keeper, err := certificates.Await(ctx, certificates.Options{Client: client, Namespace: namespace, Service: service, Logger: logger})
	if err != nil {
		return nil, err
	}
	go keeper.Run(ctx)
	go signer.Run(ctx, client, keeper.Sign, logger)
	return &temporalserver.Door{
		TLS:         keeper.ServerTLS(),
		Authorities: keeper.Bundle(),
		ClaimMapper: access.ClaimMapper(),
		Authorizer: access.Authorizer(access.Options{
			Namespace: settings.Namespace, Cluster: settings.Cluster, Administrators: settings.Administrators,
			Tokens: keeper.User, Reviews: access.NewReviews(client),
		}),
	}, nil
}
