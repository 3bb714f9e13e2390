package events_test

import (
	"crypto/hmac"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"campaign-dispatch/internal/httpapi"
)

// Every signed body is accepted. An unsigned one has no effect.
func FuzzServeEvent(f *testing.F) {
	f.Add([]byte(`{"senderPhoneNumber":"+5511987654321","eventType":"DELIVERED","eventId":"e","messageId":"`+message+`","sendTime":"2026-03-01T11:00:00Z"}`), true)
	f.Add([]byte(`{"senderPhoneNumber":"5511987654321","messageId":"m","text":"parar","suggestionResponse":{"text":"t","postbackData":"p"}}`), true)
	f.Add([]byte(`{"eventType":"SUBSCRIBE","phoneNumber":"","location":{},"userFile":null}`), true)
	f.Add([]byte(`{"message":{"data":"e30="}}`), false)
	f.Add([]byte(`{"clientToken":"`+token+`x","secret":"s"}`), false)
	f.Fuzz(func(t *testing.T, data []byte, signed bool) {
		body, signature := data, ""
		if signed {
			mac := hmac.New(sha512.New, []byte(token))
			_, _ = mac.Write(data)
			signature = base64.StdEncoding.EncodeToString(mac.Sum(nil))
			body, _ = json.Marshal(map[string]any{"message": map[string]string{"data": base64.StdEncoding.EncodeToString(data)}})
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/"+agent, strings.NewReader(string(body)))
		r.SetPathValue("agentId", agent)
		r.Header.Set("X-Goog-Signature", signature)
		hookFixture, answer := newHookFixture(), httptest.NewRecorder()
		httpapi.HandlerFunc(hookFixture.hook.ServeEvent).ServeHTTP(answer, r)
		switch {
		case answer.Code >= http.StatusInternalServerError:
			t.Errorf("unexpected answer to %q: %d", data, answer.Code)
		case signed && len(data) > 0 && answer.Code != http.StatusOK:
			t.Errorf("signed %q was answered with %d", data, answer.Code)
		case !signed && (len(hookFixture.queued) > 0 || len(hookFixture.blobs) > 0):
			t.Errorf("unsigned %q was accepted", data)
		}
	})
}
