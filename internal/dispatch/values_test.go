package dispatch

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/dispatch/acceptance"
)

// callWith returns the body of a call of 20 messages, with the JSON of the variables of message 17.
func callWith(vars string) string {
	var all []string
	for i := range 20 {
		own := `{"nome":"Ana"}`
		if i == 17 {
			own = vars
		}
		all = append(all, `{"phone":"119876543`+strconv.Itoa(10+i)+`","uid":"u","vars":`+own+`}`)
	}
	return `{"campaignId":"0d9f2f4c-5c1e-4b7a-9a53-2f6f1f0a7b11","name":"n","templateId":"0d9f2f4c-5c1e-4b7a-9a53-2f6f1f0a7b12",` +
		`"messages":[` + strings.Join(all, ",") + `]}`
}

// judged returns the code and the pointer of the first fault of a body, for a template that needs nome.
func judged(body string, encoded bool) string {
	q, found := readRequest([]byte(body), nil, encoded)
	if len(found) == 0 {
		found.checkVariables(q, []string{"nome"})
	}
	if len(found) == 0 {
		return ""
	}
	return found[0].Code + " " + found[0].pointer()
}

// One bad text among many messages names its message. Only the values that the template needs are judged, and U+FFFD
// only as such: programs write it in place of letters that they cannot read.
func TestReadRequest_BadValue(t *testing.T) {
	t.Parallel()
	for vars, want := range map[string]string{
		`{"nome":"Jos\ufffd"}`:                      "",
		"{\"nome\":\"Jos\ufffd\"}":                  "invalid_utf8 /messages/17/vars/nome",
		"{\"nome\":\"a\\nJos\ufffd\"}":              "invalid_utf8 /messages/17/vars/nome",
		"{\"nome\":\"Jos\ufffd \\ufffd\"}":          "invalid_utf8 /messages/17/vars/nome",
		"{\"nome\":\"Ana\",\"loja\":\"Jos\ufffd\"}": "",
		"{\"nome\":\"Ana\",\"Jos\ufffd\":\"a\"}":    "",
		"{\"loja\":\"Jos\ufffd\",\"nome\":\"Ana\"}": "",
		"{\"loja\":\"Jos\ufffd\",\"nome\":12}":      "",
		`{"nome":"A\u0000na"}`:                      "invalid_character /messages/17/vars/nome",
		`{"nome":"Ana","loja":"\u0000"}`:            "",
		`{"nome":"A\u0007n\u0085a\u007f\r\n\t"}`:    "",
		"{\"nome\":\"Jos\xe9\"}":                    "invalid_utf8 /messages/17/vars/nome",
		`{"nome":"\ud83d"}`:                         "invalid_utf8 /messages/17/vars/nome",
		`{"nome":"A\xe9na"}`:                        "malformed_json /messages/17/vars/nome",
		"{\"nome\":\"A\nna\"}":                      "malformed_json /messages/17/vars/nome",
		"{\"loja\":{\"cor\":[\"A\nna\"]}}":          "malformed_json /messages/17/vars/loja/cor/0",
		"{\"a/b\":\"A\nna\"}":                       "malformed_json /messages/17/vars/a~1b",
		`{"nome":"Ana","nome":"Bia"}`:               "duplicate_name /messages/17/vars",
		`{"nome":tru}`:                              "malformed_json /messages/17/vars/nome",
		`{"nome":["Ana"]}`:                          "invalid_variable /messages/17/vars/nome",
		`{"nome":"Ana"},"uid":"\ud83d"`:             "duplicate_name /messages/17",
		`{"nome":"Ana"},"x":"\ud83d"`:               "invalid_utf8 /messages/17/x",
		`{"nome":"Ana"}}{`:                          "malformed_json /messages",
		`"Ana"`:                                     "invalid_type /messages/17/vars",
	} {
		if got := judged(callWith(vars), false); got != want {
			t.Errorf("%s: %q, want %q", vars, got, want)
		}
	}
}

