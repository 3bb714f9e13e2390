package sim_test

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/localstack/sim"
)

const (
	address = "http://127.0.0.1:9"
	agentID = "loja_agent"
	phone   = "+5511987654321"
	id      = "6f0c9f0e-1b2c-4d3e-8f40-000000000001"
	hello   = `{"contentMessage":{"text":"Olá"}}`
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

var accountKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

// provider is a simulator with a fixed clock and fixed random numbers.
type provider struct {
	*sim.Sim
	now    time.Time
	chance float64
	token  string
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	p := &provider{now: start, chance: 0.5}
	p.Sim = sim.New(sim.Options{
		URL: address, Key: accountKey(),
		Now: func() time.Time { return p.now }, Random: func() float64 { return p.chance },
	})
	p.token = p.login(t)
	return p
}

// request sends a request with the given headers only and returns the response.
func (p *provider) request(t *testing.T, method, path, body string, header http.Header) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	if header != nil {
		r.Header = header
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w
}

// call sends a request with the agent's token.
func (p *provider) call(t *testing.T, method, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	return p.request(t, method, path, body, http.Header{"Authorization": {"Bearer " + p.token}})
}

func (p *provider) send(t *testing.T, phone, id, body string) *httptest.ResponseRecorder {
	t.Helper()
	return p.call(t, "POST", "/v1/phones/"+phone+"/agentMessages?agentId="+agentID+"&messageId="+id, body)
}

// control calls the control API and fails the test if the call fails.
func (p *provider) control(t *testing.T, method, path, body string) []byte {
	t.Helper()
	w := p.request(t, method, path, body, nil)
	if w.Code/100 != 2 {
		t.Fatalf("%s %s: status %d: %s", method, path, w.Code, w.Body)
	}
	return w.Body.Bytes()
}

func (p *provider) messages(t *testing.T, query string) []sim.Message {
	t.Helper()
	var messages []sim.Message
	if err := json.Unmarshal(p.control(t, "GET", "/_sim/messages"+query, ""), &messages); err != nil {
		t.Fatalf("read the messages: %v", err)
	}
	return messages
}

// claims returns the claims of a valid assertion.
func claims() jwt.MapClaims {
	return jwt.MapClaims{
		"iss": agentID + "@simulator.iam.gserviceaccount.com", "aud": address + "/token",
		"scope": "https://www.googleapis.com/auth/rcsbusinessmessaging",
		"iat":   start.Unix(), "exp": start.Add(time.Hour).Unix(),
	}
}

func (p *provider) exchange(t *testing.T, grantType string, key *rsa.PrivateKey, c jwt.MapClaims) *httptest.ResponseRecorder {
	t.Helper()
	assertion, err := jwt.NewWithClaims(jwt.SigningMethodRS256, c).SignedString(key)
	if err != nil {
		t.Fatalf("sign: %v", err)
	}
	form := url.Values{"grant_type": {grantType}, "assertion": {assertion}}
	return p.request(t, "POST", "/token", form.Encode(), http.Header{"Content-Type": {"application/x-www-form-urlencoded"}})
}

const jwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer"

func (p *provider) login(t *testing.T) string {
	t.Helper()
	w := p.exchange(t, jwtBearer, accountKey(), claims())
	var answer struct {
		AccessToken string `json:"access_token"`
		ExpiresIn   int    `json:"expires_in"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK || answer.ExpiresIn != 3600 {
		t.Fatalf("status %d, body %s, error %v, want a token valid for an hour", w.Code, w.Body, err)
	}
	return answer.AccessToken
}

// errorStatus returns the status name of an error response in the format of
// Google's APIs.
func errorStatus(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	var answer struct {
		Error struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
			Status  string `json:"status"`
		} `json:"error"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || answer.Error.Code != w.Code || answer.Error.Message == "" {
		t.Errorf("status %d, body %s is not a Google API error: %v", w.Code, w.Body, err)
	}
	return answer.Error.Status
}

func TestToken_Rejected(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatalf("generate a key: %v", err)
	}
	with := func(name string, value any) jwt.MapClaims {
		c := claims()
		c[name] = value
		return c
	}
	tests := []struct {
		name      string
		grantType string
		key       *rsa.PrivateKey
		claims    jwt.MapClaims
		want      string
	}{
		{"another grant", "client_credentials", accountKey(), claims(), "unsupported_grant_type"},
		{"another key", jwtBearer, other, claims(), "invalid_grant"},
		{"another audience", jwtBearer, accountKey(), with("aud", "https://example.com"), "invalid_grant"},
		{"another scope", jwtBearer, accountKey(), with("scope", "email"), "invalid_grant"},
		{"another issuer", jwtBearer, accountKey(), with("iss", "me@example.com"), "invalid_grant"},
		{"expired", jwtBearer, accountKey(), with("exp", start.Unix()-1), "invalid_grant"},
	}
	for _, test := range tests {
		w := p.exchange(t, test.grantType, test.key, test.claims)
		var answer map[string]string
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != 400 || answer["error"] != test.want {
			t.Errorf("%s: status %d, body %s, want 400 and %s", test.name, w.Code, w.Body, test.want)
		}
	}
}

func TestKeyDocument(t *testing.T) {
	t.Parallel()
	document, err := newProvider(t).KeyDocument(agentID)
	if err != nil {
		t.Fatalf("key document: %v", err)
	}
	var got map[string]string
	if err := json.Unmarshal(document, &got); err != nil {
		t.Fatalf("decode %s: %v", document, err)
	}
	if got["type"] != "service_account" || got["token_uri"] != address+"/token" || got["client_email"] != claims()["iss"] {
		t.Errorf("the document is not a service account's: %v", got)
	}
	key, err := jwt.ParseRSAPrivateKeyFromPEM([]byte(got["private_key"]))
	if err != nil || !key.Equal(accountKey()) {
		t.Errorf("the document's key is not the account's: %v", err)
	}
}

func TestSend_Authorization(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	path := "/v1/phones/" + phone + "/agentMessages?messageId=" + id + "&agentId="
	tests := []struct {
		name, path, token string
		status            int
		want              string
	}{
		{"no token", path + agentID, "", 401, "UNAUTHENTICATED"},
		{"unknown token", path + agentID, "Bearer x", 401, "UNAUTHENTICATED"},
		{"no agent", path, "Bearer " + p.token, 400, "INVALID_ARGUMENT"},
		{"another agent", path + "other", "Bearer " + p.token, 403, "PERMISSION_DENIED"},
	}
	for _, test := range tests {
		w := p.request(t, "POST", test.path, hello, http.Header{"Authorization": {test.token}})
		if got := errorStatus(t, w); w.Code != test.status || got != test.want {
			t.Errorf("%s: got %d %s, want %d %s", test.name, w.Code, got, test.status, test.want)
		}
	}
	p.now = start.Add(time.Hour)
	if w := p.send(t, phone, id, hello); w.Code != http.StatusUnauthorized {
		t.Errorf("after an hour: got %d, want 401", w.Code)
	}
	if got := p.messages(t, ""); len(got) != 0 {
		t.Errorf("accepted %v, want nothing", got)
	}
}

func TestSend_Validation(t *testing.T) {
	t.Parallel()
	text := func(length int) string { return `{"contentMessage":{"text":"` + strings.Repeat("ã", length) + `"}}` }
	card := func(content string) string {
		return `{"contentMessage":{"richCard":{"standaloneCard":{"cardOrientation":"VERTICAL","cardContent":` + content + `}}}}`
	}
	replies := func(n int, text string) string {
		reply := `{"reply":{"text":"` + text + `","postbackData":"x"}}`
		return `"suggestions":[` + strings.TrimSuffix(strings.Repeat(reply+",", n), ",") + `]`
	}
	tests := []struct {
		name, phone, id, body string
		want                  int
	}{
		{"text", phone, id, hello, 200},
		{"text with all members", phone, id, `{"contentMessage":{"text":"a",` + replies(11, "Sim") + `},"messageTrafficType":"PROMOTION","ttl":"13.5s"}`, 200},
		{"escaped phone", "%2B5511987654321", id, hello, 200},
		{"no +", "5511987654321", id, hello, 400},
		{"no messageId", phone, "", hello, 400},
		{"messageId not a UUID", phone, "1234", hello, 400},
		{"UUID of version 1", phone, "6f0c9f0e-1b2c-1d3e-8f40-000000000001", hello, 400},
		{"UUID of another variant", phone, "6f0c9f0e-1b2c-4d3e-cf40-000000000001", hello, 400},
		{"no body", phone, id, "", 400},
		{"no content", phone, id, `{}`, 400},
		{"unknown member", phone, id, `{"contentMessage":{"text":"a"},"to":"b"}`, 400},
		{"longest text", phone, id, text(3072), 200},
		{"too long text", phone, id, text(3073), 400},
		{"larger than 250 KB", phone, id, `{"contentMessage":{"text":"a"}` + strings.Repeat(" ", 250<<10) + `}`, 400},
		{"ttl without a unit", phone, id, `{"contentMessage":{"text":"a"},"ttl":"60"}`, 400},
		{"shortest ttl", phone, id, `{"contentMessage":{"text":"a"},"ttl":"10s"}`, 200},
		{"too short ttl", phone, id, `{"contentMessage":{"text":"a"},"ttl":"9.999s"}`, 400},
		{"ttl and expireTime", phone, id, `{"contentMessage":{"text":"a"},"ttl":"60s","expireTime":"2026-03-02T00:00:00Z"}`, 400},
		{"unknown traffic type", phone, id, `{"contentMessage":{"text":"a"},"messageTrafficType":"SPAM"}`, 400},
		{"twelve suggestions", phone, id, `{"contentMessage":{"text":"a",` + replies(12, "Sim") + `}}`, 400},
		{"long suggestion", phone, id, `{"contentMessage":{"text":"a",` + replies(1, strings.Repeat("a", 26)) + `}}`, 400},
		{"empty suggestion", phone, id, `{"contentMessage":{"text":"a","suggestions":[{}]}}`, 400},
		{"suggestion without text", phone, id, `{"contentMessage":{"text":"a",` + replies(1, "") + `}}`, 400},
		{"card", phone, id, card(`{"title":"a","media":{"height":"TALL","contentInfo":{"fileUrl":"https://example.com/a"}},` + replies(4, "Sim") + `}`), 200},
		{"text and card", phone, id, strings.Replace(card(`{"title":"a"}`), `{"richCard"`, `{"text":"a","richCard"`, 1), 400},
		{"rich card without a card", phone, id, `{"contentMessage":{"richCard":{}}}`, 400},
		{"card without orientation", phone, id, strings.Replace(card(`{"title":"a"}`), "VERTICAL", "", 1), 400},
		{"empty card", phone, id, card(`{}`), 400},
		{"long title", phone, id, card(`{"title":"` + strings.Repeat("a", 201) + `"}`), 400},
		{"long description", phone, id, card(`{"description":"` + strings.Repeat("a", 2001) + `"}`), 400},
		{"media without height", phone, id, card(`{"media":{"contentInfo":{"fileUrl":"https://example.com/a"}}}`), 400},
		{"media without address", phone, id, card(`{"media":{"height":"TALL"}}`), 400},
		{"five suggestions on a card", phone, id, card(`{"title":"a",` + replies(5, "Sim") + `}`), 400},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t)
			w := p.send(t, test.phone, test.id, test.body)
			if w.Code != test.want {
				t.Errorf("got %d %s, want %d", w.Code, w.Body, test.want)
			}
			if test.want == http.StatusBadRequest && errorStatus(t, w) != "INVALID_ARGUMENT" {
				t.Errorf("got %s, want INVALID_ARGUMENT", w.Body)
			}
			if got, want := len(p.messages(t, "")), 1-min(1, test.want-200); got != want {
				t.Errorf("%d messages accepted, want %d", got, want)
			}
		})
	}
}

