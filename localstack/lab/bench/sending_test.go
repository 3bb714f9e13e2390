package bench

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/campaign/ledger"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/rcs"
	"campaign-dispatch/internal/reach"
	"campaign-dispatch/internal/send"
	"campaign-dispatch/internal/send/outgoing"
	"campaign-dispatch/localstack/lab/metering"
)

const (
	// sendRounds batches of campaign.MaxMessages are sent in one measurement.
	sendRounds = 20
	// tasksAtOnce is how many frames the queue gives the function at once.
	tasksAtOnce = 10
	// sendLimit is how many times the processor time of plain posts sending may take:
	// on two idle cores, less than the 200 microseconds a message that are left at
	// 10,000 messages a second.
	sendLimit = 2
)

var errSendBench = errors.New("not every message was sent")

// BenchmarkSend runs the send function alone: the client of the provider and all
// decisions, against a provider on the loopback that answers at once. The rows and queues
// of AWS are in memory.
func BenchmarkSend(b *testing.B) {
	ctx := b.Context()
	provider, err := newLoopback(ctx)
	check(b, err)
	defer provider.close()
	document, err := loopbackKey(provider.url)
	check(b, err)
	rows := newSendRows(document, mobiles(newRandom(), campaign.MaxMessages))
	sender := &send.Sender{
		Store: rows, Blobs: rows, Recorder: rows, Reach: reach.Lookup{OptOuts: rows, Lists: noLists{}}, Queue: rows,
		Provider:    &rcs.Client{URL: provider.url, Keys: rows, HTTP: rcs.NewHTTPClient(metering.SendConcurrency), Now: time.Now},
		Concurrency: metering.SendConcurrency, SweepAfter: time.Hour, Now: time.Now, Jitter: mathrand.Float64,
	}
	check(b, rows.sendAll(ctx, sender)) // connections, token, caches
	began := time.Now()
	for range sendRounds {
		check(b, rows.sendAll(ctx, sender))
	}
	rate := sendRounds * campaign.MaxMessages / time.Since(began).Seconds()
	spent := compare(func() { check(b, rows.sendAll(ctx, sender)) }, func() { check(b, postPlainly(ctx, provider.url)) }, 2, 2)
	const method = "provider on the loopback, rows in memory"
	record(b, measured("send function alone", rate, "messages/s", 0, "40,000 messages, "+method+"; should be 10,000 or more on two idle cores"))
	record(b, compared("sending 2,000 messages", spent, sendLimit, "CPU, "+method+", that of the provider included, against 2,000 posts by net/http"))
}

// postPlainly posts as many messages as a batch has, by net/http alone.
func postPlainly(ctx context.Context, url string) error {
	transport := &http.Transport{MaxIdleConnsPerHost: metering.SendConcurrency}
	defer transport.CloseIdleConnections()
	posts, posting := errgroup.WithContext(ctx)
	posts.SetLimit(metering.SendConcurrency)
	for i := range campaign.MaxMessages {
		posts.Go(func() error {
			body, err := json.Marshal(map[string]any{"contentMessage": map[string]string{"text": fmt.Sprintf("Olá Maria, seu pedido %d saiu para entrega.", i)}})
			if err != nil {
				return err
			}
			r, err := http.NewRequestWithContext(posting, http.MethodPost, url, bytes.NewReader(body))
			if err != nil {
				return err
			}
			answer, err := transport.RoundTrip(r)
			if err != nil {
				return err
			}
			_, err = io.Copy(io.Discard, answer.Body)
			return errors.Join(err, answer.Body.Close())
		})
	}
	return posts.Wait()
}

// sendRows is one batch and its recipients in memory, over and over again.
type sendRows struct {
	batch    campaign.Batch
	payload  []byte
	document []byte
	recorded atomic.Int64
}

func newSendRows(document []byte, numbers []uint64) *sendRows {
	var w payload.Writer
	for i, n := range numbers {
		w.Add(n, strconv.AppendInt([]byte("uid-"), int64(i), 10), [][]byte{[]byte("Maria"), strconv.AppendInt(nil, int64(i), 10)})
	}
	r := &sendRows{document: document, batch: campaign.Batch{
		BatchRef:   campaign.BatchRef{ID: campaign.ID{Tenant: tenantID, CampaignID: random.UUID()}, BatchID: campaign.BatchID("")},
		TemplateID: random.UUID(), TemplateVersion: 1, Accepted: len(numbers), State: campaign.BatchSending, NextCheck: time.Now().Add(time.Hour),
	}}
	r.payload, r.batch.Offsets = w.Finish()
	return r
}

