package sweep_test

import (
	"crypto/rand"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/insight"
	"campaign-dispatch/internal/oauth/authrow"
	"campaign-dispatch/internal/send/outgoing"
	"campaign-dispatch/internal/sweep"
	"campaign-dispatch/internal/webhook/delivery"
	"campaign-dispatch/localstack/stackenv"
)

// keptFor lists the kinds of rows without a TTL, by the component that deletes them.
var keptFor = map[string]string{
	"C META": "sweep", "C SET#": "sweep", "C PROGRESS": "sweep", "N NAME": "sweep",

	"A AGENT": "operator", "A OWNER": "operator", "A RATE": "operator", "TEN TENANT": "operator", "DIRECTORY AGENT#": "operator",
	"DIRECTORY TENANT#": "operator", "DIRECTORY PAUSE#": "operator", "PAUSE PAUSE": "operator", "TEMPLATES TEMPLATE#": "operator",
	"TEN CREDENTIAL#": "operator", "TEN ENDPOINT#": "operator", "TEN CIRCUIT#": "operator", "T CURRENT": "operator", "T V#": "operator",
	"CRED": "operator", "OPT": "operator",
}

type row = map[string]types.AttributeValue

// kind returns the prefixes of a row's keys.
func kind(r row) string {
	pk := regexp.MustCompile(`^[A-Z]+`).FindString(textOf(r, "pk"))
	sk := regexp.MustCompile(`^[A-Z]+#?`).FindString(textOf(r, "sk"))
	if sk == "" || slices.Contains([]string{"DOUBTED", "DOUBTS", "FORM", "OPT"}, pk) { // whose range keys are digests and random ids
		return pk
	}
	return pk + " " + sk
}

func textOf(r row, name string) string {
	if v, ok := r[name].(*types.AttributeValueMemberS); ok {
		return v.Value
	}
	return ""
}

// endOf returns when DynamoDB deletes a row, the zero time for never.
func endOf(r row) time.Time {
	v, ok := r[dynamo.TTL].(*types.AttributeValueMemberN)
	if !ok {
		return time.Time{}
	}
	seconds, _ := strconv.ParseInt(v.Value, 10, 64)
	return time.Unix(seconds, 0).UTC()
}

func (w *pipeline) rowsOf(table string) (rows []row) {
	w.t.Helper()
	pages := dynamodb.NewScanPaginator(w.store.Tables().Client, &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(w.t.Context())
		w.must(err)
		rows = append(rows, page.Items...)
	}
	return rows
}

// expire deletes expired rows, as DynamoDB does.
func (w *pipeline) expire(table string) {
	w.t.Helper()
	for _, r := range w.rowsOf(table) {
		if end := endOf(r); end.IsZero() || end.After(w.clock()) {
			continue
		}
		key := row{"pk": r["pk"]}
		if r["sk"] != nil {
			key["sk"] = r["sk"]
		}
		_, err := w.store.Tables().Client.DeleteItem(w.t.Context(), &dynamodb.DeleteItemInput{TableName: &table, Key: key})
		w.must(err)
	}
}

// leaveTraces creates the rows that no batch creates by itself.
func (w *pipeline) leaveTraces(b campaign.Batch) {
	w.t.Helper()
	ctx, now := w.t.Context(), w.clock()
	w.must(w.store.Pause(ctx, "tenant#other"))
	w.must(w.store.KeepResults(ctx, b.ID, insight.Results{At: now, Batches: 1, ExpiresAt: b.ExpiresAt()}))
	_, err := w.store.SwapRateLimit(ctx, w.agent, outgoing.RateLimit{}, outgoing.RateLimit{Every: time.Second, Next: now})
	w.must(err)
	w.must(w.store.AddPosts(ctx, w.tenant, now, map[string]delivery.PostCount{"all": {Accepted: 1, Failed: 1}}))
	w.must(w.store.RecordFailure(ctx, delivery.Failure{Tenant: w.tenant, EndpointID: "all", At: now, WebhookID: "msg_1"}))
	_, err = w.store.SaveCircuit(ctx, delivery.Circuit{Tenant: w.tenant, EndpointID: "all", Since: now, Next: now.Add(2 * campaign.Retention)})
	w.must(err)
	dead := delivery.Delivery{Tenant: w.tenant, EndpointID: "gone", Entries: []byte("entries"), Dead: true, Next: now, ExpiresAt: b.ExpiresAt()}.Identified()
	w.must(w.store.AddDeliveries(ctx, []delivery.Delivery{dead}))
	w.must(w.store.Audit(ctx, account.AuditEntry{Tenant: w.tenant, At: now, Who: "ana", Action: "a", Subject: "s"}))
	_, err = w.store.UseForm(ctx, w.tenant, rand.Text())
	w.must(err)
	auth := dynamo.NewAuthStore(w.store.Tables())
	w.must(auth.CreateCredential(ctx, account.Credential{ClientID: rand.Text(), Tenant: w.tenant, SecretHash: []byte{1}, CreatedAt: now}))
	for _, window := range []string{authrow.ClientWindow("client"), "another"} {
		_, _, err = auth.SwapWindow(ctx, window, nil, authrow.Window{{At: now, ID: 1}})
		w.must(err)
	}
	token := authrow.RefreshToken{Hash: campaign.Digest("1"), Family: "f", Expires: now.Add(campaign.RefreshLife)}
	w.must(auth.PutRefreshToken(ctx, token))
	w.must(auth.RevokeFamily(ctx, "f", token.Expires))
}

