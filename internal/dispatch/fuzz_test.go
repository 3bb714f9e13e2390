package dispatch

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/httpapi"
)

// Every body has an encodable answer, and a request without violations can be stored.
func FuzzReadRequest(f *testing.F) {
	f.Add([]byte(`{"campaignId":"0d9f2f4c-5c1e-4b7a-9a53-2f6f1f0a7b11","name":"n","templateId":"0d9f2f4c-5c1e-4b7a-9a53-2f6f1f0a7b12",` +
		`"batch":"b","schedule":"2037-03-02T12:00","sendWindow":{"days":["monday"],"from":"09:00","until":"24:00","x":1},"notAfter":"2037-03-03T12:00:00Z",` +
		`"messages":[{"phone":"+5511987654321","uid":"u","vars":{"a":"b","c":1,"d":null,"e":true}},{"phone":"11","uid":"=v"}]}`))
	f.Add([]byte(`{"messages":[null,[],{"phone":1,"uid":{},"vars":[]}],"notAfter":"9999-12-31T23:59:59-12:00"}`))
	now := time.Date(2037, 3, 1, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, body []byte) {
		unknown := &unknownNames{}
		q, found := readRequest(body, unknown, false)
		read, late := q.checkTimes(now, 5*time.Minute, time.Time{})
		for _, v := range append(found, late...) {
			if v.status() != http.StatusBadRequest || v.Code == "" || v.Detail == "" {
				t.Errorf("a violation without detail: %+v", v)
			}
		}
		if text, err := httpapi.EncodeJSON(newDryAnswer(&call{req: q, client: &client{unknown: unknown}}, acceptance.State{Template: &campaign.Template{Content: content.Content{Text: "{{a}} {{c}}"}}}, found)); err != nil || !json.Valid(text) {
			t.Errorf("encode answer: %v", err)
		}
		if lines, err := csv.NewReader(bytes.NewReader(errorFile(q))).ReadAll(); err != nil || len(lines) > 1+len(q.messages) {
			t.Errorf("an error file of %d lines: %v", len(lines), err)
		}
		if len(found) > 0 {
			return
		}
		if !json.Valid(body) || len(q.messages) == 0 || len(q.messages) > campaign.MaxMessages {
			t.Errorf("accepted %d messages", len(q.messages))
		}
		if _, err := json.Marshal([]time.Time{read.due, read.notAfter}); err != nil {
			t.Errorf("a time that cannot be stored: %v", err)
		}
		for i := range q.messages {
			m := &q.messages[i]
			if blank(m.uid) || m.vars[0] > m.vars[1] || int(m.vars[1]) > len(q.vars) || (m.number == 0) == (m.rejection == nil) {
				t.Errorf("message %d: %+v", i, m)
			}
		}
	})
}
