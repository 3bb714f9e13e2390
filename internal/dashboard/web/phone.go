package web

import (
	"log/slog"
	"strings"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/dashboard/preview"
)

// MarkWeight is the size in bytes of a variable's markup.
const MarkWeight = len(`<span class="var"></span> `)

// mediaWeight is the maximum size in bytes of a preview's media URLs, unless its texts have
// less. Further images are shown as placeholders.
const mediaWeight = 2000

// Phone returns the preview of a content, with its texts cut to most bytes in a page.
func Phone(p *Page, t content.Content, label string, most int) (phone preview.Phone, cut bool) {
	c := cutter{left: most, media: min(mediaWeight, most)}
	phone = preview.Writer{Word: func(key string) string { return p.T(key) }, Text: c.cut, URL: c.url}.Phone(t, label)
	phone.Sender = p.Sender()
	return phone, c.did
}

// cutter cuts texts and URLs to a total size each.
type cutter struct {
	left, media int
	did         bool // a text was cut
}

// tooLarge stands for a URL that is too large to load: the preview shows a placeholder.
const tooLarge = "{{url}}"

func (c *cutter) url(address string) string {
	if Weight(address) > c.media {
		return tooLarge
	}
	c.media -= Weight(address)
	return address
}

func (c *cutter) cut(text string) string {
	var b strings.Builder
	for part, variable := range content.Parts(text) {
		weight := Weight(part)
		if variable {
			weight, part = weight+MarkWeight, "{{"+part+"}}"
		}
		if weight > c.left {
			c.did = true
			if variable {
				part = "…"
			}
			b.WriteString(Short(part, max(c.left, len("…"))))
			c.left = 0
			break
		}
		c.left -= weight
		b.WriteString(part)
	}
	return b.String()
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
	if p.ui.Store == nil || !p.SignedIn() {
		return account.Brand{}
	}
	b, err := p.ui.Store.Brand(p.R.Context(), p.Session.Tenant)
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
