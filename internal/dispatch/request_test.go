package dispatch

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
)

// A Call becomes the request that a client's call with the same texts is read into.
func FuzzCall(f *testing.F) {
	f.Add("0d9f2f4c-5c1e-4b7a-9a53-2f6f1f0a7b11", "n", "b", "2037-03-02T12:00", "11987654321", "u", "v", "a")
	f.Add("7", " ", "", "soon", "", " ", "", "")
	f.Add("", strings.Repeat("é", maxText+1), "\x00", "", "119", strings.Repeat("u", maxText+1), "\"", "<\u2028")
	f.Fuzz(func(t *testing.T, id, name, batch, schedule, phone, uid, variableName, value string) {
		call := Call{ID: campaign.ID{CampaignID: id}, Name: name, TemplateID: id, Batch: batch, Schedule: schedule, NotAfter: schedule}
		for range len(value) % 3 {
			call.Messages = append(call.Messages, Message{Phone: phone, UID: uid, Vars: map[string]string{variableName: value}, Line: 7})
		}
		if !utf8.ValidString(strings.Join([]string{id, name, batch, schedule, phone, uid, variableName, value}, " ")) {
			t.Skip("JSON replaces other bytes than ToValidUTF8")
		}
		want, wantFaults := readRequest(call.json(t), nil)
		got, gotFaults := call.request()
		if diff := cmp.Diff(wantFaults, gotFaults); diff != "" {
			t.Errorf("faults (-JSON +Call):\n%s", diff)
		}
		want.lines = got.lines
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(request{}, text{}, message{}, variable{}, sendWindow{})); diff != "" {
			t.Errorf("request (-JSON +Call):\n%s", diff)
		}
	})
}

// json returns the call as a client sends it.
func (asked Call) json(t *testing.T) []byte {
	t.Helper()
	type message struct {
		Phone string            `json:"phone"`
		UID   string            `json:"uid"`
		Vars  map[string]string `json:"vars"`
	}
	messages := make([]message, 0, len(asked.Messages))
	for _, m := range asked.Messages {
		messages = append(messages, message{m.Phone, m.UID, m.Vars})
	}
	all := map[string]any{"messages": messages}
	for name, value := range map[string]string{
		"campaignId": asked.CampaignID, "name": asked.Name, "templateId": asked.TemplateID, "batch": asked.Batch,
		"schedule": asked.Schedule, "notAfter": asked.NotAfter,
	} {
		if value != "" {
			all[name] = value
		}
	}
	body, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return body
}
