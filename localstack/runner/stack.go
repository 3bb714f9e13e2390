// Package runner runs the whole service on one machine. It builds the functions,
// starts an AWS emulator, deploys template.yaml and adds test data. A background
// process runs the emulator, the proxy of the HTTP API, the provider simulator and
// the webhook sink.
package runner

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"campaign-dispatch/localstack/progress"
	"campaign-dispatch/localstack/stackenv"
)

// Region is the AWS region of the local stack.
const Region = "us-east-1"

// rootKey is both the id and the secret of the emulator's root credentials. The
// functions have the credentials of their roles instead.
const rootKey = "test"

// Stack is the configuration of a local stack. Paths are relative to the project's
// root folder, where every command runs.
type Stack struct {
	Dir        string // folder of the state, which Down deletes
	Tools      string // folder of the Python environment and the built functions, which Down keeps
	Name       string // name of the CloudFormation stack
	Ports      Ports
	Parameters map[string]string // template parameters besides those that the runner sets
	// FunctionsAWS is the AWS endpoint of the functions, for a proxy between them and
	// the emulator. The default is the emulator.
	FunctionsAWS string
	Built        bool // Up takes the functions as they were built last
	Now          func() time.Time
	Log          *progress.Log
}

// Ports are the ports of 127.0.0.1 that a stack listens on.
type Ports struct {
	Base int // proxy of the HTTP API
	AWS  int // emulator
	RCS  int // provider simulator
	Sink int // webhook sink
}

func url(port int) string { return "http://" + address(port) }

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// EnvFile returns the path of stack.env. The file exists once the stack is ready.
func (s Stack) EnvFile() string { return filepath.Join(s.Dir, "stack.env") }

// Status returns the running stack's stack.env. It returns false if the stack is not running.
func (s Stack) Status() (stackenv.Env, bool) {
	if !s.running() {
		return nil, false
	}
	env, err := stackenv.Read(s.EnvFile())
	return env, err == nil
}

func (s Stack) state(names ...string) string {
	return filepath.Join(append([]string{s.Dir, "state"}, names...)...)
}

// aws returns the stack.env entries that AWS clients need to call the emulator.
func (s Stack) aws() stackenv.Env {
	return stackenv.Env{
		"AWS_ENDPOINT_URL":      url(s.Ports.AWS),
		"AWS_REGION":            Region,
		"AWS_ACCESS_KEY_ID":     rootKey,
		"AWS_SECRET_ACCESS_KEY": rootKey,
	}
}

const portsFile = "ports"

// port is a port, its use, and the Makefile variable that sets it.
type port struct {
	number        int
	use, variable string
}

func (p Ports) each() []port {
	return []port{
		{p.Base, "the service", "PORT"},
		{p.AWS, "the AWS emulator", "AWS_PORT"},
		{p.RCS, "the provider simulator", "RCS_PORT"},
		{p.Sink, "the webhook sink", "SINK_PORT"},
	}
}

// Check returns an error if a port is out of range or used twice.
func (p Ports) Check() error {
	const last = 1<<16 - 1
	seen := map[int]port{}
	for _, port := range p.each() {
		if port.number < 1 || port.number > last {
			return fmt.Errorf("port %d for %s is out of range: set %s to a port from 1 to %d", port.number, port.use, port.variable, last)
		}
		if other, twice := seen[port.number]; twice {
			return fmt.Errorf("%s and %s have the same port %d: set %s to another port", other.use, port.use, port.number, port.variable)
		}
		seen[port.number] = port
	}
	return nil
}

// free returns an error if a port is in use. The error names the variable that sets it.
func (p Ports) free() error {
	for _, port := range p.each() {
		listener, err := net.Listen("tcp", address(port.number)) //nolint:noctx // closed immediately
		if errors.Is(err, syscall.EADDRINUSE) {
			return fmt.Errorf("port %d for %s is in use: stop the process that uses it, or set %s to another port",
				port.number, port.use, port.variable)
		}
		if err != nil {
			return fmt.Errorf("listen on port %d for %s (%s): %w", port.number, port.use, port.variable, err)
		}
		_ = listener.Close()
	}
	return nil
}

// addresses returns the stack.env entries of the addresses and the deployment's outputs.
func (s Stack) addresses(outputs map[string]string) stackenv.Env {
	env := stackenv.Env{}
	for output, value := range outputs {
		env[variable(output)] = value
	}
	delete(env, "HTTP_API_ID")
	maps.Copy(env, s.aws())
	env["STACK_NAME"] = s.Name
	env["BASE_URL"] = url(s.Ports.Base)
	env["RCS_URL"] = url(s.Ports.RCS)
	env["WEBHOOK_SINK_URL"] = url(s.Ports.Sink)
	env["LOCAL_WEBHOOKS"] = "1"  // allows endpoints on this machine
	env["LOCAL_PASSWORDS"] = "1" // prints passwords, because the emulator sends no mail
	if python, err := filepath.Abs(filepath.Join(s.venv(), "bin", "python")); err == nil {
		env["PYTHON"] = python // has the packages of requirements.txt
	}
	env["EVENTS_URL"] = functionURL(s.Ports.AWS, outputs["EventsUrl"])
	return env
}

var inner = regexp.MustCompile(`([a-z])([A-Z])`)

// variable returns the variable of an output, such as AUTH_TABLE for AuthTableName. The queue
// that outcomes reads is called by its contents, the events of the provider.
func variable(output string) string {
	output = strings.NewReplacer("OutcomesQueue", "EventsQueue", "OutcomesDead", "EventsDead").Replace(output)
	return strings.ToUpper(inner.ReplaceAllString(strings.TrimSuffix(output, "Name"), "${1}_$2"))
}

// functionURL returns the emulator's address of a function URL, without a trailing
// slash. The address has the id in its path because not every client resolves the
// emulator's host names.
func functionURL(port int, output string) string {
	_, host, _ := strings.Cut(output, "://")
	id, _, _ := strings.Cut(host, ".")
	return url(port) + "/_aws/lambda-url/" + id
}

func (s Stack) writeEnv(env stackenv.Env) error { return writeFile(s.EnvFile(), env.String()) }
