// Package clients tests common OAuth libraries and client generators on a running
// stack. Each folder has a small program for one of them. A program reads BASE_URL,
// CLIENT_ID, CLIENT_SECRET, TEMPLATE_ID, CAMPAIGN_ID and PHONES from its environment
// and prints one JSON object.
package clients

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"campaign-dispatch/internal/httpapi/openapi"
	"campaign-dispatch/localstack/runner"
)

// sources is the folder of the programs, relative to the module's root.
const sources = "localstack/lab/clients"

var versions = map[string]string{
	"go":        "Go 1.26",
	"python3":   "Python 3.11 with venv",
	"node":      "Node.js 20",
	"npm":       "Node.js 20",
	"java":      "Java 17",
	"mvn":       "Maven 3.8",
	"sha256sum": "the GNU coreutils",
}

func (c Client) check() error {
	for _, tool := range c.needs {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%s is not on the PATH: %s needs %s or newer", tool, c.Name, versions[tool])
		}
	}
	return nil
}

// workplace is the folder of an installed program.
type workplace struct {
	client Client
	path   string
}

// prepare copies the program into a folder in below, installs and builds it.
func (c Client) prepare(ctx context.Context, below, baseURL string) (workplace, error) {
	if err := c.check(); err != nil {
		return workplace{}, err
	}
	path, err := filepath.Abs(filepath.Join(below, c.Name))
	if err != nil {
		return workplace{}, err
	}
	w := workplace{c, path}
	if err := w.install(ctx); err != nil {
		return workplace{}, err
	}
	document, err := openapi.Document(baseURL)
	if err != nil {
		return workplace{}, err
	}
	if err := os.WriteFile(filepath.Join(w.path, "openapi.json"), document, 0o600); err != nil {
		return workplace{}, err
	}
	return w, w.all(ctx, c.build)
}

// install replaces the folder unless the same files are already installed.
func (w workplace) install(ctx context.Context) error {
	source := filepath.Join(sources, w.client.Name)
	digest, err := digestOf(source)
	if err != nil {
		return err
	}
	return runner.Installed(w.path, digest, func() error {
		if err := os.CopyFS(w.path, os.DirFS(source)); err != nil {
			return err
		}
		return w.all(ctx, w.client.install)
	})
}

// digestOf returns a digest of the names and contents of a folder's files.
func digestOf(folder string) (string, error) {
	files, err := os.ReadDir(folder)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(folder, f.Name())) //nolint:gosec // a folder of the project
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%s %d\n%s", f.Name(), len(text), text)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func (w workplace) all(ctx context.Context, commands [][]string) error {
	for _, args := range commands {
		if _, err := w.command(ctx, args, nil); err != nil {
			return err
		}
	}
	return nil
}

// command runs a command in the folder and returns its standard output. The error has
// the last lines of standard error, and of standard output only if given is nil,
// because a program's output may contain a token.
func (w workplace) command(ctx context.Context, args []string, given map[string]string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...) //nolint:gosec // commands of this package
	cmd.Dir = w.path
	cmd.Env = append(os.Environ(),
		"GOWORK=off", "PATH="+filepath.Join(w.path, "venv", "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	for name, value := range given {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	err := cmd.Run()
	if err == nil {
		return out.Bytes(), nil
	}
	if given == nil {
		problems.Write(out.Bytes())
	}
	return nil, fmt.Errorf("%s: %w: %s", strings.Join(args[:min(2, len(args))], " "), err, lastLines(problems.String()))
}

// lastLines returns the last five lines, which usually have the error.
func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], " | ")
}

// attempt is a library's result with the credential in the header or in the form.
type attempt struct {
	First, Refresh, Renewed string // tokens
	ErrorType, ErrorCode    string // for a wrong secret
}

type report struct {
	Library, Version string
	Header, Form     attempt

	Status, Accepted int    // response to a dispatch call
	Again            string // error code of the repeated call
}

