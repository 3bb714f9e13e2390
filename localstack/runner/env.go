package runner

import (
	"maps"
	"path/filepath"
	"regexp"
	"strings"

	"campaign-dispatch/localstack/stackenv"
)

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

// variable returns the variable of an output, such as AUTH_TABLE for AuthTableName.
func variable(output string) string {
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
