package demo

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
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
		"JSON": {
			"a.json", `{"name":"Natal","templateId":"t","campaignId":"other","messages":[{"phone":"+5511987654321","uid":"1","vars":{"nome":"Ana, a 1ª","pedido":"7"}}]}`,
			Campaign{Name: "Natal", TemplateID: "t", Messages: []Message{ana}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ReadFile(write(t, test.name, test.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("campaign (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadFileRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ name, text string }{
		"another kind of file": {"a.txt", "phone,uid"},
		"broken JSON":          {"a.json", `{"messages":[`},
		"no messages":          {"a.json", `{"name":"a"}`},
		"no rows":              {"a.csv", "phone,uid\n"},
		"a short row":          {"a.csv", "phone,uid\n1\n"},
		"an empty file":        {"a.csv", ""},
		"no phone":             {"a.csv", "uid,nome\n1,Ana\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := ReadFile(write(t, test.name, test.text)); err == nil {
				t.Errorf("got %v, want an error", got)
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
