package dynamo

import (
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/campaign"
)

func (s *AuthStore) ended(t *testing.T, tenant, email string) time.Time {
	t.Helper()
	until, err := s.SessionsEnded(t.Context(), tenant, email)
	if err != nil {
		t.Fatal(err)
	}
	return until
}

func (s *AuthStore) end(t *testing.T, tenant, email string, until time.Time) {
	t.Helper()
	if err := s.EndSessions(t.Context(), tenant, email, until); err != nil {
		t.Fatal(err)
	}
}

func TestEndSessions(t *testing.T) {
	t.Parallel()
	s, tenant := authStore(t), unique()
	const ana = "ana@acme.example"
	if until := s.ended(t, tenant, ana); !until.IsZero() {
		t.Errorf("before anything ended: %v", until)
	}
	s.end(t, tenant, "Ana@Acme.example", authNow)
	s.end(t, tenant, ana, authNow.Add(-time.Millisecond))
	if until := s.ended(t, tenant, strings.ToUpper(ana)); !until.Equal(authNow) {
		t.Errorf("void until %v, want %v", until, authNow)
	}
	s.end(t, tenant, ana, authNow.Add(time.Millisecond))
	if until := s.ended(t, tenant, ana); !until.Equal(authNow.Add(time.Millisecond)) {
		t.Errorf("void until %v, want a millisecond more", until)
	}
	for _, other := range [][2]string{{tenant + "x", ana}, {tenant, "x" + ana}} {
		if until := s.ended(t, other[0], other[1]); !until.IsZero() {
			t.Errorf("%s of %s: void until %v", other[1], other[0], until)
		}
	}
	later := *s
	later.Now = func() time.Time { return authNow.Add(campaign.SessionEndLife + time.Second) }
	if until := later.ended(t, tenant, ana); !until.IsZero() {
		t.Errorf("when no session is left: void until %v", until)
	}
}

// The light read returns the same as the SDK. It fails on incomplete or foreign responses,
// and the SDK is used instead.
func TestSessionsEnded_Light(t *testing.T) {
	t.Parallel()
	s, tenant := authStore(t), unique()
	s.Now = time.Now // needed for signing
	const ana = "ana@acme.example"
	for _, want := range []time.Time{{}, time.Now().UTC().Truncate(time.Millisecond)} {
		if !want.IsZero() {
			s.end(t, tenant, ana, want)
		}
		if got, err := s.fastSessionsEnded(t.Context(), tenant, ana); err != nil || !got.Equal(want) {
			t.Errorf("void until %v, %v; want %v", got, err, want)
		}
	}
	for name, answer := range map[string]struct {
		status    int
		sum, body string
	}{
		"throttled": {400, "", `{"__type":"ThrottlingException"}`}, "down": {500, "", ""}, "no sum": {200, "", "{}"},
		"another sum": {200, "1", "{}"}, "cut": {200, "2745614147", `{"Item":{`}, "somebody else": {200, "", "<html>"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Amz-Crc32", answer.sum)
			w.WriteHeader(answer.status)
			_, _ = io.WriteString(w, answer.body)
		}))
		elsewhere := *s
		elsewhere.Client = dynamodb.New(s.Client.Options(), func(o *dynamodb.Options) { o.BaseEndpoint = &server.URL })
		if got, err := elsewhere.fastSessionsEnded(t.Context(), tenant, ana); err == nil {
			t.Errorf("%s: void until %v", name, got)
		}
		server.Close()
	}
	broken := *s
	broken.Client = dynamodb.New(s.Client.Options(), func(o *dynamodb.Options) { o.HTTPClient = &onceBroken{inner: o.HTTPClient} })
	if got := broken.ended(t, tenant, ana); got.IsZero() {
		t.Error("a light read that fails is taken for no end of the sessions")
	}
}

// onceBroken fails its first call.
type onceBroken struct {
	inner dynamodb.HTTPClient
	calls int
}

func (b *onceBroken) Do(r *http.Request) (*http.Response, error) {
	if b.calls++; b.calls == 1 {
		return nil, io.ErrUnexpectedEOF
	}
	return b.inner.Do(r)
}

// After concurrent revocations, the latest instant is stored, in any order of writes.
func TestEndSessions_Concurrent(t *testing.T) {
	t.Parallel()
	s, tenant := authStore(t), unique()
	var all sync.WaitGroup
	for _, i := range rand.Perm(40) {
		all.Go(func() {
			if err := s.EndSessions(t.Context(), tenant, "ana@acme.example", authNow.Add(time.Duration(i)*time.Millisecond)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if until := s.ended(t, tenant, "ana@acme.example"); !until.Equal(authNow.Add(39 * time.Millisecond)) {
		t.Errorf("void until %v, want the last", until)
	}
}

// The row contains no personal data, because keys appear in AWS logs.
func TestEndSessions_NoPersonalData(t *testing.T) {
	t.Parallel()
	s, tenant := authStore(t), unique()
	s.end(t, tenant, "ana@acme.example", authNow)
	out, err := s.Client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &s.Auth, Key: personKey(tenant, "ana@acme.example")})
	if err != nil || len(out.Item) == 0 {
		t.Fatal(out, err)
	}
	for name := range out.Item {
		if strings.Contains(getText(out.Item, name), "acme.example") {
			t.Errorf("%s is %q", name, getText(out.Item, name))
		}
	}
	if end := getNumber(out.Item, TTL); end != authNow.Add(campaign.SessionEndLife).Unix() {
		t.Errorf("the row goes at %d", end)
	}
}
