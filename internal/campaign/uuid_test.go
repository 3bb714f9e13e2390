package campaign_test

import (
	"testing"

	"campaign-dispatch/internal/campaign"
)

func TestParseUUID(t *testing.T) {
	t.Parallel()
	const id = "0198d3a0-0000-4000-8000-00000000abcd"
	for text, want := range map[string]string{
		id:                                     id,
		"0198D3A0-0000-4000-8000-00000000ABCD": id,
		"0198d3a0-0000-1000-0000-00000000abcd": "0198d3a0-0000-1000-0000-00000000abcd", // any version
		"":                                     "",
		id + "\n":                              "",
		id + "0":                               "",
		"{" + id + "}":                         "",
		"0198d3a0000040008000-00000000abcd":    "",
		"0198d3a0-0000-4000-8000-00000000abcg": "",
		"0198d3a0-0000-4000-8000_00000000abcd": "",
	} {
		if got, ok := campaign.ParseUUID(text); got != want || ok != (want != "") {
			t.Errorf("%q: %q, %v; want %q", text, got, ok, want)
		}
	}
}
