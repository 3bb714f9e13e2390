package badinput

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"campaign-dispatch/internal/random"
	"campaign-dispatch/localstack/httpjson"
	"campaign-dispatch/localstack/stackenv"
)

const (
	folder   = "localstack/badinput"
	document = "internal/httpapi/openapi/openapi.json"
	venv     = ".local/schemathesis"
)

// checks are the Schemathesis checks of every response.
const checks = "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance"

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
	if err := install(ctx); err != nil {
		return nil, err
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

// install creates a Python environment with Schemathesis unless the same requirements
// are already installed.
func install(ctx context.Context) error {
	const requirements = folder + "/requirements.txt"
	wanted, err := os.ReadFile(requirements)
	if err != nil {
		return fmt.Errorf("install schemathesis: %w", err)
	}
	stamp := filepath.Join(venv, "installed")
	if installed, err := os.ReadFile(stamp); err == nil && bytes.Equal(installed, wanted) { //nolint:gosec // a file of the project
		return nil
	}
	if err := os.RemoveAll(venv); err != nil {
		return fmt.Errorf("install schemathesis: %w", err)
	}
	for _, command := range [][]string{
		{"python3", "-m", "venv", venv},
		{
			filepath.Join(venv, "bin", "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
			"--no-deps", "--require-hashes", "-r", requirements,
		},
	} {
		if out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput(); err != nil { //nolint:gosec // constant arguments
			return fmt.Errorf("install schemathesis (requires Python 3.10 and the Python package index): %w\n%s", err, out)
		}
	}
	return os.WriteFile(stamp, wanted, 0o600) //nolint:gosec // a file of the project
}

// scheduled dispatches a campaign that is due in 24 hours and returns its id.
func scheduled(ctx context.Context, env stackenv.Env, token string) (id string, err error) {
	id = random.UUID()
	body, err := json.Marshal(map[string]any{
		"campaignId": id, "name": "bad input " + rand.Text(), "templateId": env["TEMPLATE_ID"],
		"schedule": time.Now().Add(24 * time.Hour).UTC().Format(time.RFC3339),
		"messages": []any{map[string]any{"phone": "+5561990000001", "uid": "u", "vars": map[string]any{"nome": "Ana", "pedido": 1}}},
	})
	if err != nil {
		return "", err
	}
	r, err := httpjson.NewPost(ctx, env["BASE_URL"]+"/api/v1/external/campaigns/dispatch", token, body)
	if err != nil {
		return "", err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", fmt.Errorf("dispatch a campaign: %w", err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusAccepted {
		return "", fmt.Errorf("dispatch a campaign: status %d", answer.StatusCode)
	}
	return id, nil
}
