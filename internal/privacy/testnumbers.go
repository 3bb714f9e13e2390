package privacy

import (
	"context"
	"errors"
	"slices"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
)

func (p *person) exportTestNumbers(ctx context.Context, x *Export) error {
	saved, err := p.Store.Campaigns.TestNumbers(ctx, p.tenant.ID)
	for _, n := range saved.All {
		if p.sought.WrittenIn(n.Phone) {
			x.TestNumbers = append(x.TestNumbers, n.Name)
		}
	}
	return err
}

func (e *erasure) eraseTestNumbers(ctx context.Context) error {
	for {
		saved, err := e.Store.Campaigns.TestNumbers(ctx, e.tenant.ID)
		if err != nil {
			return err
		}
		left := slices.DeleteFunc(slices.Clone(saved.All), func(n account.TestNumber) bool { return e.sought.WrittenIn(n.Phone) })
		if len(left) == len(saved.All) {
			return nil
		}
		saved.All = left
		err = e.Store.Campaigns.SaveTestNumbers(ctx, e.tenant.ID, saved)
		if !errors.Is(err, campaign.ErrLostRace) {
			return counted(err, &e.done.TestNumbers, 1)
		}
	}
}
