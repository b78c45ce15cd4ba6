package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// lostConnection takes a request that was not answered for one that the API server did not take: kwok repeats nothing
// else. A Pod whose delete was under way when the API server was killed would be there for ever.
type lostConnection struct{ base http.RoundTripper }

func (l lostConnection) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := l.base.RoundTrip(request)
	if err != nil && request.Context().Err() == nil {
		err = fmt.Errorf("%w: %w", syscall.ECONNREFUSED, err)
	}
	return response, err
}

// WrappedRoundTripper is what client-go asks a transport for.
func (l lostConnection) WrappedRoundTripper() http.RoundTripper { return l.base }

// repeating is how client-go lets a kubeconfig choose a transport.
const repeating = "ostinato-repeating"

type repeatingProvider struct{}

func (repeatingProvider) WrapTransport(base http.RoundTripper) http.RoundTripper {
	return lostConnection{base}
}
func (repeatingProvider) Login() error { return nil }

func init() {
	err := rest.RegisterAuthProviderPlugin(repeating, func(string, map[string]string, rest.AuthProviderConfigPersister) (rest.AuthProvider, error) {
		return repeatingProvider{}, nil
	})
	if err != nil {
		panic(err)
	}
}

// kubeconfigFlag is kwok's.
const kubeconfigFlag = "--kubeconfig="

// repeat returns kwok's arguments with a kubeconfig, written to the directory, whose users repeat what was not answered.
func repeat(arguments []string, directory string) ([]string, error) {
	repeated := make([]string, 0, len(arguments))
	for _, argument := range arguments {
		if path, ok := strings.CutPrefix(argument, kubeconfigFlag); ok {
			copied, err := repeatingKubeconfig(path, directory)
			if err != nil {
				return nil, err
			}
			argument = kubeconfigFlag + copied
		}
		repeated = append(repeated, argument)
	}
	return repeated, nil
}

func repeatingKubeconfig(path, directory string) (string, error) {
	config, err := clientcmd.LoadFromFile(path)
	if err != nil {
		return "", fmt.Errorf("read kubeconfig %s: %w", path, err)
	}
	if err := clientcmd.ResolveLocalPaths(config); err != nil {
		return "", fmt.Errorf("read kubeconfig %s: %w", path, err)
	}
	for _, user := range config.AuthInfos {
		user.AuthProvider = &clientcmdapi.AuthProviderConfig{Name: repeating}
	}
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return "", fmt.Errorf("write kubeconfig: %w", err)
	}
	copied := filepath.Join(directory, "kubeconfig")
	if err := clientcmd.WriteToFile(*config, copied); err != nil {
		return "", fmt.Errorf("write kubeconfig: %w", err)
	}
	return copied, nil
}