func TestSend_RepeatedMessageID(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	for _, body := range []string{hello, `{"contentMessage":{"text":"another"}}`} {
		if w := p.send(t, phone, strings.ToUpper(id), body); w.Code != http.StatusOK {
			t.Fatalf("got %d %s, want 200", w.Code, w.Body)
		}
	}
	p.send(t, phone, id, hello)
	want := []sim.Message{{MessageID: strings.ToUpper(id), Phone: phone, Text: "Olá", Attempts: 3, AcceptedAt: start}}
	if diff := cmp.Diff(want, p.messages(t, "")); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestFates(t *testing.T) {
	t.Parallel()
	const other = "6f0c9f0e-1b2c-4d3e-8f40-000000000002"
	tests := []struct {
		name, phone string
		want        []int // the statuses of a message's attempts
	}{
		{"unreachable", "+5511900000001", []int{404, 404}},
		{"throttled", "+5585900000002", []int{429, 429, 200, 200}},
		{"undelivered", "+5511900000003", []int{200}},
		{"unavailable", "+5599900000004", []int{503, 200, 200}},
		{"opt_out", "+5511900000005", []int{200}},
		{"delivered", "+5511900000006", []int{200}},
		{"not a Brazilian number", "+5411900000001", []int{200}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t)
			for _, messageID := range []string{id, other} { // each message has its own attempts
				var got []int
				for range test.want {
					w := p.send(t, test.phone, messageID, hello)
					got = append(got, w.Code)
					if (w.Code == http.StatusTooManyRequests) != (w.Header().Get("Retry-After") == "1") {
						t.Errorf("status %d with Retry-After %q", w.Code, w.Header().Get("Retry-After"))
					}
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("statuses (-want +got):\n%s", diff)
				}
			}
			for _, m := range p.messages(t, "") {
				if m.Attempts != len(test.want) {
					t.Errorf("message %s has %d attempts, want %d", m.MessageID, m.Attempts, len(test.want))
				}
			}
		})
	}
}

