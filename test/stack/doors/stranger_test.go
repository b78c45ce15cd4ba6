//go:build linux

package doors

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	// nobody is the user who has no right anywhere, and nobody's group.
	nobody = 65534
	// strangerVariable makes the test program the stranger.
	strangerVariable = "OSTINATO_TEST_STRANGER"
	// answerPatience bounds one answer. A server that neither answers nor hangs up has let nobody in.
	answerPatience = 3 * time.Second
	// atATime is how many requests the stranger has under way at one address.
	atATime = 16
	// bodyKept is how much of an answer is kept, for people who read why the test failed.
	bodyKept = 160
)

// question is what the stranger is to try.
type question struct {
	Addresses []string
	// Sockets are the paths or names of UNIX sockets.
	Sockets []string
	// Folder is looked through for files that can be read and folders that can be written.
	Folder string
	// Certificate and Key, in PEM, are those of a client. Without, the stranger has made a certificate.
	Certificate, Key []byte
}

// answer is what a stranger got.
type answer struct {
	Address, Request string
	// Over is how the stranger asked.
	Over string
	// Status is that of HTTP or gRPC, or why there was none.
	Status string
	// Success is whether the stranger got what was asked for.
	Success bool
	Body    string
}

func (a answer) String() string {
	return fmt.Sprintf("%s over %s: %s %q", a.Request, a.Over, a.Status, a.Body)
}

// request is something to ask any server for.
type request struct {
	method, path, body string
	// grpc is whether it is a call of gRPC, with body as its message.
	grpc bool
}

func (r request) String() string {
	if r.grpc {
		return "gRPC " + r.path
	}
	return r.method + " " + r.path
}

// thePod is a Pod that exists, in namespace default. Its only container has the same name.
const thePod = "door"

// requests are for everything that some server of the stack keeps.
var requests = []request{
	{method: "GET", path: "/"},
	{method: "GET", path: "/healthz"},
	{method: "GET", path: "/livez"},
	{method: "GET", path: "/readyz"},
	{method: "GET", path: "/health"},
	{method: "GET", path: "/version"},
	{method: "GET", path: "/metrics"},
	{method: "GET", path: "/debug/pprof/"},
	{method: "GET", path: "/configz"},
	{method: "GET", path: "/flagz"},
	{method: "GET", path: "/statusz"},
	// kube-apiserver.
	{method: "GET", path: "/api"},
	{method: "GET", path: "/api/v1/secrets"},
	{method: "GET", path: "/api/v1/namespaces/default/pods/" + thePod + "/log"},
	{method: "POST", path: "/api/v1/namespaces/default/pods", body: `{"apiVersion":"v1","kind":"Pod"}`},
	// etcd.
	{method: "POST", path: "/v3/kv/range", body: `{"key":"L3JlZ2lzdHJ5L3NlY3JldHMv","range_end":"L3JlZ2lzdHJ5L3NlY3JldHMw","keys_only":true}`},
	{method: "POST", path: "/v3/kv/put", body: `{"key":"L3N0cmFuZ2Vy","value":"aGVyZQ=="}`},
	{method: "GET", path: "/v2/keys/?recursive=true"},
	{method: "GET", path: "/members"},
	{method: "GET", path: "/raft/stream/snapshot/0"},
	{grpc: true, path: "/etcdserverpb.KV/Range", body: "\x0a\x01\x00\x12\x01\x00"},
	{grpc: true, path: "/etcdserverpb.KV/Put", body: "\x0a\x09/stranger\x12\x04here"},
	// The kubelet and kwok, which takes its place.
	{method: "GET", path: "/pods"},
	{method: "GET", path: "/runningpods/"},
	{method: "GET", path: "/logs/"},
	{method: "GET", path: "/stats/summary"},
	{method: "GET", path: "/containerLogs/default/" + thePod + "/" + thePod},
	{method: "GET", path: "/containerLogs/default/no-such-pod/no-such-container"},
	{method: "POST", path: "/run/default/" + thePod + "/" + thePod + "?cmd=id"},
	{method: "POST", path: "/exec/default/" + thePod + "/" + thePod + "?command=id&output=1"},
	{method: "POST", path: "/attach/default/" + thePod + "/" + thePod + "?output=1"},
	{method: "POST", path: "/portForward/default/" + thePod},
	{method: "GET", path: "/discovery/prometheus"},
	// containerd and its streaming server.
	{method: "GET", path: "/exec/token"},
	{method: "GET", path: "/v1/metrics"},
	{grpc: true, path: "/runtime.v1.RuntimeService/ListContainers"},
	{grpc: true, path: "/containerd.services.namespaces.v1.Namespaces/List"},
	// Temporal and its UI.
	{method: "GET", path: "/api/v1/namespaces/default/workflows"},
	{method: "POST", path: "/api/v1/namespaces/default/workflows/stranger", body: `{"workflowType":{"name":"any"},"taskQueue":{"name":"any"}}`},
	{grpc: true, path: "/grpc.health.v1.Health/Check"},
	{grpc: true, path: "/temporal.api.workflowservice.v1.WorkflowService/ListNamespaces"},
	{grpc: true, path: "/temporal.server.api.adminservice.v1.AdminService/DescribeCluster"},
}

