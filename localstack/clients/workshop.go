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
)

// sources is where the folders of the programs are, from the module's own folder.
const sources = "localstack/clients"

// missing says where to get the tools that a program needs.
var missing = map[string]string{
	"go":        "Go 1.26",
	"python3":   "Python 3.11 with venv",
	"node":      "Node.js 20",
	"npm":       "Node.js 20",
	"java":      "Java 17",
	"mvn":       "Maven 3.8",
	"sha256sum": "the GNU coreutils",
}

// check returns an error of one line where a tool is missing.
func (c Client) check() error {
	for _, tool := range c.needs {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%s is not on the PATH: %s needs %s or newer", tool, c.Name, missing[tool])
		}
	}
	return nil
}

// workplace is the folder that a program runs in.
type workplace struct {
	client Client
	path   string
}

// prepare copies the program below a folder, and installs and builds it there.
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

// install makes the folder anew, unless it was made of the same files.
func (w workplace) install(ctx context.Context) error {
	source := filepath.Join(sources, w.client.Name)
	digest, err := digestOf(source)
	if err != nil {
		return err
	}
	stamp := filepath.Join(w.path, "installed")
	if installed, _ := os.ReadFile(stamp); string(installed) == digest { //nolint:gosec // our own file
		return nil
	}
	if err := os.RemoveAll(w.path); err != nil {
		return err
	}
	if err := os.CopyFS(w.path, os.DirFS(source)); err != nil {
		return err
	}
	if err := w.all(ctx, w.client.install); err != nil {
		return err
	}
	return os.WriteFile(stamp, []byte(digest), 0o600)
}

// digestOf returns a digest of the names and contents of a folder's files.
func digestOf(folder string) (string, error) {
	files, err := os.ReadDir(folder)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(folder, f.Name())) //nolint:gosec // our own folder
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

// command runs a command in the folder and returns what it prints. Its error has
// the complaint, and of what it printed nothing that may hold a token.
func (w workplace) command(ctx context.Context, args []string, given map[string]string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...) //nolint:gosec // our own commands
	cmd.Dir = w.path
	cmd.Env = append(os.Environ(),
		"GOWORK=off", "PATH="+filepath.Join(w.path, "venv", "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	for name, value := range given {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err := cmd.Run()
	if err == nil {
		return out.Bytes(), nil
	}
	if given == nil {
		complaint.Write(out.Bytes())
	}
	return nil, fmt.Errorf("%s: %w: %s", strings.Join(args[:min(2, len(args))], " "), err, lastLines(complaint.String()))
}

// lastLines returns where tools say what went wrong.
func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], " | ")
}

// attempt is what a library made of the credential, sent in one of the two ways.
type attempt struct {
	First, Refresh, Renewed string // tokens
	ErrorType, ErrorCode    string // of a wrong secret
}

// report is what a program prints.
type report struct {
	Library, Version string
	Header, Form     attempt

	Status, Accepted int    // of a dispatch call
	Again            string // the code of the same call once more
}

// run runs the program with what it is given.
func (w workplace) run(ctx context.Context, given map[string]string) (report, error) {
	out, err := w.command(ctx, w.client.run, given)
	if err != nil {
		return report{}, err
	}
	lines := slices.Collect(strings.Lines(strings.TrimSpace(string(out))))
	var r report
	if len(lines) == 0 || json.Unmarshal([]byte(lines[len(lines)-1]), &r) != nil || r.Library == "" || r.Version == "" {
		return report{}, errors.New("the program prints no report")
	}
	return r, nil
}
