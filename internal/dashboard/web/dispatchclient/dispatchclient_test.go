package dispatchclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/dispatchclient"
	"campaign-dispatch/internal/httpapi"
)

var errTable = errors.New("the table is unreachable")

// answers is a dispatch service with one answer.
type answers struct {
	body   string
	err    error
	tenant string
	dryRun bool
	call   dispatchclient.Call
	lines  []int
}

func (a *answers) Dispatch(_ context.Context, tenant, _ string, body []byte, o campaign.PageCall) ([]byte, error) {
	a.tenant, a.dryRun, a.lines = tenant, o.DryRun, o.Lines
	if err := json.Unmarshal(body, &a.call); err != nil {
		return nil, err
	}
	return []byte(a.body), a.err
}

func page() *web.Page { return &web.Page{Session: web.Session{Tenant: "tenant"}} }

func call() dispatchclient.Call {
	return dispatchclient.Call{
		CampaignID: "c", Name: "Campaign", TemplateID: "t", Batch: "1",
		Messages: []dispatchclient.Message{{Phone: "+5511987654321", UID: "1", Vars: map[string]string{"name": "Ana"}}},
		Lines:    []int{7},
	}
}

func TestTry(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answers answers
		want    dispatchclient.Verdict
		used    bool
		err     error
	}{
		"accepted": {answers{body: `{"accepted":3,"rejected":1}`}, dispatchclient.Verdict{Accepted: 3, Rejected: 1}, false, nil},
		"already accepted": {
			answers{body: `{"errors":[{"code":"batch_already_used"}]}`},
			dispatchclient.Verdict{Errors: []dispatchclient.Violation{{Code: "batch_already_used"}}},
			true, nil,
		},
		"refused": {
			answers{err: &httpapi.Problem{Status: http.StatusNotFound, Code: "template_not_found", Detail: "Unknown template."}},
			dispatchclient.Verdict{Errors: []dispatchclient.Violation{{Code: "template_not_found", Detail: "Unknown template."}}},
			false, nil,
		},
		"unavailable": {answers{err: errTable}, dispatchclient.Verdict{}, false, errTable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := dispatchclient.Try(t.Context(), &test.answers, page(), call())
			if !errors.Is(err, test.err) || got.Used() != test.used {
				t.Errorf("error %v, used %v", err, got.Used())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
			if !test.answers.dryRun || test.answers.tenant != "tenant" {
				t.Errorf("dry run %v for tenant %q", test.answers.dryRun, test.answers.tenant)
			}
		})
	}
}

func TestMake(t *testing.T) {
	t.Parallel()
	unavailable := &httpapi.Problem{Status: http.StatusServiceUnavailable, Code: "try_again"}
	conflict := &httpapi.Problem{Status: http.StatusConflict, Code: "campaign_cancelled"}
	for name, test := range map[string]struct {
		answer error
		want   *httpapi.Problem
		err    error
	}{
		"accepted":         {nil, nil, nil},
		"already accepted": {&httpapi.Problem{Status: http.StatusConflict, Code: "batch_already_used"}, nil, nil},
		"already accepted, among others": {
			&httpapi.Problem{Status: http.StatusBadRequest, Code: "invalid", Errors: []httpapi.Violation{{Code: "batch_already_used"}}}, nil, nil,
		},
		"refused":     {conflict, conflict, nil},
		"unavailable": {unavailable, nil, unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := &answers{err: test.answer}
			problem, err := dispatchclient.Make(t.Context(), service, page(), call())
			if problem != test.want || !errors.Is(err, test.err) {
				t.Errorf("problem %v, error %v", problem, err)
			}
			if service.dryRun {
				t.Error("the call was a dry run")
			}
			if diff := cmp.Diff(call().Messages, service.call.Messages); diff != "" || len(service.lines) != 1 || service.lines[0] != 7 {
				t.Errorf("lines %v, messages (-want +got):\n%s", service.lines, diff)
			}
		})
	}
}
