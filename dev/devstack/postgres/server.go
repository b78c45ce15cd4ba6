package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"ostinato.dev/ostinato/dev/devstack/process"
)

// User is the name of the superuser of every server.
const User = "temporal"

const (
	startPatience = time.Minute
	stopGrace     = 10 * time.Second
)

// Options say where a server keeps its data. All are required but Log.
type Options struct {
	// Dir holds the data and the password; starting again there finds both.
	Dir string
	// Port is the loopback port.
	Port int
	// Connections is how many clients there may be at a time.
	Connections int
	// LogFile receives what the server prints.
	LogFile string
	// Log receives a line for each step.
	Log io.Writer
}

// Server is a running PostgreSQL server.
type Server struct {
	// Address is host:port, Password is User's.
	Address, Password string
	// Home is the folder of the data: Options.Dir, unless the user that runs the server can't get there.
	Home    string
	process *process.Process
}

// Start makes the data where there is none, starts the server and waits until it takes connections.
func Start(ctx context.Context, o Options) (*Server, error) {
	if o.Log == nil {
		o.Log = io.Discard
	}
	s, err := start(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL: %w", err)
	}
	return s, nil
}

func start(ctx context.Context, o Options) (*Server, error) {
	programs, err := Ensure(ctx, o.Log)
	if err != nil {
		return nil, err
	}
	as, err := chooseOwner()
	if err != nil {
		return nil, err
	}
	home, err := as.home(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("make a folder for its data: %w", err)
	}
	password, err := initialise(ctx, filepath.Join(programs, "initdb"), home, as)
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	for {
		started, err := launch(ctx, programs, home, as, o)
		if err == nil {
			return &Server{Address: net.JoinHostPort("127.0.0.1", strconv.Itoa(o.Port)), Password: password, Home: home, process: started}, nil
		}
		// The other processes of a server that was killed notice that and end by themselves, a little later.
		if !strings.Contains(err.Error(), predecessorLives) || time.Since(begun) > predecessorPatience || ctx.Err() != nil {
			return nil, err
		}
		time.Sleep(predecessorPoll)
	}
}

const (
	// predecessorLives is in the log of a server that does not start beside what is left of one that was killed.
	predecessorLives    = "pre-existing shared memory block"
	predecessorPatience = 20 * time.Second
	predecessorPoll     = 200 * time.Millisecond
)

// launch runs the server's program until it takes connections.
func launch(ctx context.Context, programs, home string, as owner, o Options) (*process.Process, error) {
	port := strconv.Itoa(o.Port)
	started, err := process.Start(ctx, process.Spec{
		Name: "postgres", Path: filepath.Join(programs, "postgres"), LogFile: o.LogFile, Dir: home, SysProcAttr: as.attributes(),
		Args: []string{
			"-D", data(home), "-p", port, "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
			"-c", fmt.Sprintf("max_connections=%d", o.Connections), "-c", "jit=off",
		},
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	err = started.WaitReady(ctx, func(ctx context.Context) error {
		output, err := exec.CommandContext(ctx, filepath.Join(programs, "pg_isready"), "-h", "127.0.0.1", "-p", port, "-d", "postgres").CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(output)))
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, started.Stop(stopGrace))
	}
	return started, nil
}

// Process is the server's first process; its others end with it.
func (s *Server) Process() *process.Process { return s.process }

// Stop ends the server, and with it all connections.
func (s *Server) Stop() error {
	// PostgreSQL ends at once on SIGINT; on SIGTERM it would wait for its clients.
	return errors.Join(s.process.Signal(syscall.SIGINT), s.process.Stop(stopGrace))
}

func data(home string) string { return filepath.Join(home, "data") }

// initialise makes the data and the password, and returns the password. Data without a password was left by a process
// that was killed on the way, and is removed.
func initialise(ctx context.Context, initdb, home string, as owner) (string, error) {
	kept := filepath.Join(home, "password")
	password, err := os.ReadFile(kept)
	if err == nil {
		return string(password), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the password: %w", err)
	}
	if err := os.RemoveAll(data(home)); err != nil {
		return "", fmt.Errorf("remove unfinished data: %w", err)
	}
	password = []byte(rand.Text())
	unfinished := kept + ".unfinished"
	if err := errors.Join(os.WriteFile(unfinished, password, 0o600), as.give(unfinished)); err != nil {
		return "", fmt.Errorf("keep the password: %w", err)
	}
	command := exec.CommandContext(ctx, initdb, "-D", data(home), "-U", User, "-A", "scram-sha-256", "--pwfile="+unfinished,
		"--encoding=UTF8", "--locale=C", "--no-sync")
	command.Dir, command.SysProcAttr = home, as.attributes()
	if output, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("initdb: %w\n%s", err, output)
	}
	if err := os.Rename(unfinished, kept); err != nil {
		return "", fmt.Errorf("keep the password: %w", err)
	}
	return string(password), nil
}
