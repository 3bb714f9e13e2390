package dispatch_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dispatch"
)

// The latencies of the simulated AWS.
const (
	readTime        = 8 * time.Millisecond
	transactionTime = 25 * time.Millisecond
	putTime         = 30 * time.Millisecond
)

// hotRow is a DynamoDB with one template and the budget of one tenant, in the time of a
// synctest bubble. Of two concurrent transactions on the budget, it cancels the second one.
type hotRow struct {
	rows map[string]string // by pk, as JSON

	mu   sync.Mutex
	used int64
	busy bool
}

func (h *hotRow) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	switch _, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), "."); operation {
	case "BatchGetItem":
		time.Sleep(readTime) // of the bubble
		return answered(r, http.StatusOK, h.read(body)), nil
	case "TransactWriteItems":
		return h.write(r, body), nil
	}
	time.Sleep(readTime)
	return answered(r, http.StatusOK, map[string]any{"Items": []any{}}), nil
}

func (h *hotRow) read(body []byte) any {
	type key struct{ PK struct{ S string } }
	var in struct {
		RequestItems map[string]struct{ Keys []key }
	}
	_ = json.Unmarshal(body, &in) // of the SDK
	h.mu.Lock()
	defer h.mu.Unlock()
	found := map[string][]json.RawMessage{}
	for table, wanted := range in.RequestItems {
		for _, k := range wanted.Keys {
			if row, ok := h.rows[k.PK.S]; ok {
				found[table] = append(found[table], json.RawMessage(strings.ReplaceAll(row, "USED", strconv.FormatInt(h.used, 10))))
			}
		}
	}
	return map[string]any{"Responses": found}
}

func (h *hotRow) write(r *http.Request, body []byte) *http.Response {
	type value struct {
		N int64 `json:",string"`
	}
	var in struct {
		TransactItems []struct {
			Update struct {
				ExpressionAttributeValues struct {
					Total value `json:":total"`
					Most  value `json:":most_total"`
				}
			}
		}
	}
	_ = json.Unmarshal(body, &in)     // of the SDK
	last := len(in.TransactItems) - 1 // the budget
	reasons := make([]map[string]string, last+1)
	for i := range reasons {
		reasons[i] = map[string]string{"Code": "None"}
	}
	reasons[last]["Code"] = h.commit(in.TransactItems[last].Update.ExpressionAttributeValues.Total.N, in.TransactItems[last].Update.ExpressionAttributeValues.Most.N)
	if reasons[last]["Code"] == "" {
		return answered(r, http.StatusOK, map[string]any{})
	}
	return cancelled(r, reasons)
}

// commit adds an amount to the budget, and returns the code of a cancelled transaction.
func (h *hotRow) commit(amount, most int64) (code string) {
	h.mu.Lock()
	busy := h.busy
	h.busy = true
	h.mu.Unlock()
	if busy {
		return "TransactionConflict"
	}
	time.Sleep(transactionTime)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.busy = false
	if h.used > most {
		return "ConditionalCheckFailed"
	}
	h.used += amount
	return ""
}

func answered(r *http.Request, status int, v any) *http.Response {
	body, _ := json.Marshal(v)
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(bytes.NewReader(body)), Request: r,
	}
}

// slowBlobs is an S3 that keeps nothing, in the time of a synctest bubble.
type slowBlobs struct{}

func (slowBlobs) Put(context.Context, string, []byte, string) error {
	time.Sleep(putTime)
	return nil
}
func (slowBlobs) Get(context.Context, string) ([]byte, error) { return nil, campaign.ErrNotFound }
func (slowBlobs) Delete(context.Context, string) error        { return nil }

// hotService returns a service with a monthly budget for room messages of one each.
func hotService(h *hotRow, room int64) *dispatch.Service {
	const prices = `"basicPrice":{"N":"1"},"singlePrice":{"N":"1"},"dayLimit":{"N":"0"}`
	h.rows = map[string]string{
		"T#" + hotTemplate: `{"pk":{"S":"T#` + hotTemplate + `"},"sk":{"S":"CURRENT"},"tenant":{"S":"t"},"version":{"N":"1"},"content":{"S":"{\"text\":\"Oi\"}"}}`,
		"TEN#t":            `{"pk":{"S":"TEN#t"},"sk":{"S":"BILLING"},` + prices + `,"monthLimit":{"N":"` + strconv.FormatInt(room, 10) + `"}}`,
		"BUDGET#t":         `{"pk":{"S":"BUDGET#t"},"sk":{"S":"2037-11"},"total":{"N":"USED"}}`,
	}
	now := func() time.Time { return time.Date(2037, 11, 21, 15, 0, 0, 0, time.UTC) }
	client := dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: aws.String("http://dynamodb.invalid"),
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""), HTTPClient: &http.Client{Transport: h},
	})
	return &dispatch.Service{
		Store: dynamotest.New(dynamo.Tables{Client: client, Auth: "auth", Campaigns: "campaigns", Now: now}),
		Blobs: slowBlobs{}, Releases: &handoffs{}, SeenNumbers: &dispatch.SeenNumbers{Limit: 1 << 20}, Now: now, Lead: time.Minute,
	}
}

const hotTemplate = "0190b6a4-7a1c-4d51-b5a0-3c1f0a4b9f10"

// With the latencies of AWS, 100 concurrent calls at the edge of a budget are all decided
// within 10 seconds.
func TestAccept_ConcurrentBudgetInTime(t *testing.T) {
	t.Parallel()
	const calls, room = 100, 37
	synctest.Test(t, func(t *testing.T) {
		h := &hotRow{}
		service := hotService(h, room)
		began := time.Now()
		codes := make([]string, calls)
		var all sync.WaitGroup
		for i := range calls {
			all.Go(func() {
				_, err := service.Accept(t.Context(), dispatch.Call{
					ID: campaign.ID{Tenant: "t", CampaignID: newUUID()}, Name: strconv.Itoa(i), TemplateID: hotTemplate, Messages: people(11987650000+i, 1),
				})
				if refusal, refused := errors.AsType[*dispatch.Refusal](err); refused {
					codes[i] = refusal.Faults[0].Code
				} else if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		counts := map[string]int{}
		for _, code := range codes {
			counts[code]++
		}
		if diff := cmp.Diff(map[string]int{"": room, "budget_exceeded": calls - room}, counts); diff != "" || h.used != room {
			t.Errorf("reserved %d, answers (-want +got):\n%s", h.used, diff)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("the calls took %v", took)
		}
	})
}
