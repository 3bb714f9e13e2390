package bench

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/golang-jwt/jwt/v5"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/aws/lambdahttp"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/oauth/accesstoken"
	"campaign-dispatch/internal/phone/numberset"
)

const (
	baseURL      = "https://api.example.test"
	tenantID     = "bench"
	clientID     = "rcs_bench"
	campaignID   = "0b5c8f2e-31f1-4f3c-8a67-1f0e2d3c4b5a"
	campaignName = "Natal 2026"
	templateID   = "6b0f6a6e-5d0a-4c7c-9a52-0d6f2f5b9a11"
)

// instant is an AWS without delay: it keeps what one campaign's calls
// need to be judged, and nothing else.
type instant struct {
	template campaign.Template
	name     string
	sets     []acceptance.PackedSet
	forget   bool // every call is the first of its campaign
	stored   int  // bytes of the payloads
}

func (a *instant) Snapshot(_ context.Context, q acceptance.Query) (acceptance.State, error) {
	s := acceptance.State{
		Credential: &account.Credential{ClientID: q.ClientID, Tenant: q.Tenant, Scope: account.ScopeDispatch},
		Template:   &a.template,
	}
	if len(a.sets) > 0 {
		s.Meta = &acceptance.Meta{Name: a.name, Batches: len(a.sets)}
		s.Sets = a.sets[q.KnownSets:]
	}
	return s, nil
}

func (a *instant) Accept(_ context.Context, cmd acceptance.Command, _ string) error {
	if !a.forget {
		a.name = cmd.Campaign
		a.sets = append(a.sets, acceptance.PackedSet{Ordinal: cmd.Ordinal, Packed: cmd.Packed})
	}
	return nil
}

// AddCall counts every call.
func (*instant) AddCall(context.Context, string, acceptance.CallBucket, acceptance.CallLimit, time.Time) (acceptance.CallBucket, bool, error) {
	return acceptance.CallBucket{}, true, nil
}

func (a *instant) Put(_ context.Context, _ string, payload []byte, _ string) error {
	a.stored += len(payload)
	return nil
}

func (*instant) Get(context.Context, string) ([]byte, error)    { return nil, campaign.ErrNotFound }
func (*instant) Delete(context.Context, string) error           { return nil }
func (*instant) Schedule(context.Context, campaign.Batch) error { return nil }
func (k benchKey) Keys(context.Context) ([]accesstoken.Key, error) {
	return []accesstoken.Key{k.key}, nil
}

// benchKey signs and verifies the tokens of the benchmark.
type benchKey struct {
	private *ecdsa.PrivateKey
	key     accesstoken.Key
}

func newBenchKey(b *testing.B) benchKey {
	b.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(b, err)
	key, err := accesstoken.NewKey(&private.PublicKey)
	check(b, err)
	return benchKey{private, key}
}

func (k benchKey) token(b *testing.B) string {
	b.Helper()
	now := time.Now()
	t := jwt.NewWithClaims(jwt.SigningMethodES256, jwt.MapClaims{
		"iss": baseURL, "aud": accesstoken.Audience(baseURL), "sub": clientID, "client_id": clientID, "jti": "1",
		"scope": account.ScopeDispatch, "tenant": tenantID, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	})
	t.Header["kid"], t.Header["typ"] = k.key.ID, "at+jwt"
	signed, err := t.SignedString(k.private)
	check(b, err)
	return signed
}

// handler is the dispatch function on an instant AWS.
func handler(aws *instant, key benchKey) lambda.Handler {
	service := &dispatch.Service{
		Tokens: &accesstoken.Verifier{Keys: key, Now: time.Now},
		Store:  aws, Blobs: aws, Releases: aws,
		SeenNumbers: &dispatch.SeenNumbers{Limit: 128 << 20}, Now: time.Now,
		BaseURL: baseURL, Lead: 5 * time.Minute, SweepDelay: 2 * time.Minute, Limiter: unreached(aws),
	}
	mux := http.NewServeMux()
	mux.Handle("POST /api/v1/external/campaigns/dispatch", httpapi.HandlerFunc(service.ServeDispatch))
	return lambdahttp.NewHandler(mux)
}

// unreached returns a limiter that counts calls as the deployed one does, and is
// never reached.
func unreached(calls dispatch.Calls) *dispatch.Limiter {
	return &dispatch.Limiter{Limit: acceptance.CallLimit{Rate: 100_000, Burst: 100_000}, Calls: calls, Timeout: 5 * time.Second}
}

// newInstant returns an AWS whose template needs four variables.
func newInstant() *instant {
	return &instant{template: campaign.Template{
		ID: templateID, Tenant: tenantID, Version: 1,
		Content: content.Content{Text: "Olá {{nome}}, seu pedido {{pedido}} de {{loja}} chega {{quando}}."},
	}}
}

// mobiles returns n different valid Brazilian mobile numbers in random order.
func mobiles(random *mathrand.Rand, n int) []uint64 {
	areas := []uint64{11, 19, 21, 27, 31, 41, 48, 51, 61, 62, 71, 81, 85, 91}
	seen := map[uint64]bool{}
	var numbers []uint64
	for len(numbers) < n {
		number := 55_00_9_0000_0000 + areas[random.IntN(len(areas))]*1_000_000_000 + 10_000_000 + random.Uint64N(80_000_000)
		if !seen[number] {
			seen[number] = true
			numbers = append(numbers, number)
		}
	}
	return numbers
}