// The detail of a bad text does not count bytes: its pointer says where it is.
func TestReadRequest_Detail(t *testing.T) {
	t.Parallel()
	for vars, bytes := range map[string]bool{"{\"nome\":\"A\nna\"}": false, `{"nome":tru}`: false, `{"nome":"Ana"}}{`: true} {
		_, found := readRequest([]byte(callWith(vars)), nil, false)
		if got := strings.Contains(found[0].Detail, "byte"); got != bytes {
			t.Errorf("%s: %s", vars, found[0].Detail)
		}
	}
}

func TestReadRequest_Encoded(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"\x1f\x8b\x08\x00\x00":        "unsupported_encoding ",
		"\x1f\ufffd\x08\x00\x00":      "unsupported_encoding ",
		"{\xff":                       "unsupported_encoding ",
		callWith(`{"nome":"Ana"}`):    "",
		callWith(`{"nome":"\ud83d"}`): "invalid_utf8 /messages/17/vars/nome",
		callWith(`{}`):                "missing_variable /messages/17/vars/nome",
	} {
		if got := judged(body, true); got != want {
			t.Errorf("%.20q: %q, want %q", body, got, want)
		}
	}
	if got := (Fault{Code: "unsupported_encoding"}).status(); got != http.StatusUnsupportedMediaType {
		t.Errorf("status %d", got)
	}
}

// A call of a page or a worker is judged as a client's: its texts have no escapes.
func TestRequest_BadValue(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"Ana\r": "", "Jos\ufffd": content.CodeInvalidUTF8, "Jos\xe9": content.CodeInvalidUTF8, "A\x00na": content.CodeInvalidCharacter,
	} {
		asked := Call{Messages: []Message{{Phone: "11987654321", UID: "u", Vars: map[string]string{"nome": value, "loja": "\x00"}}}}
		q, _ := asked.request()
		var found faults
		found.checkVariables(q, []string{"nome"})
		var got string
		for _, f := range found {
			got = f.Code
		}
		if got != want {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
	}
}

// A dry run counts what a message leaves out of a value, and shows the first finished URL.
func TestDryRun_Values(t *testing.T) {
	t.Parallel()
	link := content.Suggestion{Kind: content.OpenURL, Text: "Ver", URL: "https://loja.example/{{+caminho}}"}
	template := &campaign.Template{Content: content.Content{Text: "Olá {{nome}}", Suggestions: []content.Suggestion{link}}}
	message := func(phone, nome string) string {
		return `{"phone":"` + phone + `","uid":"u","vars":{"nome":"` + nome + `","caminho":"promo/verão?utm_source=rcs","x":"\u0007"}}`
	}
	body := `{"messages":[` + strings.Join([]string{
		message("11987654321", `A\u0007na`), message("11", `A\u0007na`), message("11987654322", `\ufffd`), message("11987654323", `Bia\n`),
	}, ",") + `]}`
	q, found := readRequest([]byte(body), nil, false)
	a := newDryAnswer(&call{req: q, client: &client{}}, acceptance.State{Template: template}, found)
	want := valueFindings{
		ControlCharacters:     &findings{1, []string{"/messages/0/vars/nome"}},
		ReplacementCharacters: &findings{1, []string{"/messages/2/vars/nome"}},
		FirstURLs:             []string{"https://loja.example/promo/ver%C3%A3o?utm_source=rcs"},
	}
	if diff := cmp.Diff(want, a.valueFindings); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	text, err := json.Marshal(a)
	if err != nil || !strings.Contains(string(text), `"firstUrls":["https://loja.example/promo/ver%C3%A3o?utm_source=rcs"]`) {
		t.Errorf("%s, %v", text, err)
	}
}

// Control characters are not sent, and not billed.
func TestClasses_Controls(t *testing.T) {
	t.Parallel()
	value, _ := json.Marshal(strings.Repeat("a", content.BasicBytes) + "\r")
	q, _ := readRequest([]byte(`{"messages":[{"phone":"11987654321","uid":"u","vars":{"nome":`+string(value)+`}}]}`), nil, false)
	if got := q.classes(campaign.Template{Content: content.Content{Text: "{{nome}}"}}); got.Basic != 1 {
		t.Errorf("classes %+v", got)
	}
}
