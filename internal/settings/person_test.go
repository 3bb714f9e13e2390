package settings_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/settings"
)

// door replaces the table and the user pool. It fails at a step, from 1, before or
// after the step takes effect.
type door struct {
	settings.TenantStore
	settings.Auth
	failAt int
	after  bool
	err    error // returned by the user pool

	steps []string
	until time.Time
}

var errDied = errors.New("the command died")

func (d *door) step(name string, do func()) error {
	d.steps = append(d.steps, name)
	if len(d.steps) == d.failAt && !d.after {
		return errDied
	}
	do()
	if len(d.steps) == d.failAt {
		return errDied
	}
	return nil
}

func (d *door) Tenant(_ context.Context, id string) (campaign.Tenant, error) {
	return campaign.Tenant{ID: id}, nil
}

func (d *door) EndSessions(_ context.Context, tenant, email string, until time.Time) error {
	return d.step("end "+tenant+" "+email, func() { d.until = until })
}

func (d *door) Invite(_ context.Context, who account.Person, _ string) (bool, error) {
	if err := d.step("set "+who.Role, func() {}); err != nil {
		return true, err
	}
	return true, d.err
}

func (d *door) Remove(context.Context, account.Person) error {
	if err := d.step("remove", func() {}); err != nil {
		return err
	}
	return d.err
}

func (d *door) service(at func() time.Time) *settings.Service {
	return &settings.Service{Store: settings.Store{Tenants: d}, Auth: d, People: d, Now: at}
}

var ana = account.Person{Email: " ANA@acme.example", Tenant: "acme", Role: "viewer"}

// A person's sessions end before and after the change. A crash at any step has changed
// nothing, or has left no session from before.
func TestPerson_SessionsEnd(t *testing.T) {
	t.Parallel()
	const end = "end acme ana@acme.example"
	for name, change := range map[string]struct {
		do   func(*settings.Service) error
		step string
	}{
		"role":    {func(d *settings.Service) error { _, err := d.InvitePerson(t.Context(), ana); return err }, "set viewer"},
		"removal": {func(d *settings.Service) error { _, err := d.RemovePerson(t.Context(), ana); return err }, "remove"},
	} {
		for failAt := range 4 { // 0 is never
			for _, after := range []bool{false, true} {
				clock := now
				tick := func() time.Time { clock = clock.Add(time.Second); return clock }
				d := &door{failAt: failAt, after: after}
				err := change.do(d.service(tick))
				if (err != nil) != (failAt > 0) || failAt > 0 && !errors.Is(err, errDied) {
					t.Errorf("%s, step %d fails: %v", name, failAt, err)
				}
				if failAt == 1 && slices.Contains(d.steps, change.step) {
					t.Errorf("%s: done without ending the sessions", name)
				}
				if done := slices.Contains(d.steps, change.step); done && d.until.IsZero() {
					t.Errorf("%s, step %d fails: the earlier sessions remain", name, failAt)
				}
				if err == nil && (!slices.Equal(d.steps, []string{end, change.step, end}) || !d.until.Equal(clock)) {
					t.Errorf("%s: steps %q, void until %v", name, d.steps, d.until)
				}
				d.failAt, d.steps = 0, nil // run it again
				if err := change.do(d.service(tick)); err != nil || !d.until.Equal(clock) {
					t.Errorf("%s, run again: %v, void until %v", name, err, d.until)
				}
			}
		}
	}
}

// A person may already be gone from the user pool: their sessions must still end.
func TestRemovePerson_UnknownToThePool(t *testing.T) {
	t.Parallel()
	d := &door{err: campaign.ErrNotFound}
	_, err := d.service(func() time.Time { return now }).RemovePerson(t.Context(), ana)
	refused(t, err, "has no account")
	if !errors.Is(err, campaign.ErrNotFound) || !d.until.Equal(now) {
		t.Errorf("void until %v, %v", d.until, err)
	}
}

func TestPerson_EndFails(t *testing.T) {
	t.Parallel()
	d := &door{failAt: 3}
	_, err := d.service(func() time.Time { return now }).RemovePerson(t.Context(), ana)
	refused(t, err, "run the command again")
}
