package admin_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/ledger"
)

func entries(indices ...int) []byte {
	fresh := ledger.Fresh{Key: campaign.BatchKey{7}}
	for _, i := range indices {
		fresh.Entries = append(fresh.Entries, ledger.Entry{Sequence: i + 1, Change: campaign.Change{Index: i, Outcome: campaign.OutcomeRead, At: now}})
	}
	return ledger.PackFresh([]ledger.Fresh{fresh})
}

// A webhook of a notice with an ID is posted again by itself where the notice is gone,
// and with its notice where that is dead.
func TestResendOne_NoticeWithID(t *testing.T) {
	t.Parallel()
	for name, what := range map[string]struct{ whole, alone campaign.Notice }{
		"an entry":    {campaign.Notice{Entries: entries(1, 2, 3)}, campaign.Notice{Entries: entries(2)}},
		"a happening": {campaign.Notice{Kind: campaign.KindReplied, Blob: "events/a/b"}, campaign.Notice{Kind: campaign.KindReplied, Blob: "events/a/b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, ctx := newBench(t), t.Context()
			made, err := b.CreateEndpoint(ctx, b.tenant, "https://example.com", nil)
			if err != nil {
				t.Fatal(err)
			}
			notice := func(n campaign.Notice) campaign.Notice {
				n.Tenant, n.EndpointID, n.Next, n.Ends = b.tenant, made.ID, now, now.Add(campaign.FailureLife)
				return n.Identified()
			}
			whole, alone := notice(what.whole), notice(what.alone)
			err = b.store.RecordFailure(ctx, campaign.WebhookFailure{
				Tenant: b.tenant, EndpointID: made.ID, WebhookID: "msg_a", Kind: what.whole.Kind, At: now, Task: whole.Task(), Position: 1,
				Entry: what.alone.Entries, Blob: what.alone.Blob,
			})
			if err != nil {
				t.Fatal(err)
			}
			resent := func(want campaign.Notice) {
				t.Helper()
				if waiting, err := b.ResendOne(ctx, b.tenant, made.ID, "msg_a", now); err != nil || waiting {
					t.Fatal(waiting, err)
				}
				got, err := b.store.Notice(ctx, want.Task())
				if diff := cmp.Diff(want, got); diff != "" || err != nil {
					t.Errorf("notice %v (-want +got):\n%s", err, diff)
				}
			}
			resent(alone)
			dead := alone
			dead.Dead, dead.Attempt = true, 10
			if ok, err := b.store.SaveNotice(ctx, alone, dead); !ok || err != nil {
				t.Fatal(ok, err)
			}
			resent(alone)
			if err := b.store.DeleteNotice(ctx, alone.Task()); err != nil {
				t.Fatal(err)
			}
			dead = whole
			dead.Dead, dead.Attempt = true, 10
			if err := b.store.AddNotices(ctx, []campaign.Notice{dead}); err != nil {
				t.Fatal(err)
			}
			resent(whole)
		})
	}
}

// What is dead, or waits for its next attempt, is resent from both tables.
func TestResendFailed_BothLayouts(t *testing.T) {
	t.Parallel()
	b, ctx := newBench(t), t.Context()
	made, err := b.CreateEndpoint(ctx, b.tenant, "https://example.com", nil)
	if err != nil {
		t.Fatal(err)
	}
	old := campaign.Notice{Key: campaign.BatchKey{7}, Ordinal: 1}
	var tasks []campaign.NotifyTask
	for i, n := range []campaign.Notice{
		{Entries: entries(1)},
		{Entries: entries(2), Attempt: 3},
		old,
		{Kind: campaign.KindReplied, Blob: "events/a/b", Attempt: 10, Dead: true},
	} {
		n.Tenant, n.EndpointID, n.Next = b.tenant, made.ID, now.Add(time.Hour)
		if i != 2 {
			n = n.Identified()
		}
		if err := b.store.AddNotices(ctx, []campaign.Notice{n}); err != nil {
			t.Fatal(err)
		}
		tasks = append(tasks, n.Task())
		err := b.store.RecordFailure(ctx, campaign.WebhookFailure{
			Tenant: b.tenant, EndpointID: made.ID, WebhookID: "msg_" + string(rune('a'+i)), At: now.Add(time.Duration(i) * time.Second), Task: n.Task(),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	sent, err := b.ResendFailed(ctx, b.tenant, made.ID, now.Add(-time.Hour), 100)
	if diff := cmp.Diff(campaign.Resent{Notices: 4}, sent); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, task := range tasks {
		if n, err := b.store.Notice(ctx, task); n.Dead || n.Next.After(now) || err != nil {
			t.Errorf("%+v, %v; want it due now", n, err)
		}
	}
}
