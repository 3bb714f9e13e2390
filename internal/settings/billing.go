package settings

import (
	"cmp"
	"context"
	"errors"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
)

// CheckBilling returns the prices and limits of a form. Invalid input returns a
// *inputerr.Error.
func (d *Service) CheckBilling(form campaign.BillingForm) (b campaign.Billing, err error) {
	for _, field := range []struct {
		code, name, text string
		to               *campaign.Money
		most             campaign.Money
	}{
		{"basic", "price of a basic message", form.Basic, &b.Basic, campaign.MaxPrice},
		{"single", "price of a single message", form.Single, &b.Single, campaign.MaxPrice},
		{"day", "limit for a day", form.Day, &b.Limits.Day, campaign.MaxMoney},
		{"month", "limit for a month", form.Month, &b.Limits.Month, campaign.MaxMoney},
	} {
		if field.text == "" {
			continue
		}
		if *field.to, err = campaign.ParseMoney(field.text); err != nil {
			return campaign.Billing{}, input(field.code, "the %s %q: %v", field.name, shorten(field.text), err)
		}
		if *field.to > field.most {
			return campaign.Billing{}, input(field.code, "the %s is above %s", field.name, field.most)
		}
	}
	switch {
	case (b.Basic == 0) != (b.Single == 0):
		return campaign.Billing{}, input("one_price", "set both prices, or none")
	case !b.Set() && b.Limits != campaign.Spending{}:
		return campaign.Billing{}, input("limit_without_prices", "a limit needs prices: set them too")
	}
	return b, nil
}

// SaveBilling replaces the prices and limits of a tenant, which were read as was, and writes entries of the audit log
// with them. If they are others now, the error wraps campaign.ErrLostRace.
func (d *Service) SaveBilling(ctx context.Context, tenant string, was, b campaign.Billing, audit ...account.AuditEntry) error {
	return d.Store.Tenants.SaveBilling(ctx, tenant, was, b, audit...)
}

// ChangeBilling changes the prices and limits of a tenant. Fields that the form leaves empty
// do not change; 0 removes a price or a limit.
func (d *Service) ChangeBilling(ctx context.Context, tenant string, form campaign.BillingForm) (campaign.Billing, error) {
	if err := d.requireTenant(ctx, tenant); err != nil {
		return campaign.Billing{}, err
	}
	old, err := d.Store.Tenants.Billing(ctx, tenant)
	if err != nil {
		return campaign.Billing{}, err
	}
	for field, kept := range map[*string]campaign.Money{
		&form.Basic: old.Basic, &form.Single: old.Single, &form.Day: old.Limits.Day, &form.Month: old.Limits.Month,
	} {
		*field = cmp.Or(*field, kept.Entry())
	}
	b, err := d.CheckBilling(form)
	if err != nil || b == old {
		return b, err
	}
	if err = d.SaveBilling(ctx, tenant, old, b); errors.Is(err, campaign.ErrLostRace) {
		err = input("changed_meanwhile", "somebody changed the prices or limits of %q at the same time: run the command again", tenant)
	}
	return b, err
}