func TestSetFates(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	p.control(t, "PUT", "/_sim/fates", `{"+5511987654321":"unreachable","+5511900000001":"delivered"}`)
	p.control(t, "PUT", "/_sim/fates", `{"+14155552671":"forbidden","+14155552672":"unsupported"}`)
	for number, want := range map[string]int{
		phone: 404, "+5511900000001": 200, "+14155552671": 403, "+14155552672": 400, "+5511900000002": 429,
	} {
		if got := p.send(t, number, id, hello).Code; got != want {
			t.Errorf("%s: got %d, want %d", number, got, want)
		}
		p.control(t, "DELETE", "/_sim/messages", "")
	}
	for _, bad := range []string{`{"+5511987654321":"eaten"}`, `{"5511987654321":"delivered"}`, `[]`, ``} {
		if w := p.request(t, "PUT", "/_sim/fates", bad, nil); w.Code != http.StatusBadRequest {
			t.Errorf("fates %s: got %d, want 400", bad, w.Code)
		}
	}
}

func TestFates_AnswerLost(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	p.control(t, "PUT", "/_sim/fates", `{"`+phone+`":"answer_lost"}`)
	func() {
		defer func() {
			if got := recover(); got != http.ErrAbortHandler { //nolint:errorlint // a panic's value
				t.Errorf("the handler panicked with %v, want http.ErrAbortHandler", got)
			}
		}()
		p.send(t, phone, id, hello)
	}()
	if w := p.send(t, phone, id, hello); w.Code != http.StatusOK {
		t.Errorf("second attempt: got %d, want 200", w.Code)
	}
	if got := p.messages(t, ""); len(got) != 1 || got[0].Attempts != 2 {
		t.Errorf("messages %v, want one with two attempts", got)
	}
}

