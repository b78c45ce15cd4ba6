// Command probe runs in Pods: `probe serve` answers at port 8080. `probe ask URL...` asks each URL until it answers, prints what
// it said and ends. `probe miss ADDRESS...` fails if one of the addresses can be reached.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"
)

// clusterAuthority is where a Pod finds by which certificate it knows the API server.
const clusterAuthority = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt"

func main() {
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(command string, arguments []string) error {
	switch command {
	case "serve":
		return http.ListenAndServe(":8080", http.HandlerFunc(func(response http.ResponseWriter, _ *http.Request) {
			fmt.Fprintln(response, "answered by another Pod")
		}))
	case "ask":
		return askAll(arguments)
	default:
		return missAll(arguments)
	}
}

// missAll returns an error that names the first address that is reached.
func missAll(addresses []string) error {
	for _, address := range addresses {
		connection, err := net.DialTimeout("tcp", address, 5*time.Second)
		fmt.Println(address, err)
		if err == nil {
			connection.Close()
			return fmt.Errorf("%s is reached", address)
		}
	}
	return nil
}

// askAll asks each URL until it answers.
func askAll(urls []string) error {
	authority, err := os.ReadFile(clusterAuthority)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	client := &http.Client{
		Timeout:   5 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true},
	}
	for _, url := range urls {
		for {
			answer, err := ask(client, url)
			fmt.Println(url, answer, err)
			if err == nil {
				break
			}
			time.Sleep(time.Second)
		}
	}
	return nil
}

func ask(client *http.Client, url string) (string, error) {
	response, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s", response.Status)
	}
	return string(body), err
}
