package web

import (
	"context"
	"net/http"

	"campaign-dispatch/internal/base/random"
)

// SubmitToken prevents a repeated submission of a form, as by reloading its answer.
type SubmitToken struct {
	Forms interface {
		// UseForm marks a form's token as used. It reports whether the token was
		// unused.
		UseForm(ctx context.Context, tenant, token string) (bool, error)
	}
}

// Token returns a new token for the form's field "once".
func (SubmitToken) Token() string { return random.Token(16) }

// maxToken is the maximum size of a token in bytes.
const maxToken = 64

// Use marks the form as sent. If it was sent before, the error is a *Refusal with the
// text usedKey and a link to the page to, labelled toKey.
func (o SubmitToken) Use(p *Page, usedKey, to, toKey string) error {
	return o.UseFor(p, "", usedKey, to, toKey)
}

// UseFor is Use for one of several forms that share a token: the one for an object.
func (o SubmitToken) UseFor(p *Page, object, usedKey, to, toKey string) error {
	token := p.Field("once")
	if token == "" || len(token) > maxToken {
		return &Refusal{Status: http.StatusBadRequest, Key: "ui.bad_form"}
	}
	fresh, err := o.Forms.UseForm(p.R.Context(), p.Session.Tenant, token+object)
	if err == nil && !fresh {
		err = &Refusal{Status: http.StatusConflict, Key: usedKey, To: to, ToKey: toKey}
	}
	return err
}
