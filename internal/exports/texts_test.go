package exports_test

import (
	"encoding/json"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// words are a text in both languages.
type words struct{ PT, EN string }

// The texts of a file are those of the dashboard's pages.
func TestTexts_AsInTheDashboard(t *testing.T) {
	t.Parallel()
	read := func(path string, into any) {
		t.Helper()
		file, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(file, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var texts struct{ Statuses map[string]words }
	read("texts.json", &texts)
	messages := maps.Clone(texts.Statuses)
	delete(messages, "not_accepted") // of people without a message
	chosen := maps.Clone(texts.Statuses)
	delete(chosen, "opted_out") // a code of messages that were not sent, no status
	delete(chosen, "not_after_passed")
	delete(chosen, "window_closed")
	delete(chosen, "suppressed")
	for _, group := range []struct {
		path, prefix string
		texts        map[string]words
	}{
		{"../dashboard/campaigns/texts.json", "campaigns.outcome.", messages},
		{"../dashboard/exports/texts.json", "exports.status.", chosen},
	} {
		var all map[string]words
		read(group.path, &all)
		want := map[string]words{}
		for key, text := range all {
			if code, ok := strings.CutPrefix(key, group.prefix); ok {
				want[code] = text
			}
		}
		if diff := cmp.Diff(want, group.texts); diff != "" {
			t.Errorf("%s in %s (-pages +files):\n%s", group.prefix, group.path, diff)
		}
	}
}
