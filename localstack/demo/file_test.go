package demo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestReadFile(t *testing.T) {
	t.Parallel()
	ana := Message{Phone: "+5511987654321", UID: "1", Vars: map[string]any{"nome": "Ana, a 1ª", "pedido": "7"}}
	tests := map[string]struct {
		name, text string
		want       Campaign
	}{
		"CSV": {
			"natal.csv", "phone,uid,nome,pedido\n+5511987654321,1,\"Ana, a 1ª\",7\n11987654322,2,,\n",
			Campaign{Name: "natal", Messages: []Message{
				ana, {Phone: "11987654322", UID: "2", Vars: map[string]any{"nome": "", "pedido": ""}},
			}},
		},
		"CSV of a spreadsheet": {
			"a.csv", "\xef\xbb\xbfuid;phone\r\n1;11987654321\r\n",
			Campaign{Name: "a", Messages: []Message{{Phone: "11987654321", UID: "1"}}},
		},
		"upper-case columns, blank rows, unnamed column": {
			"a.CSV", "Phone, UID ,\n11987654321,1,\n,,\n , ,\n\n11987654322,2,x\n,\n",
			Campaign{Name: "a", Messages: []Message{{Phone: "11987654321", UID: "1"}, {Phone: "11987654322", UID: "2"}}},
		},
		"CSV in Windows-1252": {
			"a.csv", "phone;uid;nome\n11987654321;1;Jo\xe3o\n",
			Campaign{Name: "a", Messages: []Message{{Phone: "11987654321", UID: "1", Vars: map[string]any{"nome": "João"}}}},
		},
		"JSON": {
			"a.json", `{"name":"Natal","templateId":"t","campaignId":"other","messages":[{"phone":"+5511987654321","uid":"1","vars":{"nome":"Ana, a 1ª","pedido":"7"}}]}`,
			Campaign{Name: "Natal", TemplateID: "t", Messages: []Message{ana}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ReadFile(t.Context(), write(t, test.name, test.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got, cmpopts.IgnoreUnexported(Message{})); diff != "" {
				t.Errorf("campaign (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadFile_Invalid(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ name, text, want string }{
		"other extension":    {"a.txt", "phone,uid", "want a .csv, .xlsx or .json file"},
		"malformed JSON":     {"a.json", "{\n\"messages\":[", "line 2"},
		"a list":             {"a.json", "[]", "not a JSON object"},
		"a number for a uid": {"a.json", "{\n\"messages\":[{\"phone\":\"1\",\"uid\":7}]}", "line 2: messages.uid must not be a number"},
		"no messages":        {"a.json", `{"name":"a"}`, "no messages"},
		"empty JSON":         {"a.json", " \n", "not a JSON object"},
		"no rows":            {"a.csv", "phone,uid\n", "no_rows"},
		"blank rows only":    {"a.csv", "phone,uid\n,\n", "no_rows"},
		"a long row":         {"a.csv", "phone,uid\n1,1\n\n1,2,3\n", "line 4: too_many_cells"},
		"an empty file":      {"a.csv", "\xef\xbb\xbf", "empty"},
		"no phone":           {"a.csv", "uid,nome\n1,Ana\n", "got: uid, nome"},
		"two phones":         {"a.csv", "phone,uid,Phone\n1,1,1\n", "twice [phone]"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := ReadFile(t.Context(), write(t, test.name, test.text)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v and %v, want an error with %q", got, err, test.want)
			}
		})
	}
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
