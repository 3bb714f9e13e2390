package dispatch_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
)

// conflicts is a transport that cancels a transaction if another one on the same row is in
// progress, as DynamoDB does. The emulator executes them in turn. The first transaction is in progress until another one on
// the same row was cancelled, so at least two must come.
type conflicts struct {
	http.RoundTripper

	mu      sync.Mutex
	busy    map[string]bool // rows of transactions in progress
	first   sync.Once
	refused chan struct{} // closed when a transaction is cancelled
	refuse  func()
}

// withConflicts lets concurrent transactions of the bench conflict.
func (b *bench) withConflicts(tables dynamo.Tables) *conflicts {
	refused := make(chan struct{})
	c := &conflicts{
		RoundTripper: http.DefaultTransport, busy: map[string]bool{},
		refused: refused, refuse: sync.OnceFunc(func() { close(refused) }),
	}
	options := tables.Client.Options()
	options.HTTPClient = &http.Client{Transport: c}
	tables.Client = dynamodb.New(options)
	b.store = dynamotest.New(tables)
	b.Store = b.store
	return c
}

func (c *conflicts) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".TransactWriteItems") {
		return c.RoundTripper.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	rows := rowsOf(body)
	if reasons := c.begin(rows); reasons != nil {
		return cancelled(r, reasons), nil
	}
	defer c.end(rows)
	c.first.Do(c.wait)
	return c.RoundTripper.RoundTrip(r)
}

// rowsOf returns the keys of a transaction's rows.
func rowsOf(body []byte) (rows []string) {
	type key struct{ PK, SK struct{ S string } }
	var in struct {
		TransactItems []map[string]struct{ Item, Key key }
	}
	_ = json.Unmarshal(body, &in) // of the SDK
	for _, item := range in.TransactItems {
		for _, write := range item {
			k := write.Item
			if k == (key{}) {
				k = write.Key
			}
			rows = append(rows, k.PK.S+"|"+k.SK.S)
		}
	}
	return rows
}

// begin returns the reasons by row if any row is busy. Otherwise all of them become busy.
func (c *conflicts) begin(rows []string) (reasons []map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	refused := false
	for _, row := range rows {
		code := "None"
		if c.busy[row] {
			code, refused = "TransactionConflict", true
		}
		reasons = append(reasons, map[string]string{"Code": code})
	}
	if refused {
		c.refuse()
		return reasons
	}
	for _, row := range rows {
		c.busy[row] = true
	}
	return nil
}

// wait returns when a transaction was cancelled, or when none was for a minute.
func (c *conflicts) wait() {
	select {
	case <-c.refused:
	case <-time.After(time.Minute):
	}
}

// happened reports whether a transaction was cancelled.
func (c *conflicts) happened() bool {
	select {
	case <-c.refused:
		return true
	default:
		return false
	}
}

func (c *conflicts) end(rows []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, row := range rows {
		delete(c.busy, row)
	}
}

func cancelled(r *http.Request, reasons []map[string]string) *http.Response {
	return answered(r, http.StatusBadRequest, map[string]any{
		"__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException", "CancellationReasons": reasons,
	})
}
