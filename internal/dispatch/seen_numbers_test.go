package dispatch_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/phone/numberset"
)

func set(ordinal int, numbers ...uint64) acceptance.PackedSet {
	return acceptance.PackedSet{Ordinal: ordinal, Packed: numberset.New(numbers).Pack()}
}

func TestFind_MissingSet(t *testing.T) {
	t.Parallel()
	id := campaign.ID{Tenant: "t", CampaignID: "c"}
	e := &dispatch.SeenNumbers{Limit: 1 << 20}
	meta := acceptance.Meta{CreatedAt: time.Unix(1, 0), Batches: 3}
	sets := []acceptance.PackedSet{set(1, 10, 20), set(3, 30)}
	if _, complete, err := e.Find(id, meta, sets, numberset.Set{30}); complete || err != nil {
		t.Fatalf("set 2 is missing, but complete = %v, %v", complete, err)
	}
	found, complete, err := e.Find(id, meta, []acceptance.PackedSet{set(2, 25), set(3, 30)}, numberset.Set{5, 20, 25, 30})
	if diff := cmp.Diff(numberset.Set{20, 25, 30}, found); diff != "" || !complete || err != nil {
		t.Errorf("Find: %v, %v (-want +got):\n%s", complete, err, diff)
	}
	if known := e.Known(id); known != 3 {
		t.Errorf("known up to %d, want 3", known)
	}
}

// A batch that is accepted between the reads is in the sets, but not in the call's rows.
func TestFind_SetNewerThanRows(t *testing.T) {
	t.Parallel()
	id, e := campaign.ID{CampaignID: "1"}, &dispatch.SeenNumbers{Limit: 1 << 20}
	rows := acceptance.Meta{CreatedAt: time.Unix(1, 0), Batches: 1}
	sets := []acceptance.PackedSet{set(1, 10), set(2, 20)}
	if _, complete, err := e.Find(id, rows, sets, numberset.Set{20}); complete || err != nil {
		t.Fatalf("set 2 is newer than the rows, but complete = %v, %v", complete, err)
	}
	if found, complete, err := e.Find(id, rows, nil, numberset.Set{30}); !complete || err != nil || len(found) > 0 {
		t.Errorf("no set has the number, but Find: %v, %v, %v", found, complete, err)
	}
	rows.Batches = 2
	found, complete, err := e.Find(id, rows, nil, numberset.Set{20})
	if diff := cmp.Diff(numberset.Set{20}, found); diff != "" || !complete || err != nil {
		t.Errorf("Find: %v, %v (-want +got):\n%s", complete, err, diff)
	}
}

func TestFind_EvictsLeastRecentlyUsed(t *testing.T) {
	t.Parallel()
	e := &dispatch.SeenNumbers{Limit: 1}
	one, two := campaign.ID{CampaignID: "1"}, campaign.ID{CampaignID: "2"}
	e.Add(one, time.Time{}, set(1, 10, 20))
	e.Add(two, time.Time{}, set(1, 10, 20))
	if e.Known(one) != 0 || e.Known(two) != 1 {
		t.Errorf("known: %d and %d sets, want 0 and 1", e.Known(one), e.Known(two))
	}
}

// Cached sets of a deleted campaign do not apply to a new campaign with the same id.
func TestFind_ReusedCampaignID(t *testing.T) {
	t.Parallel()
	id, e := campaign.ID{CampaignID: "1"}, &dispatch.SeenNumbers{Limit: 1 << 20}
	before, now := time.Unix(1, 0), acceptance.Meta{CreatedAt: time.Unix(2, 0), Batches: 1}
	e.Add(id, before, set(1, 10, 20))
	e.Add(id, before, set(2, 30))
	if _, complete, err := e.Find(id, now, nil, numberset.Set{10}); complete || err != nil {
		t.Fatalf("no set of the new campaign was read, but complete = %v, %v", complete, err)
	}
	if known := e.Known(id); known != 0 {
		t.Errorf("%d sets are known, want 0", known)
	}
	found, complete, err := e.Find(id, now, []acceptance.PackedSet{set(1, 30)}, numberset.Set{10, 30})
	if diff := cmp.Diff(numberset.Set{30}, found); diff != "" || !complete || err != nil {
		t.Errorf("Find: %v, %v (-want +got):\n%s", complete, err, diff)
	}
}