func TestBehaviour(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	p.control(t, "PUT", "/_sim/behaviour", `{"errorRate":0.25,"throttleRate":0.5,"eventDelayMs":10,"eventCopies":2}`)
	for _, test := range []struct {
		chance float64
		want   int
	}{{0, 503}, {0.24, 503}, {0.25, 429}, {0.74, 429}, {0.75, 200}} {
		p.chance = test.chance
		if got := p.send(t, phone, id, hello).Code; got != test.want {
			t.Errorf("chance %v: got %d, want %d", test.chance, got, test.want)
		}
	}
	if got := p.messages(t, ""); len(got) != 1 || got[0].Attempts != 5 {
		t.Errorf("messages %v, want one with five attempts", got)
	}
	p.control(t, "PUT", "/_sim/behaviour", `{}`)
	p.chance = 0
	if got := p.send(t, phone, id, hello).Code; got != http.StatusOK {
		t.Errorf("after a reset: got %d, want 200", got)
	}
	for _, bad := range []string{`{"errorRate":2}`, `{"throttleRate":-1}`, `{"latencyMs":-1}`, `{"rate":1}`, ``} {
		if w := p.request(t, "PUT", "/_sim/behaviour", bad, nil); w.Code != http.StatusBadRequest {
			t.Errorf("behaviour %s: got %d, want 400", bad, w.Code)
		}
	}
}

