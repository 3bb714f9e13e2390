package webhook_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/webhook"
	"campaign-dispatch/internal/webhook/delivery"
)

// The webhook of an erased recipient contains the required fields of its kind, empty, and
// no others.
func TestNewMessage_Erased(t *testing.T) {
	t.Parallel()
	for kind, want := range map[delivery.Kind]map[string]any{
		delivery.KindReplied:  {"phone": "", "erased": true},
		delivery.KindOptedOut: {"phone": "", "erased": true},
		"message.delivered":   {"phone": "", "uid": "", "erased": true},
	} {
		m, err := webhook.NewMessage("subject", kind, time.Now(), webhook.Data{Erased: true})
		if err != nil {
			t.Fatal(err)
		}
		var posted struct{ Data map[string]any }
		if err := json.Unmarshal(m.Body, &posted); err != nil {
			t.Fatal(err)
		}
		delete(posted.Data, "occurredAt")
		if diff := cmp.Diff(want, posted.Data); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
}
