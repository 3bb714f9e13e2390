package web

import (
	"context"
	"log/slog"

	"campaign-dispatch/internal/dashboard/preview"
	"campaign-dispatch/internal/settings/account"
)

// Brands reads how tenants are shown.
type Brands interface {
	Brand(ctx context.Context, tenant string) (account.Brand, error)
}

// Brand returns the brand of the person's tenant, which it reads once. A page is shown
// without it if it cannot be read.
func (p *Page) Brand() account.Brand {
	if p.brand == nil {
		b := p.readBrand()
		p.brand = &b
	}
	return *p.brand
}

func (p *Page) readBrand() account.Brand {
	if p.ui.Brands == nil || !p.SignedIn() {
		return account.Brand{}
	}
	b, err := p.ui.Brands.Brand(p.R.Context(), p.Session.Tenant)
	if err != nil {
		slog.ErrorContext(p.R.Context(), "reading the brand failed", "error", err.Error(), "route", p.R.Pattern)
	}
	return b
}

// UseBrand sets the brand of the person's tenant, if the page has read it with other rows.
func (p *Page) UseBrand(b account.Brand) { p.brand = &b }

// Sender returns who sends the tenant's messages, as phones show it.
func (p *Page) Sender() preview.Sender {
	b := p.Brand()
	return preview.Sender{Name: b.SenderName(), Initials: account.Initials(b.SenderName()), Logo: b.LogoLink(p.ui.MediaURL)}
}

// Company returns the name and the logo of the tenant.
func (p *Page) Company() preview.Sender {
	b := p.Brand()
	return preview.Sender{Name: b.Tenant, Initials: account.Initials(b.Tenant), Logo: b.LogoLink(p.ui.MediaURL)}
}