func TestBehaviour_Latency(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	p.control(t, "PUT", "/_sim/behaviour", `{"latencyMs":20}`)
	began := time.Now()
	if got := p.send(t, phone, id, hello).Code; got != http.StatusOK || time.Since(began) < 20*time.Millisecond {
		t.Errorf("got %d after %v, want 200 after 20 ms", got, time.Since(began))
	}
}

func TestListMessages_Filters(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	const count = 2500 // more than two pages
	for i := range count {
		to := phone
		if i%2 == 1 {
			to = "+14155552671"
		}
		messageID := id[:len(id)-4] + string([]byte{'0' + byte(i/1000), '0' + byte(i/100%10), '0' + byte(i/10%10), '0' + byte(i%10)})
		if w := p.send(t, to, messageID, hello); w.Code != http.StatusOK {
			t.Fatalf("send %d: got %d", i, w.Code)
		}
	}
	all := p.messages(t, "")
	if len(all) != count {
		t.Fatalf("%d messages, want %d", len(all), count)
	}
	for i := 1; i < count; i++ {
		if !all[i].AcceptedAt.After(all[i-1].AcceptedAt) {
			t.Fatalf("message %d: acceptedAt is not after the previous one", i)
		}
	}
	after := func(i int) string { return "after=" + all[i].AcceptedAt.Format(time.RFC3339Nano) }
	tests := []struct {
		query string
		want  int
	}{
		{"?phone=" + phone, count / 2},
		{"?phone=%2B14155552671", count / 2},
		{"?phone=+14155552672", 0},
		{"?" + after(0), count - 1},
		{"?" + after(count-1), 0},
		{"?after=2026-03-01T09:00:00-03:00", count - 1},
		{"?after=2020-01-01T00:00:00Z", count},
		{"?" + after(999) + "&phone=" + phone, (count - 1000) / 2},
	}
	for _, test := range tests {
		if got := len(p.messages(t, test.query)); got != test.want {
			t.Errorf("%s: %d messages, want %d", test.query, got, test.want)
		}
	}
	if w := p.request(t, "GET", "/_sim/messages?after=yesterday", "", nil); w.Code != http.StatusBadRequest {
		t.Errorf("after=yesterday: got %d, want 400", w.Code)
	}
	p.control(t, "DELETE", "/_sim/messages", "")
	if got := p.messages(t, ""); len(got) > 0 {
		t.Errorf("after DELETE: %v, want none", got)
	}
}

func TestReachableUsers(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	query := `{"agentId":"` + agentID + `","users":["` + phone + `","+5511900000001","55","+14155552671"]}`
	w := p.call(t, "POST", "/v1/users:batchGet", query)
	if want := `{"reachableUsers":["` + phone + `","+14155552671"]}`; w.Code != 200 || strings.TrimSpace(w.Body.String()) != want {
		t.Errorf("got %d %s, want %s", w.Code, w.Body, want)
	}
	if w := p.request(t, "POST", "/v1/users:batchGet", query, nil); errorStatus(t, w) != "UNAUTHENTICATED" {
		t.Errorf("no token: got %d, want 401", w.Code)
	}
}

func TestRevoke(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	path := "/v1/phones/" + phone + "/agentMessages/" + id + "?agentId=" + agentID
	if w := p.call(t, "DELETE", path, ""); errorStatus(t, w) != "NOT_FOUND" {
		t.Errorf("unknown message: got %d, want 404", w.Code)
	}
	p.send(t, phone, id, hello)
	if w := p.call(t, "DELETE", path, ""); w.Code != http.StatusOK {
		t.Errorf("got %d, want 200", w.Code)
	}
}

func TestUnknownPath(t *testing.T) {
	t.Parallel()
	if w := newProvider(t).call(t, "GET", "/v2/phones", ""); errorStatus(t, w) != "NOT_FOUND" {
		t.Errorf("got %d, want 404", w.Code)
	}
}