// sendAll sends the whole batch once more, as another one.
func (r *sendRows) sendAll(ctx context.Context, sender *send.Sender) error {
	_, _ = rand.Read(r.batch.Key[:])
	r.recorded.Store(0)
	for start := 0; start < r.batch.Frames(); start += tasksAtOnce {
		tasks := make([]outgoing.SendTask, 0, tasksAtOnce)
		for f := start; f < min(start+tasksAtOnce, r.batch.Frames()); f++ {
			tasks = append(tasks, outgoing.SendTask{BatchRef: r.batch.BatchRef, Frame: f})
		}
		if err := errors.Join(sender.Handle(ctx, tasks)...); err != nil {
			return err
		}
	}
	if r.recorded.Load() != int64(r.batch.Accepted) {
		return fmt.Errorf("%d of %d: %w", r.recorded.Load(), r.batch.Accepted, errSendBench)
	}
	return nil
}

func (r *sendRows) Batch(context.Context, campaign.BatchRef) (campaign.Batch, error) {
	return r.batch, nil
}

func (r *sendRows) LedgerHead(context.Context, campaign.BatchKey) (ledger.Head, error) {
	return ledger.Head{}, nil
}

func (r *sendRows) SetFailingTime(context.Context, campaign.Batch, campaign.FailingTime) (bool, error) {
	return true, nil
}

func (r *sendRows) PostponeCheck(context.Context, campaign.Batch, time.Time) (bool, error) {
	return true, nil
}

func (r *sendRows) AllPaused(context.Context) (bool, error) { return false, nil }

func (r *sendRows) OwnRoute(context.Context, string, string) (outgoing.Route, error) {
	return outgoing.Route{Agent: campaign.Agent{ID: "agent"}}, nil
}

func (r *sendRows) TemplateVersion(context.Context, string, int) (campaign.Template, error) {
	return campaign.Template{Content: content.Content{Text: "Olá {{nome}}, seu pedido {{pedido}} saiu para entrega."}}, nil
}

func (r *sendRows) RateLimit(context.Context, string) (outgoing.RateLimit, error) {
	return outgoing.RateLimit{}, nil
}

func (r *sendRows) SwapRateLimit(context.Context, string, outgoing.RateLimit, outgoing.RateLimit) (bool, error) {
	return true, nil
}

func (r *sendRows) GetRange(_ context.Context, _ string, from, to int) ([]byte, error) {
	return r.payload[from:to], nil
}

func (r *sendRows) Record(_ context.Context, _ campaign.Batch, changes []campaign.Change) error {
	r.recorded.Add(int64(len(changes)))
	return nil
}

func (r *sendRows) OptedOut(context.Context, string, time.Time) (func(e164.Number) bool, error) {
	return func(e164.Number) bool { return false }, nil
}

func (r *sendRows) Send(context.Context, string, []byte, time.Duration) error { return nil }

func (r *sendRows) KeyDocument(context.Context, string) ([]byte, error) { return r.document, nil }

// loopback is a provider that takes everything: as little HTTP as will do, so
// that what is measured is the sender.
type loopback struct {
	listener net.Listener
	url      string
}

func newLoopback(ctx context.Context) (*loopback, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	l := &loopback{listener: listener, url: "http://" + listener.Addr().String()}
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go l.serve(connection)
		}
	}()
	return l, nil
}

func (l *loopback) close() { _ = l.listener.Close() }

var loopbackAnswer = func() []byte {
	const body = `{"access_token":"t","token_type":"Bearer","expires_in":3600}`
	return fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}()

// serve answers each request of a connection with the same, which is a token too.
func (l *loopback) serve(connection net.Conn) {
	defer func() { _ = connection.Close() }()
	r := bufio.NewReader(connection)
	for {
		length := 0
		for {
			line, err := r.ReadSlice('\n')
			if err != nil {
				return
			}
			if line = bytes.TrimSpace(line); len(line) == 0 {
				break
			}
			if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
				length, _ = strconv.Atoi(string(value))
			}
		}
		if _, err := io.CopyN(io.Discard, r, int64(length)); err != nil {
			return
		}
		if _, err := connection.Write(loopbackAnswer); err != nil {
			return
		}
	}
}

// loopbackKey is the key document of a service account that gets its tokens there.
func loopbackKey(url string) ([]byte, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("write a key: %w", err)
	}
	return json.Marshal(map[string]string{
		"type": "service_account", "client_email": "bench@example.iam.gserviceaccount.com", "token_uri": url + "/token",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	})
}

// noLists are the lists of tenants without lists.
type noLists struct{}

func (noLists) KeptBy(context.Context, string, campaign.Traffic, time.Time) (func(e164.Number) int, error) {
	return func(e164.Number) int { return 0 }, nil
}