// event is a call of the numbers as API Gateway passes it to a function: a message of
// four variables for each number.
func event(b *testing.B, token, batch string, numbers []uint64) []byte {
	b.Helper()
	return eventOf(b, token, batch, numbers, func(n uint64) map[string]any {
		return map[string]any{
			"nome": "Maria Aparecida de Souza", "pedido": fmt.Sprintf("%012d", n%1_000_000_000_000),
			"loja": "Loja da Esquina — Pinheiros", "quando": "amanhã, entre 9h e 12h",
		}
	})
}

// eventOf is a call of the numbers, with a message of the given variables for each.
func eventOf(b *testing.B, token, batch string, numbers []uint64, vars func(number uint64) map[string]any) []byte {
	b.Helper()
	messages := make([]plainMessage, len(numbers))
	for i, n := range numbers {
		messages[i] = plainMessage{
			Phone: fmt.Sprintf("+%d", n), UID: fmt.Sprintf("cliente-%06d-%d", i, n%1000), Vars: vars(n),
		}
	}
	var body bytes.Buffer
	check(b, json.NewEncoder(&body).Encode(map[string]any{
		"campaignId": campaignID, "name": campaignName, "templateId": templateID, "batch": batch, "messages": messages,
	}))
	var request events.APIGatewayV2HTTPRequest
	request.Version, request.RawPath, request.Body = "2.0", "/api/v1/external/campaigns/dispatch", body.String()
	request.Headers = map[string]string{"authorization": "Bearer " + token, "content-type": "application/json"}
	request.RequestContext.HTTP.Method, request.RequestContext.HTTP.Path = http.MethodPost, request.RawPath
	text, err := json.Marshal(request)
	check(b, err)
	return text
}

// accept makes one call, which has to be accepted.
func accept(b *testing.B, h lambda.Handler, event []byte) {
	b.Helper()
	answer, err := h.Invoke(b.Context(), event)
	if err != nil || !strings.Contains(string(answer), `202`) {
		b.Fatalf("the call was not accepted: %v %.300s", err, answer)
	}
}

// BenchmarkAccept accepts 2,000 messages in one call.
func BenchmarkAccept(b *testing.B) {
	key := newBenchKey(b)
	call := event(b, key.token(b), "1", mobiles(newRandom(), campaign.MaxMessages))
	aws := newInstant()
	aws.forget = true
	subject := handler(aws, key)
	b.ReportAllocs()
	for b.Loop() {
		accept(b, subject, call)
	}
	plain := &straightforward{key: &key.private.PublicKey, earlier: roaring64.New(), needed: aws.template.Variables()}
	defer likeDeployed(b)()
	p := compare(func() { accept(b, subject, call) }, func() { accept(b, plain, call) }, 10, 1)
	record(b, compared("accepting 2,000 messages", p, 0.06, fmt.Sprintf(
		"CPU of the dispatch function on AWS answers without latency, event of %d kB, against the usual parts, both with the functions' GOGC",
		len(call)/1000)))
}

// BenchmarkMany makes 10,000 calls of one message each in one campaign. Other load of the
// machine affects a call in one run and not in the next: the time of the n-th call is its
// shortest in several runs of the whole series.
func BenchmarkMany(b *testing.B) {
	const calls, first, runs = 10_000, 100, 8
	key, numbers := newBenchKey(b), mobiles(newRandom(), calls)
	token, series := key.token(b), make([][]byte, calls)
	for i := range numbers {
		series[i] = event(b, token, strconv.Itoa(i), numbers[i:i+1])
	}
	shortest := slices.Repeat([]time.Duration{time.Hour}, calls)
	for range runs {
		h := handler(newInstant(), key)
		for i, call := range series {
			start := time.Now()
			accept(b, h, call)
			shortest[i] = min(shortest[i], time.Since(start))
		}
	}
	slowest, baseline := slices.Max(shortest), median(shortest[:first])
	record(b, compared("10,000 calls of one message: the slowest", pair{slowest, baseline, float64(slowest) / float64(baseline)}, 2,
		fmt.Sprintf("time of each call, the shortest of %d runs of the series; the slowest call (number %d) against the median of the first %d",
			runs, slices.Index(shortest, slowest)+1, first)))
}

// BenchmarkLarge compares the 500th batch of a campaign with a first batch.
func BenchmarkLarge(b *testing.B) {
	const earlier, perRound = 500, 4
	key, numbers := newBenchKey(b), mobiles(newRandom(), (earlier+rounds*perRound+1)*campaign.MaxMessages)
	grown, bytes := grow(numbers[:earlier*campaign.MaxMessages])
	var calls [][]byte
	token := key.token(b)
	for part := range slices.Chunk(numbers[earlier*campaign.MaxMessages:], campaign.MaxMessages) {
		calls = append(calls, event(b, token, strconv.Itoa(earlier+len(calls)), part))
	}
	first := newInstant()
	first.forget = true
	each := func(h lambda.Handler) func() {
		next := 0
		return func() { accept(b, h, calls[next]); next++ }
	}
	p := compare(each(handler(grown, key)), each(handler(first, key)), perRound, perRound)
	record(b, compared("the 500th batch, warm", p, 1.5, "CPU with 1,000,000 earlier numbers and more, against a campaign's first batch"))
	record(b, measured("the 500th batch, cold: read", float64(bytes)/(earlier*campaign.MaxMessages), "bytes/number", 4,
		"packed sets that a function reads which knows none of them"))
}

// grow returns an AWS whose campaign has the numbers in batches already, and
// how many bytes their sets take.
func grow(numbers []uint64) (aws *instant, bytes int) {
	aws = newInstant()
	aws.name = campaignName
	for part := range slices.Chunk(numbers, campaign.MaxMessages) {
		packed := numberset.New(part).Pack()
		bytes += len(packed)
		aws.sets = append(aws.sets, acceptance.PackedSet{Ordinal: len(aws.sets) + 1, Packed: packed})
	}
	return aws, bytes
}
