package e2e_test

import (
	"encoding/json"
	"net/http"
	"testing"
)

// A mistyped dryRun parameter must not send messages, however the gateway parses the query.
func TestDryRun_Mistyped(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	call := c.call(messages(1))
	body, err := json.Marshal(call)
	if err != nil {
		t.Fatal(err)
	}
	authorization := []string{"Authorization", "Bearer " + c.token(), "Content-Type", "application/json"}
	for _, query := range []string{
		"dryRun=True", "dryRun=yes", "dryRun=1", "dryRun", "dryRun=true%20", "dryrun=true", "dryRun=true&dryRun=true",
		"dryRun=true;x=1", "x=1;dryRun=true", "dryRun=%zz", "dryRun=true%", "dry%52un=True", "x=1?dryRun=true", "dryRun%3Dtrue",
	} {
		if got := c.do(http.MethodPost, dispatchPath+"?"+query, body, authorization...); got.status != http.StatusBadRequest || got.Code != "invalid_dry_run" {
			t.Errorf("%s: status %d: %s", query, got.status, got.body)
		}
	}
	path := "/api/v1/external/campaigns/" + call["campaignId"].(string)
	if got := c.do(http.MethodGet, path, nil, authorization...); got.status != http.StatusNotFound {
		t.Errorf("read the campaign: status %d: %s, want 404", got.status, got.body)
	}
	if got := c.do(http.MethodPost, dispatchPath+"?dryRun=true", body, authorization...); got.status != http.StatusOK {
		t.Errorf("dry run: status %d: %s, want 200", got.status, got.body)
	}
}