// asks are the ways to ask, each with a client.
func asks(certificate tls.Certificate) map[string]func(grpc bool) (scheme string, transport *http.Transport) {
	transport := func(grpc bool, certificates ...tls.Certificate) *http.Transport {
		var protocols http.Protocols
		protocols.SetHTTP1(!grpc)
		protocols.SetHTTP2(grpc)
		protocols.SetUnencryptedHTTP2(grpc)
		return &http.Transport{
			Protocols: &protocols, DisableKeepAlives: true,
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: certificates},
		}
	}
	return map[string]func(bool) (string, *http.Transport){
		"plain text":                func(grpc bool) (string, *http.Transport) { return "http", transport(grpc) },
		"TLS without a certificate": func(grpc bool) (string, *http.Transport) { return "https", transport(grpc) },
		"TLS with a certificate":    func(grpc bool) (string, *http.Transport) { return "https", transport(grpc, certificate) },
	}
}

// beStranger answers the question on standard input.
func beStranger() error {
	if os.Geteuid() != nobody || os.Getegid() != nobody {
		return fmt.Errorf("this is user %d of group %d", os.Geteuid(), os.Getegid())
	}
	var q question
	if err := json.NewDecoder(os.Stdin).Decode(&q); err != nil {
		return err
	}
	certificate, err := certificateOf(q)
	if err != nil {
		return err
	}
	var answers []answer
	var mutex sync.Mutex
	var all sync.WaitGroup
	keep := func(a answer) {
		mutex.Lock()
		defer mutex.Unlock()
		answers = append(answers, a)
	}
	for _, address := range q.Addresses {
		places := make(chan struct{}, atATime)
		for over, transport := range asks(certificate) {
			for _, r := range requests {
				all.Go(func() {
					places <- struct{}{}
					defer func() { <-places }()
					a := ask(address, r, transport)
					a.Over = over
					keep(a)
				})
			}
		}
		all.Go(func() { keep(greetPostgres(address)) })
	}
	for _, socket := range q.Sockets {
		all.Go(func() { keep(connect(socket)) })
	}
	if q.Folder != "" {
		all.Go(func() { rummage(q.Folder, keep) })
	}
	all.Wait()
	return json.NewEncoder(os.Stdout).Encode(answers)
}

