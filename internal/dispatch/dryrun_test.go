package dispatch_test

import (
	"net/http"
	"strings"
	"testing"

	"campaign-dispatch/internal/gateway"
)

const dispatchPath = "/api/v1/external/campaigns/dispatch"

func TestDryRun_MistypedIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	good := b.body(nil)
	for _, query := range []string{
		"dryRun=True", "dryRun=TRUE", "dryRun=yes", "dryRun=1", "dryRun", "dryRun=", "dryRun=true%20", "dryrun=true", "DRYRUN=true",
		"dryRun=true&dryRun=true", "dryRun=true&dryRun=false", "dryRun=false&dryRun=true", "dryRun=true;x=1", "x=1;dryRun=true",
		"dryRun=%zz", "dryRun=true%", "dryRun=true+", "dry%52un=True", "dryRun%3Dtrue", "x=1?dryRun=true", "dryRun[]=true", "dry_run=true",
	} {
		got := b.postTo(dispatchPath+"?"+query, good)
		if got.status != http.StatusBadRequest || got.Code != "invalid_dry_run" {
			t.Errorf("%s: %d %s", query, got.status, got.body)
		}
	}
	if len(b.handoffs.batches) != 0 {
		t.Errorf("%d batches handed on", len(b.handoffs.batches))
	}
	b.postTo(dispatchPath+"?x=1&x=2&dryRun=false&%zz&to=a;b", good).accepted(t) // so nothing was written before
}

func TestDryRun_TokenIsJudgedBeforeTheQuery(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const url = dispatchPath + "?dryRun=yes"
	tokens := b.Tokens.(holder)
	b.Tokens = holder{tokens.claims, &gateway.Problem{Status: http.StatusForbidden, Code: "insufficient_scope"}}
	b.postTo(url, b.body(nil)).want(t, http.StatusForbidden, "insufficient_scope")
	b.Tokens = tokens
	b.postTo(url, strings.Repeat(" ", 5<<20)).want(t, http.StatusBadRequest, "invalid_dry_run")
	b.must(b.store.RevokeCredential(t.Context(), b.clientID))
	b.postTo(url, b.body(nil)).want(t, http.StatusUnauthorized, "invalid_token")
}
