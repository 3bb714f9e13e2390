// Package badinput tests the service with invalid input: fuzz tests generate it for
// every parser and Schemathesis for every operation of the API.
package badinput

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/localstack/httpjson"
	"campaign-dispatch/localstack/runner"
	"campaign-dispatch/localstack/stackenv"
)

const (
	folder   = "localstack/lab/badinput"
	document = "internal/httpapi/openapi/openapi.json"
	venv     = ".local/schemathesis"
)

const checks = "not_a_server_error,status_code_conformance,content_type_conformance," +
	"response_headers_conformance,response_schema_conformance"

// Answers counts responses by status.
type Answers map[int]int

// Total returns the number of responses.
func (a Answers) Total() (n int) {
	for _, count := range a {
		n += count
	}
	return n
}

// CallAll runs Schemathesis on every operation of the OpenAPI document for d, with a
// token of the demo tenant. The error has the responses that violate the document.
func CallAll(ctx context.Context, env stackenv.Env, d time.Duration) (Answers, error) {
	python := runner.Python{Dir: venv, Requirements: folder + "/requirements.txt"}
	if err := python.Install(ctx, func(int, int, string) {}); err != nil {
		return nil, fmt.Errorf("install schemathesis: %w", err)
	}
	token, err := env.Token(ctx)
	if err != nil {
		return nil, err
	}
	id, err := scheduled(ctx, env, token)
	if err != nil {
		return nil, err
	}
	counts, err := filepath.Abs(filepath.Join(venv, "answers.json"))
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(venv, "bin", "schemathesis"), //nolint:gosec // files of the project
		"--config-file", folder+"/schemathesis.toml", "run", document, "--url", env["BASE_URL"], "--checks", checks,
		"--phases", "examples,coverage,fuzzing", "--max-time", strconv.Itoa(int(d.Seconds())), "--seed", "1",
		"--generation-database", "none", "--no-color", "--warnings", "off")
	cmd.Env = append(os.Environ(), "ACCESS_TOKEN="+token, "CAMPAIGN_ID="+id, "TEMPLATE_ID="+env["TEMPLATE_ID"], "ANSWERS="+counts)
	out, ran := cmd.CombinedOutput()
	if ran != nil {
		ran = fmt.Errorf("schemathesis: %w\n%s", ran, out)
	}
	text, err := os.ReadFile(counts) //nolint:gosec // a file of the project
	if err != nil {
		return nil, errors.Join(ran, err)
	}
	var answers Answers
	err = errors.Join(ran, json.Unmarshal(text, &answers), os.Remove(counts))
	return answers, err
}

// scheduled dispatches a campaign that is due in 24 hours and returns its id.
func scheduled(ctx context.Context, env stackenv.Env, token string) (id string, err error) {
	id = random.UUID()
	address := env["BASE_URL"] + "/api/v1/external/campaigns/dispatch"
	status, err := httpjson.Call(ctx, http.DefaultClient, http.MethodPost, address, token, map[string]any{
		"campaignId": id, "name": "bad input " + rand.Text(), "templateId": env["TEMPLATE_ID"],
		"schedule": time.Now().Add(24 * time.Hour).UTC().Format(time.RFC3339),
		"messages": []any{map[string]any{"phone": "+5561990000001", "uid": "u", "vars": map[string]any{"nome": "Ana", "pedido": 1}}},
	}, &json.RawMessage{})
	if err == nil && status != http.StatusAccepted {
		err = fmt.Errorf("status %d", status)
	}
	if err != nil {
		return "", fmt.Errorf("dispatch a campaign: %w", err)
	}
	return id, nil
}

// FuzzTest is one of the service's fuzz tests.
type FuzzTest struct {
	Package string // relative to the module, such as ./internal/phone
	Name    string
}

var fuzzTest = regexp.MustCompile(`(?m)^func (Fuzz\w*)\(`)

// FuzzTests returns all fuzz tests under a folder of the module.
func FuzzTests(folder string) (tests []FuzzTest, err error) {
	err = filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path) //nolint:gosec // a file of the project
		for _, found := range fuzzTest.FindAllSubmatch(text, -1) {
			tests = append(tests, FuzzTest{"./" + filepath.ToSlash(filepath.Dir(path)), string(found[1])})
		}
		return err
	})
	return tests, err
}

var executions = regexp.MustCompile(`execs: (\d+)`)

// ranOut matches a failure of go test that is not a finding: a worker was still busy at the end of the fuzz time.
var ranOut = regexp.MustCompile(`--- FAIL: \w+ \([0-9.]+s\)\n +context deadline exceeded\nFAIL`)

// Run fuzzes for d and returns the number of inputs. The error has the failing input,
// which go test writes to the package's testdata folder.
func (t FuzzTest) Run(ctx context.Context, d time.Duration) (inputs int, err error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", //nolint:gosec // tests of the module
		"-fuzz", "^"+t.Name+"$", "-fuzztime", d.String(), t.Package)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	if found := executions.FindAllSubmatch(out.Bytes(), -1); found != nil {
		inputs, _ = strconv.Atoi(string(found[len(found)-1][1])) // the pattern allows digits only
	}
	switch {
	case err != nil && !ranOut.Match(out.Bytes()):
		return inputs, fmt.Errorf("%s of %s: %w\n%s", t.Name, t.Package, err, out.String())
	case inputs == 0:
		return 0, fmt.Errorf("%s of %s executed no inputs:\n%s", t.Name, t.Package, out.String())
	}
	return inputs, nil
}
