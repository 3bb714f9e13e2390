package dispatch_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/httpapi"
)

// ask makes a dispatch call from the dashboard, and returns the answer as a client
// would receive it.
func (b *bench) ask(tenant, body string, dryRun bool) reply {
	b.t.Helper()
	answer, err := b.Dispatch(b.t.Context(), tenant, "https://dash.example.test", []byte(body), campaign.PageCall{DryRun: dryRun})
	if problem, ok := errors.AsType[*httpapi.Problem](err); ok {
		return reply{status: problem.Status, Code: problem.Code}
	}
	b.must(err)
	got := reply{status: http.StatusAccepted, body: string(answer)}
	b.must(json.Unmarshal(answer, &got))
	return got
}

func TestDispatch_NoCredential(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.must(b.auth.RevokeCredential(t.Context(), b.clientID))
	body := b.body(fields{"batch": "1", "messages": append(messages(11987654321, 2), messages(1, 6)...)})

	dry := b.ask(b.tenant, body, true)
	if !dry.DryRun || !dry.Valid || dry.Accepted != 2 || dry.Rejected != 6 {
		t.Errorf("dry run: %s", dry.body)
	}
	got := b.ask(b.tenant, body, false)
	got.accepted(t)
	if !strings.HasPrefix(got.Feedback.ErrorFileURL, "https://dash.example.test/api/v1/error-files/") {
		t.Errorf("errorFileUrl = %q", got.Feedback.ErrorFileURL)
	}
	ref := b.handoffs.batches[0].BatchRef
	batch, err := b.store.Batch(t.Context(), ref)
	if err != nil || !strings.HasSuffix(got.Feedback.ErrorFileURL, "/"+batch.ErrorFile) || batch.ErrorFile == "" {
		t.Errorf("the batch's error file is %q (%v), want that of %q", batch.ErrorFile, err, got.Feedback.ErrorFileURL)
	}
	b.ask(b.tenant, body, false).want(t, http.StatusConflict, "batch_already_used")
}

func TestDispatch_ErrorFileLines(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	body := b.body(fields{"messages": append(messages(11987654321, 1), messages(1, 2)...)})
	_, err := b.Dispatch(t.Context(), b.tenant, "", []byte(body), campaign.PageCall{Lines: []int{2, 7, 9}})
	b.must(err)
	file, err := b.Blobs.Get(t.Context(), "errors/"+b.handoffs.batches[0].ErrorFile)
	b.must(err)
	var lines []string
	for line := range strings.Lines(string(file)) {
		number, _, _ := strings.Cut(line, ",")
		lines = append(lines, number)
	}
	if diff := cmp.Diff([]string{`"line"`, `"7"`, `"9"`}, lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestDispatch_SameRulesAsClients(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, body := range map[string]string{
		"not JSON":           "{",
		"no name":            b.body(fields{"name": nil}),
		"no template":        b.body(fields{"templateId": newUUID()}),
		"2,001 messages":     b.body(fields{"messages": messages(11987650000, 2001)}),
		"missing variables":  b.body(fields{"templateId": b.template}),
		"too soon a time":    b.body(fields{"schedule": "2037-11-21T15:01:00Z"}),
		"an early not-after": b.body(fields{"notAfter": "2037-11-21T14:00:00Z"}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, person := b.post(body), b.ask(b.tenant, body, false)
			if diff := cmp.Diff([]any{client.status, client.Code}, []any{person.status, person.Code}); diff != "" {
				t.Errorf("answers differ (-client +person):\n%s", diff)
			}
		})
	}
	b.ask("another-tenant", b.body(nil), false).want(t, http.StatusForbidden, "template_of_another_tenant")
}

// A page's call is accepted with the template's version that the person has seen, or refused.
func TestDispatch_TemplateVersion(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	body := []byte(b.body(nil))
	changed, err := b.store.PutTemplate(t.Context(), campaign.Template{
		ID: b.plain, Tenant: b.tenant, Name: "T", Content: content.Content{Text: "Tchau!"},
	})
	b.must(err)
	_, err = b.Dispatch(t.Context(), b.tenant, "", body, campaign.PageCall{TemplateVersion: changed.Version - 1})
	if problem, ok := errors.AsType[*httpapi.Problem](err); !ok || problem.Status != http.StatusConflict || problem.Code != "template_changed" {
		t.Errorf("an earlier version: %v", err)
	}
	if len(b.handoffs.batches) > 0 {
		t.Fatal("it was accepted")
	}
	_, err = b.Dispatch(t.Context(), b.tenant, "", body, campaign.PageCall{TemplateVersion: changed.Version})
	b.must(err)
	if got := b.handoffs.batches[0].TemplateVersion; got != changed.Version {
		t.Errorf("accepted with version %d, want %d", got, changed.Version)
	}
}
