package settings_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/settings"
)

// agents is a store with agents only.
type agents struct {
	settings.TenantStore

	all map[string]campaign.Agent
}

func (s agents) Agents(context.Context) (all []campaign.Agent, err error) {
	for _, a := range s.all {
		all = append(all, a)
	}
	return all, nil
}

func (s agents) Agent(_ context.Context, id string) (campaign.Agent, error) {
	if a, ok := s.all[id]; ok {
		return a, nil
	}
	return campaign.Agent{}, campaign.ErrNotFound
}

func (s agents) SaveAgent(_ context.Context, a campaign.Agent) error {
	s.all[a.ID] = a
	return nil
}

// noKeys counts the key documents that it is given.
type noKeys struct{ put *int }

func (k noKeys) PutKeyDocument(context.Context, string, []byte) error {
	*k.put++
	return nil
}

// One agent has 100 messages a second, a second one has no limit, a third one was removed.
func TestSaveAgent_Rates(t *testing.T) {
	t.Parallel()
	const slow, endless, removed = "slow", "endless", "removed"
	for name, test := range map[string]struct {
		most int // SendRate
		form settings.AgentForm
		want int    // the rate afterwards
		says string // refused with this
	}{
		"new, without a rate":     {18_000, settings.AgentForm{ID: "new", Rate: settings.KeepRate}, 30, ""},
		"new, with a rate":        {18_000, settings.AgentForm{ID: "new", Rate: 900}, 900, ""},
		"new, one too many":       {18_000, settings.AgentForm{ID: "new", Rate: 901}, 0, "could then send 18001 messages a second together, and the stack is for 18000"},
		"new, without a limit":    {18_000, settings.AgentForm{ID: "new"}, 0, "could then send 34100 messages a second together"},
		"no maximum":              {0, settings.AgentForm{ID: "new"}, 0, ""},
		"raised":                  {17_100, settings.AgentForm{ID: slow, Rate: 101}, 100, "could then send 17101 messages"},
		"lowered, still too many": {500, settings.AgentForm{ID: slow, Rate: 99}, 99, ""},
		"kept, still too many":    {500, settings.AgentForm{ID: endless, Rate: settings.KeepRate, WebhookToken: "other"}, 0, ""},
		"limited":                 {500, settings.AgentForm{ID: endless, Rate: 400}, 400, ""},
		"limit removed":           {500, settings.AgentForm{ID: slow}, 100, "lower rate"},
		"put back":                {17_150, settings.AgentForm{ID: removed, Rate: settings.KeepRate}, 60, "could then send 17160 messages"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := agents{all: map[string]campaign.Agent{
				slow: {ID: slow, WebhookToken: "t", Rate: 100}, endless: {ID: endless, WebhookToken: "t"},
				removed: {ID: removed, WebhookToken: "t", Rate: 60, RemovedAt: now},
			}}
			before, keys := len(store.all), 0
			s := settings.Service{
				Store: settings.Store{Tenants: store}, Keys: noKeys{&keys}, Stack: "stack", AgentRate: 30, SendRate: test.most,
				Now: func() time.Time { return now },
			}
			if test.form.ID == "new" {
				test.form.KeyDocument = keyDocument(t)
			}
			_, err := s.SaveAgent(t.Context(), test.form)
			if test.says != "" {
				if refused(t, err, test.says); len(store.all) != before || keys > 0 || !store.all[removed].RemovedAt.Equal(now) {
					t.Errorf("%d agents and %d keys were saved", len(store.all)-before, keys)
				}
			} else if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, store.all[test.form.ID].Rate); diff != "" {
				t.Errorf("rate (-want +got):\n%s", diff)
			}
		})
	}
}

// A stack that was deployed before it had rates does not make an unlimited agent of one without a rate.
func TestSaveAgent_NoRateOfNewAgents(t *testing.T) {
	t.Parallel()
	store, keys := agents{all: map[string]campaign.Agent{}}, 0
	s := settings.Service{Store: settings.Store{Tenants: store}, Keys: noKeys{&keys}, Stack: "stack", AgentRate: settings.KeepRate}
	form := settings.AgentForm{ID: "new", KeyDocument: keyDocument(t), Rate: settings.KeepRate}
	_, err := s.SaveAgent(t.Context(), form)
	if refused(t, err, "give a rate"); len(store.all) != 0 || keys != 0 {
		t.Errorf("%d agents and %d keys were saved", len(store.all), keys)
	}
	form.Rate = 5
	if _, err := s.SaveAgent(t.Context(), form); err != nil || store.all["new"].Rate != 5 {
		t.Errorf("the agent has the rate %d, %v", store.all["new"].Rate, err)
	}
}
