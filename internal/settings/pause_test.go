package settings_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/settings"
)

func TestPause_TenantAndAgent(t *testing.T) {
	t.Parallel()
	b, ctx := newBench(t), t.Context()
	tenant, agent := settings.Subject{Tenant: b.tenant}, settings.Subject{Agent: b.agent}
	for _, step := range []struct {
		what string
		act  func() error
		want string
	}{
		{"pause tenant", func() error { return b.Pause(ctx, tenant) }, "tenant"},
		{"pause agent too", func() error { return b.Pause(ctx, agent) }, "tenant"},
		{"resume tenant", func() error { return b.Resume(ctx, tenant) }, "agent"},
		{"resume agent", func() error { return b.Resume(ctx, agent) }, ""},
		{"resume again", func() error { return b.Resume(ctx, agent) }, ""},
	} {
		if err := step.act(); err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
		route, err := b.store.Route(ctx, b.tenant, b.agent)
		if err != nil || route.Pause != step.want {
			t.Errorf("after %s: pause %q, %v; want %q", step.what, route.Pause, err, step.want)
		}
	}
}

// switches is a store that records pauses. A pause for everything on the shared stack
// would stop other tests.
type switches struct {
	settings.TenantStore
	noted []string
}

func (s *switches) Pause(_ context.Context, subject string) error {
	s.noted = append(s.noted, "pause "+subject)
	return nil
}

func (s *switches) Resume(_ context.Context, subject string) error {
	s.noted = append(s.noted, "resume "+subject)
	return nil
}

func TestPause_All(t *testing.T) {
	t.Parallel()
	store := &switches{}
	service := settings.Service{Store: settings.Store{Tenants: store}}
	everybody := settings.Subject{All: true}
	if err := errors.Join(service.Pause(t.Context(), everybody), service.Resume(t.Context(), everybody)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"pause all", "resume all"}, store.noted); diff != "" {
		t.Errorf("switches (-want +got):\n%s", diff)
	}
}

func TestPause_Refused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, test := range map[string]struct {
		subject settings.Subject
		says    string
	}{
		"nobody":           {settings.Subject{}, "exactly one"},
		"two":              {settings.Subject{All: true, Tenant: b.tenant}, "exactly one"},
		"tenant and agent": {settings.Subject{Agent: b.agent, Tenant: b.tenant}, "exactly one"},
		"unknown tenant":   {settings.Subject{Tenant: randomID()}, "does not exist"},
		"unknown agent":    {settings.Subject{Agent: randomID()}, "does not exist"},
		"no agent id":      {settings.Subject{Agent: "#"}, "agent id"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, b.Pause(t.Context(), test.subject), test.says)
			refused(t, b.Resume(t.Context(), test.subject), test.says)
		})
	}
}
