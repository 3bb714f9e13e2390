package badinput

import (
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
	status, err := httpjson.Call(ctx, http.DefaultClient, http.MethodPost, env["BASE_URL"]+"/api/v1/external/campaigns/dispatch", token, map[string]any{
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
