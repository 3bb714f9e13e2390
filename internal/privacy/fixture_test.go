package privacy_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/csv"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/aws/s3"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/phone/numberset"
	"campaign-dispatch/internal/privacy"
	"campaign-dispatch/internal/reach/lists/book"
	"campaign-dispatch/internal/reach/optout"
	"campaign-dispatch/localstack/stackenv"
)

const (
	ana   = 5561987650001
	bruno = 5561987650002
	caio  = 5561987650003
)

func written(number uint64) string { return fmt.Sprintf("+%d", number) }

// tenantFixture is a tenant with one campaign, in its own table, with a clock.
type tenantFixture struct {
	t      *testing.T
	now    time.Time
	store  *dynamotest.Store
	blobs  *s3.Store
	tenant campaign.Tenant
	id     campaign.ID
	name   string // of the campaign
	// version is the version of the template, 1 if 0. tapKey is the TapKey of batches, and
	// clicks reports whether they count clicks.
	version int
	tapKey  []byte
	clicks  bool
}

func newTenantFixture(t *testing.T) *tenantFixture {
	t.Helper()
	env := stackenv.Load(t)
	w := &tenantFixture{t: t, now: time.Now().Truncate(time.Millisecond), name: "Natal"}
	client := dynamodb.NewFromConfig(env.AWS())
	w.store = dynamotest.New(dynamo.Tables{
		Client: client, Auth: env["AUTH_TABLE"], Campaigns: env.OwnTable(t, env["CAMPAIGNS_TABLE"]), Outcomes: env["OUTCOMES_TABLE"],
		Webhooks: env["WEBHOOKS_TABLE"], Now: func() time.Time { return w.now },
	})
	w.blobs = &s3.Store{Client: awss3.NewFromConfig(env.AWS(), func(o *awss3.Options) { o.UsePathStyle = true }), Bucket: env["BUCKET"]}
	w.tenant = campaign.Tenant{ID: "person-" + rand.Text()[:8], Name: "Pessoa", AgentID: env["DEMO_AGENT_ID"]}
	w.tenant.ID = lower(w.tenant.ID)
	w.id = campaign.ID{Tenant: w.tenant.ID, CampaignID: lower("0190b6a4-" + rand.Text()[:12])}
	w.must(w.store.SaveTenant(t.Context(), w.tenant, nil))
	_, err := w.store.PutTemplate(t.Context(), campaign.Template{ID: template, Tenant: w.tenant.ID, Version: 1, Name: "t", Content: content.Content{Text: "Oi"}})
	w.must(err)
	return w
}

const template = "7d3f5a10-3c1f-4b9f-8a10-0190b6a47a1c"

func lower(s string) string { return string(bytes.ToLower([]byte(s))) }

func (w *tenantFixture) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// accept adds a batch to the campaign at the current time, with an error file that
// holds the same numbers.
func (w *tenantFixture) accept(ordinal int, numbers ...uint64) campaign.Batch {
	w.t.Helper()
	var p payload.Writer
	var file bytes.Buffer
	lines := csv.NewWriter(&file)
	_ = lines.Write([]string{"line", "phone", "uid", "code", "reason"})
	for i, n := range numbers {
		p.Add(n, fmt.Append(nil, n), nil)
		_ = lines.Write([]string{strconv.Itoa(i + 1), fmt.Sprintf("(%d) %d", n/1e9%100, n%1e9), "", "invalid_form", "r"})
	}
	lines.Flush()
	name := fmt.Sprint("batch ", ordinal)
	b := campaign.Batch{
		BatchRef: campaign.BatchRef{ID: w.id, BatchID: campaign.BatchID(name)}, Name: name, Ordinal: ordinal, Accepted: len(numbers),
		TemplateID: template, TemplateVersion: max(1, w.version), TapKey: w.tapKey, CountsClicks: w.clicks, ErrorFile: rand.Text(),
		AcceptedAt: w.now, Due: w.now, State: campaign.BatchSending, Payload: "payloads/" + w.tenant.ID + "/" + w.id.CampaignID + "/" + rand.Text(),
	}
	_, _ = rand.Read(b.Key[:])
	body, offsets := p.Finish()
	b.Offsets = offsets
	w.put(b.Payload, body)
	w.put(campaign.ErrorFileKey(b.ErrorFile), file.Bytes())
	created := w.now
	if l, err := w.store.Dispatched(w.t.Context(), w.id); err == nil {
		created = l.CreatedAt
	}
	w.must(w.store.Accept(w.t.Context(), acceptance.Command{
		Batch: b, Campaign: w.name, Ordinal: ordinal, Packed: numberset.New(numbers).Pack(), CreatedAt: created,
	}, rand.Text()))
	return b
}

func (w *tenantFixture) put(key string, body []byte) {
	w.t.Helper()
	w.must(w.blobs.Put(w.t.Context(), key, body, "text/plain"))
	w.t.Cleanup(func() { _ = w.blobs.Delete(context.Background(), key) })
}

func (w *tenantFixture) service() *privacy.Service {
	return &privacy.Service{
		Store: privacy.Store{Campaigns: w.store, Outcomes: w.store, Erasure: w.store}, Blobs: w.blobs, OptOuts: &optout.Book{Store: w.store, Now: w.store.Tables().Now},
		Lists: &book.Book{Store: w.store, Blobs: w.blobs, Now: w.store.Tables().Now},
		Now:   w.store.Tables().Now, Progress: func(string, int, int) {},
	}
}

func (w *tenantFixture) erase(number uint64) privacy.Erased {
	w.t.Helper()
	done, err := w.service().Erase(w.t.Context(), w.tenant.ID, written(number))
	w.must(err)
	return done
}

func (w *tenantFixture) export(number uint64) privacy.Export {
	w.t.Helper()
	x, err := w.service().Export(w.t.Context(), w.tenant.ID, written(number))
	w.must(err)
	return x
}

// numbers returns the numbers of a batch's messages, 0 for an erased message.
func (w *tenantFixture) numbers(b campaign.Batch) (all []uint64) {
	w.t.Helper()
	var messages []campaign.Message
	w.must(payload.OfLatest(w.t.Context(), w.store.Batch, w.blobs, b, func(b campaign.Batch) (err error) {
		messages, err = payload.ReadAll(w.t.Context(), w.blobs, b)
		return err
	}))
	for _, m := range messages {
		all = append(all, uint64(m.Phone))
	}
	return all
}

// set returns the numbers of a batch's set.
func (w *tenantFixture) set(ordinal int) []uint64 {
	w.t.Helper()
	sets, err := w.store.PackedSets(w.t.Context(), w.id)
	w.must(err)
	for _, s := range sets {
		if s.Ordinal == ordinal {
			numbers, err := numberset.Unpack(s.Packed)
			w.must(err)
			return numbers
		}
	}
	return nil
}