// certificateOf returns the question's certificate, or one that the stranger has signed.
func certificateOf(q question) (tls.Certificate, error) {
	if len(q.Certificate) > 0 {
		return tls.X509KeyPair(q.Certificate, q.Key)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kubernetes-admin", Organization: []string{"system:masters"}},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// ask sends a request as a page of another origin may: with any Host, as text, without a preflight.
func ask(address string, r request, transport func(bool) (string, *http.Transport)) answer {
	a := answer{Address: address, Request: r.String()}
	scheme, over := transport(r.grpc)
	ctx, cancel := context.WithTimeout(context.Background(), answerPatience)
	defer cancel()
	method, body, kind := r.method, []byte(r.body), "text/plain"
	if r.grpc {
		method, body, kind = http.MethodPost, append([]byte{0, 0, 0, 0, byte(len(r.body))}, r.body...), "application/grpc"
	}
	sent, err := http.NewRequestWithContext(ctx, method, scheme+"://"+address+r.path, bytes.NewReader(body))
	if err != nil {
		a.Status = err.Error()
		return a
	}
	sent.Host = "attacker.example"
	sent.Header.Set("Origin", "http://attacker.example")
	sent.Header.Set("Content-Type", kind)
	if r.grpc {
		sent.Header.Set("TE", "trailers")
	}
	response, err := over.RoundTrip(sent)
	if err != nil {
		a.Status = err.Error()
		return a
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<20)) // what came is what counts
	a.Body = string(text[:min(len(text), bodyKept)])
	a.Status = strconv.Itoa(response.StatusCode)
	a.Success = response.StatusCode < http.StatusBadRequest
	if r.grpc && a.Success {
		code := response.Trailer.Get("Grpc-Status")
		if code == "" {
			code = response.Header.Get("Grpc-Status")
		}
		a.Status, a.Success = "gRPC status "+code, code == "0"
	}
	return a
}

// greetPostgres asks to be the superuser of PostgreSQL, without a password.
func greetPostgres(address string) answer {
	a := answer{Address: address, Request: "PostgreSQL", Over: "plain text"}
	connection, err := net.DialTimeout("tcp", address, answerPatience)
	if err != nil {
		a.Status = err.Error()
		return a
	}
	defer connection.Close()
	parameters := "\x00\x03\x00\x00user\x00temporal\x00database\x00postgres\x00\x00"
	message := append([]byte{0, 0, 0, byte(4 + len(parameters))}, parameters...)
	// The kind of the answer, its length, and what kind of authentication is wanted.
	reply := make([]byte, 9)
	if err = connection.SetDeadline(time.Now().Add(answerPatience)); err == nil {
		_, err = connection.Write(message)
	}
	if err == nil {
		_, err = io.ReadFull(connection, reply)
	}
	if err != nil {
		a.Status = err.Error()
		return a
	}
	a.Body = string(reply)
	a.Status = fmt.Sprintf("%c", reply[0])
	a.Success = bytes.Equal(reply, []byte{'R', 0, 0, 0, 8, 0, 0, 0, 0})
	return a
}

// connect opens a UNIX socket. One that has a path can be opened by those who may write the file; the path may be longer
// than that of an address.
func connect(socket string) answer {
	a := answer{Address: socket, Request: "connect", Over: "a socket", Status: "connected", Success: true}
	var err error
	if strings.HasPrefix(socket, "@") {
		var connection net.Conn
		if connection, err = net.DialTimeout("unix", socket, answerPatience); err == nil {
			connection.Close()
		}
	} else {
		err = syscall.Access(socket, mayWrite)
	}
	if err != nil {
		a.Status, a.Success = err.Error(), false
	}
	return a
}

// What access(2) is asked.
const mayRead, mayWrite = 4, 2

// rummage finds the files of a folder that can be read or written, and the folders in which files can be made.
func rummage(folder string, found func(answer)) {
	_ = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil // it is closed
		}
		if !entry.IsDir() && syscall.Access(path, mayRead) == nil {
			found(answer{Address: path, Request: "read", Over: "the file system", Success: true})
		}
		if entry.Type() != fs.ModeSymlink && syscall.Access(path, mayWrite) == nil {
			found(answer{Address: path, Request: "write", Over: "the file system", Success: true})
		}
		return nil
	})
}

// askAsNobody has a process of nobody's try the question.
func askAsNobody(t *testing.T, q question) []answer {
	t.Helper()
	// The program's folder may be closed to nobody, so it is run by its open file.
	program, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	command := exec.CommandContext(t.Context(), "/proc/self/fd/3")
	command.ExtraFiles = []*os.File{program}
	command.Dir, command.Env = "/", []string{strangerVariable + "=1"}
	command.SysProcAttr = &syscall.SysProcAttr{
		Credential: &syscall.Credential{Uid: nobody, Gid: nobody}, Pdeathsig: syscall.SIGKILL,
	}
	asked, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	var output, problems strings.Builder
	command.Stdin, command.Stdout, command.Stderr = bytes.NewReader(asked), &output, &problems
	if err := command.Run(); err != nil {
		t.Fatalf("the stranger: %v\n%s", err, &problems)
	}
	var answers []answer
	if err := json.Unmarshal([]byte(output.String()), &answers); err != nil {
		t.Fatalf("the stranger said %q: %v", &output, err)
	}
	return answers
}
