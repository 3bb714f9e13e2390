package dynamo_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/webhook/delivery"
)

// losesAnswer carries out the first update, and loses its answer.
type losesAnswer struct {
	inner dynamodb.HTTPClient
	lost  bool
}

func (l *losesAnswer) Do(r *http.Request) (*http.Response, error) {
	answer, err := l.inner.Do(r)
	if l.lost || err != nil || !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".UpdateItem") {
		return answer, err
	}
	l.lost = true
	_ = answer.Body.Close()
	return nil, io.ErrUnexpectedEOF
}

// The SDK repeats an update without an answer, whose condition then fails. The endpoint is off, and whoever has disabled it
// must learn so: nobody else tells of it.
func TestDisableEndpoint_LostAnswer(t *testing.T) {
	t.Parallel()
	whole := newStore(t)
	for name, want := range map[string]struct{ noticed, disabled, notice bool }{
		"the first time":        {false, true, true},
		"after a recent notice": {true, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := delivery.Endpoint{ID: "a", Tenant: randomID(), URL: "https://a.example", Secret: "whsec_x"}
			if err := whole.SaveEndpoint(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			if want.noticed {
				if _, _, err := whole.DisableEndpoint(t.Context(), e.Tenant, e.ID, "gone", time.Hour); err != nil {
					t.Fatal(err)
				}
				if _, err := whole.SwitchEndpoint(t.Context(), e.Tenant, e.ID, ""); err != nil {
					t.Fatal(err)
				}
			}
			transport := &losesAnswer{}
			s := with(t, whole, func(o *dynamodb.Options) {
				transport.inner = o.HTTPClient
				o.HTTPClient = transport
			})
			disabled, notice, err := s.DisableEndpoint(t.Context(), e.Tenant, e.ID, "gone", time.Hour)
			if err != nil || disabled != want.disabled || notice != want.notice || !transport.lost {
				t.Errorf("disabled %v, notice %v, %v; the answer is lost: %v", disabled, notice, err, transport.lost)
			}
			if again, _, err := whole.DisableEndpoint(t.Context(), e.Tenant, e.ID, "gone", time.Hour); again || err != nil {
				t.Errorf("it is disabled twice, %v", err)
			}
		})
	}
}
