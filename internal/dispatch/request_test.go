package dispatch

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/phone"
)

// A Call becomes the request that a client's call with the same texts is read into.
func FuzzCall(f *testing.F) {
	f.Add("0d9f2f4c-5c1e-4b7a-9a53-2f6f1f0a7b11", "n", "b", "2037-03-02T12:00", "11987654321", "u", "v", "a")
	f.Add("7", " ", "", "soon", "", " ", "", "")
	f.Add("", "n", "b", "", "(011) 98765-4321", "u", "v", "a")
	f.Add("", "n", "b", "", "A", "u", "v", "a")
	f.Add("", strings.Repeat("é", maxText+1), "\x00", "", "119", strings.Repeat("u", maxText+1), "\"", "<\u2028")
	f.Fuzz(func(t *testing.T, id, name, batch, schedule, number, uid, variableName, value string) {
		call := Call{ID: campaign.ID{CampaignID: id}, Name: name, TemplateID: id, Batch: batch, Schedule: schedule, NotAfter: schedule}
		for range len(value) % 3 {
			call.Messages = append(call.Messages, Message{Phone: number, UID: uid, Vars: map[string]string{variableName: value}, Line: 7})
		}
		if !utf8.ValidString(strings.Join([]string{id, name, batch, schedule, number, uid, variableName, value}, " ")) {
			t.Skip("JSON replaces other bytes than ToValidUTF8")
		}
		want, wantFaults := readRequest(call.json(t), nil, false)
		got, gotFaults := call.request()
		if diff := cmp.Diff(wantFaults, gotFaults); diff != "" {
			t.Errorf("faults (-JSON +Call):\n%s", diff)
		}
		want.lines = got.lines
		for n := range want.messages { // those of files are read as people type them
			want.messages[n].number, want.messages[n].rejection = phone.ParseTyped(number)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(request{}, text{}, message{}, variable{}, sendWindow{}, names{})); diff != "" {
			t.Errorf("request (-JSON +Call):\n%s", diff)
		}
	})
}

// Messages may have their variables in any order, and others besides.
func TestEncode_VariablesInAnyOrder(t *testing.T) {
	t.Parallel()
	q, found := readRequest([]byte(`{"messages":[
		{"phone":"11987654321","uid":"1","vars":{"nome":"Ana","pedido":"7"}},
		{"phone":"11987654322","uid":"2","vars":{"pedido":"8","loja":"Sul","nome":"Bia"}},
		{"phone":"11987654323","uid":"3","vars":{"loja":"Sul","nome":"Caio","cor":"azul","pedido":"9"}},
		{"phone":"11987654324","uid":"4","vars":{"nome":"Davi","pedido":"10"}}]}`), nil, false)
	if i := slices.IndexFunc(found, func(f Fault) bool { return f.Message != whole }); i >= 0 {
		t.Fatalf("fault %+v", found[i])
	}
	body, offsets := encode(q, []string{"pedido", "nome"})
	messages, err := payload.Decode(body[offsets[0]:offsets[1]])
	if err != nil {
		t.Fatal(err)
	}
	var got [][]string
	for _, m := range messages {
		got = append(got, m.Values)
	}
	want := [][]string{{"7", "Ana"}, {"8", "Bia"}, {"9", "Caio"}, {"10", "Davi"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
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
