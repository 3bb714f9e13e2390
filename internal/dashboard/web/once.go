package web

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
)

// SubmitToken keeps a form from being sent twice, which a reload of its answer would do.
type SubmitToken struct {
	Forms interface {
		// UseForm uses up a form by its token, and reports whether it had not been
		// used before.
		UseForm(ctx context.Context, tenant, token string) (bool, error)
	}
	Random io.Reader
}

// Token returns the token of a form that can be sent once: it goes into its field
// "once".
func (o SubmitToken) Token() (string, error) {
	b := make([]byte, 16)
	if _, err := io.ReadFull(o.Random, b); err != nil {
		return "", fmt.Errorf("make a form's token: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(b), nil
}

// maxToken is more than any form's token has in bytes.
const maxToken = 64

// Use uses up the form that was sent. Where it was used before the error is a
// *Refusal with the text of a key, which leads to a page that is named by another.
func (o SubmitToken) Use(p *Page, usedKey, to, toKey string) error {
	token := p.Field("once")
	if token == "" || len(token) > maxToken {
		return &Refusal{Status: http.StatusBadRequest, Key: "ui.bad_form"}
	}
	fresh, err := o.Forms.UseForm(p.R.Context(), p.Session.Tenant, token)
	if err == nil && !fresh {
		err = &Refusal{Status: http.StatusConflict, Key: usedKey, To: to, ToKey: toKey}
	}
	return err
}
