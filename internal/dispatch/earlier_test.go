package dispatch_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/numberset"
)

func set(ordinal int, numbers ...uint64) campaign.PackedSet {
	return campaign.PackedSet{Ordinal: ordinal, Packed: numberset.New(numbers).Pack()}
}

func TestNumbersAreFoundOnceEverySetIsThere(t *testing.T) {
	t.Parallel()
	id := campaign.ID{Tenant: "t", CampaignID: "c"}
	e := &dispatch.Earlier{Limit: 1 << 20}
	sets := []campaign.PackedSet{set(1, 10, 20), set(3, 30)}
	if _, complete, err := e.Find(id, sets, 3, numberset.Set{30}); complete || err != nil {
		t.Fatalf("set 2 is missing, but Find says complete = %v, %v", complete, err)
	}
	found, complete, err := e.Find(id, []campaign.PackedSet{set(2, 25), set(3, 30)}, 3, numberset.Set{5, 20, 25, 30})
	if diff := cmp.Diff(numberset.Set{20, 25, 30}, found); diff != "" || !complete || err != nil {
		t.Errorf("Find: %v, %v (-want +got):\n%s", complete, err, diff)
	}
	if known := e.Known(id); known != 3 {
		t.Errorf("known up to %d, want 3", known)
	}
}

func TestTheCampaignAskedForLongestAgoIsForgotten(t *testing.T) {
	t.Parallel()
	e := &dispatch.Earlier{Limit: 1}
	one, two := campaign.ID{CampaignID: "1"}, campaign.ID{CampaignID: "2"}
	e.Add(one, set(1, 10, 20))
	e.Add(two, set(1, 10, 20))
	if e.Known(one) != 0 || e.Known(two) != 1 {
		t.Errorf("known: %d and %d sets, want 0 and 1", e.Known(one), e.Known(two))
	}
}