// acceptKeyed accepts a batch with an idempotency key.
func (w *pipeline) acceptKeyed(b campaign.Batch) {
	w.t.Helper()
	b.BatchID, b.Ordinal, b.State, b.NextCheck = campaign.BatchID("keyed"), 2, campaign.BatchCompleted, time.Time{}
	_, _ = rand.Read(b.Key[:])
	w.must(w.store.Accept(w.t.Context(), acceptance.Command{
		Batch: b, Ordinal: 2, Packed: []byte{0}, CreatedAt: b.AcceptedAt,
		ClientID: "client", IdempotencyKey: "key", Answer: acceptance.Answer{BodyHash: []byte{1}, Body: []byte("{}")}, AnswerUntil: w.clock().Add(campaign.AnswerLife),
	}, rand.Text()))
}

// Every row of a campaign has a TTL or a component that deletes it. After all of them
// expired, no row is left.
func TestRetention_EveryRowExpires(t *testing.T) {
	t.Parallel()
	w := withEndpoints(newPipeline(t))
	env := stackenv.Load(t)
	w.store.Set(func(tables *dynamo.Tables) { tables.Auth = env.OwnTable(t, env["AUTH_TABLE"]) })
	b := w.accept(103)
	w.acceptKeyed(b)
	w.live(b)
	w.answer(reaction.EventReply, "+5511900000001", "obrigado")
	w.answer(reaction.EventOptOut, "+5511900000002", "")
	w.answer(reaction.EventReply, "+5511900000003", "cancelar")
	for w.deliver(w.events, w.applier(), 500) { // its webhooks stay pending
	}
	w.leaveTraces(b)

	furthest := w.clock().Add(campaign.Retention)
	seen := map[string]bool{}
	for _, table := range []string{w.store.Tables().Campaigns, w.store.Tables().Auth} {
		for _, r := range w.rowsOf(table) {
			is, end := kind(r), endOf(r)
			seen[is] = true
			switch {
			case end.IsZero() && keptFor[is] == "":
				t.Errorf("a row of the kind %s has no end", is)
			case !end.IsZero() && keptFor[is] != "":
				t.Errorf("a row of the kind %s ends at %v, but it is to be ended by %s", is, end, keptFor[is])
			case end.After(furthest):
				t.Errorf("a row of the kind %s ends at %v", is, end)
			}
		}
	}
	checkSeen(t, seen)

	w.advance(campaign.Retention)
	w.settle(15 * time.Minute)
	for _, table := range []string{w.store.Tables().Campaigns, w.store.Tables().Auth} {
		w.expire(table)
		for _, r := range w.rowsOf(table) {
			if keptFor[kind(r)] != "operator" {
				t.Errorf("a row of the kind %s is left", kind(r))
			}
		}
	}
}

// checkSeen checks that all kinds of rows occurred: those that are kept and those with a
// TTL.
func checkSeen(t *testing.T, seen map[string]bool) {
	t.Helper()
	want := slices.Collect(maps.Keys(keptFor))
	want = append(want, "AUDIT", "B HEAD", "C BATCH#", "C RESULTS", "DOUBTED", "DOUBTS", "FAM", "FORM", "I IDEM", "OPTOUTLOG", "RATE", "REPLIES", "RT")
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(seen))); diff != "" {
		t.Errorf("kinds of rows (-want +got):\n%s", diff)
	}
}

// A batch that was never completed is not checked forever.
func TestSweep_ExpiredBatch(t *testing.T) {
	t.Parallel()
	w := newPipeline(t)
	w.must(w.store.Pause(t.Context(), "tenant#"+w.tenant))
	b := w.accept(3)
	w.handOff(b)
	w.run(b, time.Hour)
	w.advance(campaign.Retention)
	w.must(w.sweeper().Sweep(t.Context(), sweep.Section{}))
	if n := w.frames.added + w.revokes.added; n > 3 || w.provider.calls > 0 {
		t.Errorf("%d tasks, %d calls of the provider", n, w.provider.calls)
	}
	if _, err := w.store.Lifetime(t.Context(), b.ID); err == nil {
		t.Error("its campaign is there still")
	}
}