// run runs the program with the given variables and returns its report.
func (w workplace) run(ctx context.Context, given map[string]string) (report, error) {
	out, err := w.command(ctx, w.client.run, given)
	if err != nil {
		return report{}, err
	}
	lines := slices.Collect(strings.Lines(strings.TrimSpace(string(out))))
	var r report
	if len(lines) == 0 || json.Unmarshal([]byte(lines[len(lines)-1]), &r) != nil || r.Library == "" || r.Version == "" {
		return report{}, errors.New("the program printed no report")
	}
	return r, nil
}

// Client is the program of a folder and its commands.
type Client struct {
	Name    string     // name of its folder
	needs   []string   // required tools on the PATH
	install [][]string // commands that install the locked dependencies, once
	build   [][]string // commands that generate and compile, before each run
	run     []string
	// inHeader and inForm are the errors of the library for a wrong secret in the
	// header or in the form. They are empty for a program that dispatches a campaign.
	inHeader, inForm string
}

func (c Client) dispatches() bool { return c.inHeader == "" }

// All returns the programs of the OAuth libraries, then of the client generators.
func All() []Client {
	return []Client{
		golang("xoauth2", "*oauth2.RetrieveError"),
		python("authlib", "OAuthError"),
		python("requests-oauthlib", "InvalidClientError"),
		node("openid-client", "WWWAuthenticateChallengeError", "ResponseBodyError"),
		node("simple-oauth2", "Boom Response Error: 401 Unauthorized", "Boom Response Error: 401 Unauthorized"),
		spring(),
		typescriptGenerator(),
		pythonGenerator(),
		goGenerator(),
	}
}

func golang(name, thrown string) Client {
	return Client{
		Name: name, needs: []string{"go"},
		build: [][]string{{"go", "build", "-o", "program", "."}}, run: []string{"./program"},
		inHeader: thrown, inForm: thrown,
	}
}

func python(name, thrown string) Client {
	return Client{
		Name: name, needs: []string{"python3"},
		install: [][]string{
			{"python3", "-m", "venv", "venv"},
			{
				"venv/bin/python", "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-input",
				"--no-deps", "--require-hashes", "-r", "requirements.txt",
			},
		},
		run:      []string{"venv/bin/python", "main.py"},
		inHeader: thrown, inForm: thrown,
	}
}

func node(name, inHeader, inForm string) Client {
	return Client{
		Name: name, needs: []string{"node", "npm"},
		install: [][]string{{"npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"}},
		run:     []string{"node", "main.mjs"}, inHeader: inHeader, inForm: inForm,
	}
}

func spring() Client {
	const thrown = "OAuth2AuthorizationException invalid_token_response caused by Unauthorized"
	return Client{
		Name: "spring", needs: []string{"java", "mvn", "sha256sum"},
		install: [][]string{
			{"mvn", "-q", "-B", "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies", "-DoutputDirectory=jars"},
			{"sha256sum", "--quiet", "--strict", "--check", "jars.sha256"},
		},
		run:      []string{"java", "-cp", "jars/*", "Main.java"},
		inHeader: thrown, inForm: thrown,
	}
}

func typescriptGenerator() Client {
	c := node("openapi-typescript", "", "")
	c.build = [][]string{{"node_modules/.bin/openapi-typescript", "openapi.json", "-o", "api.d.ts"}, {"node_modules/.bin/tsc"}}
	c.run = []string{"node", "out/main.js"}
	return c
}

func pythonGenerator() Client {
	c := python("openapi-python-client", "")
	c.build = [][]string{
		{
			"venv/bin/openapi-python-client", "generate", "--path", "openapi.json", "--output-path", "generated",
			"--meta", "none", "--overwrite", "--fail-on-warning",
		},
		{"venv/bin/mypy", "--strict", "--follow-imports", "silent", "main.py"},
	}
	return c
}

func goGenerator() Client {
	c := golang("oapi-codegen", "")
	c.build = [][]string{
		{"mkdir", "-p", "api"},
		{"go", "tool", "oapi-codegen", "-config", "config.yaml", "openapi.json"},
		{"go", "vet", "./..."},
		{"go", "build", "-o", "program", "."},
	}
	return c
}
