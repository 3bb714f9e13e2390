package campaign_test

import (
	"strings"
	"testing"

	"campaign-dispatch/internal/campaign"
)

// FuzzParseMessageID checks that only IDs of MessageID are accepted.
func FuzzParseMessageID(f *testing.F) {
	f.Add(campaign.BatchKey{1, 2, 3}.MessageID(7))
	f.Add("6F0C9F0E-1B2C-4D3E-8F40-000000000001")
	f.Fuzz(func(t *testing.T, id string) {
		key, index, ok := campaign.ParseMessageID(id)
		if ok && key.MessageID(index) != strings.ToLower(id) {
			t.Errorf("%q is taken for %q", id, key.MessageID(index))
		}
		if key, err := campaign.ParseBatchKey(id); err == nil && key.String() != strings.ToLower(id) {
			t.Errorf("%q is taken for %q", id, key)
		}
	})
}
