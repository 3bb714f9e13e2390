// Package runner runs the whole service on one machine: it builds the
// functions, starts an emulator of AWS, deploys template.yaml to it, and seeds
// it. A background process supervises the emulator and serves what stands
// around the service: the address clients call, the simulator of the RCS
// provider and the receiver of webhooks.
package runner

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"campaign-dispatch/localstack/progress"
	"campaign-dispatch/localstack/stackenv"
)

// Region is the region that the local stack says it is in.
const Region = "us-east-1"

// rootKey is both the id and the secret of the emulator's root credentials.
// The functions do not have them: each is held to the policies of its role.
const rootKey = "test"

// Stack is one local stack: where it keeps its state and what it is like.
// Paths are relative to the folder of the project, where every command runs.
type Stack struct {
	Dir        string // its state, forgotten by Down
	Tools      string // what outlives it: the Python environment, the built functions
	Name       string // of the CloudFormation stack
	Ports      Ports
	Parameters map[string]string // of the template, besides those the runner knows
	// FunctionsAWS is another address by which the functions alone reach the
	// emulator, through something between them; "" is the emulator's own.
	FunctionsAWS string
	Now          func() time.Time
	Log          *progress.Log
}

// Ports are the ports of 127.0.0.1 that a stack listens on.
type Ports struct {
	Base int // the service's own interface
	AWS  int // the emulator
	RCS  int // the simulator of the provider
	Sink int // the receiver of webhooks
}

func url(port int) string { return "http://" + address(port) }

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// EnvFile is the file that tells where everything is, once the stack is ready.
func (s Stack) EnvFile() string { return filepath.Join(s.Dir, "stack.env") }

func (s Stack) state(names ...string) string {
	return filepath.Join(append([]string{s.Dir, "state"}, names...)...)
}

// aws are the keys of the stack's file by which any AWS client finds the
// emulator.
func (s Stack) aws() stackenv.Env {
	return stackenv.Env{
		"AWS_ENDPOINT_URL":      url(s.Ports.AWS),
		"AWS_REGION":            Region,
		"AWS_ACCESS_KEY_ID":     rootKey,
		"AWS_SECRET_ACCESS_KEY": rootKey,
	}
}

// portsFile holds the ports that the running stack listens on.
const portsFile = "ports"

// port is one of the ports, what it is for, and the variable of the Makefile
// that says another.
type port struct {
	number         int
	what, variable string
}

func (p Ports) each() []port {
	return []port{
		{p.Base, "the service", "PORT"},
		{p.AWS, "the emulator of AWS", "AWS_PORT"},
		{p.RCS, "the provider simulator", "RCS_PORT"},
		{p.Sink, "the webhook sink", "SINK_PORT"},
	}
}

// Check fails if a number is no port or two are the same.
func (p Ports) Check() error {
	const last = 1<<16 - 1
	seen := map[int]port{}
	for _, port := range p.each() {
		if port.number < 1 || port.number > last {
			return fmt.Errorf("there is no port %d for %s: choose one from 1 to %d with %s=…", port.number, port.what, last, port.variable)
		}
		if other, twice := seen[port.number]; twice {
			return fmt.Errorf("%s and %s cannot both have port %d: choose another with %s=…", other.what, port.what, port.number, port.variable)
		}
		seen[port.number] = port
	}
	return nil
}

// free fails if one of the ports cannot be listened on, saying which and how to
// use another.
func (p Ports) free() error {
	for _, port := range p.each() {
		listener, err := net.Listen("tcp", address(port.number)) //nolint:noctx // closed at once
		if errors.Is(err, syscall.EADDRINUSE) {
			return fmt.Errorf("port %d for %s is taken: stop what listens there, or choose another with %s=…",
				port.number, port.what, port.variable)
		}
		if err != nil {
			return fmt.Errorf("port %d for %s is of no use, choose another with %s=…: %w", port.number, port.what, port.variable, err)
		}
		_ = listener.Close()
	}
	return nil
}
