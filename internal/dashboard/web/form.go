package web

import (
	"crypto/subtle"
	"errors"
	"net/http"
	"time"

	"campaign-dispatch/internal/base/random"
)

// FormToken returns a new token for a form's field "once". UseForm refuses its second use, as by
// reloading the answer.
func FormToken() string { return random.Token(16) }

// BadForm refuses a form that no page has.
func BadForm() *Refusal { return &Refusal{Status: http.StatusBadRequest, Key: "ui.bad_form"} }

// maxToken is the maximum size of a token in bytes.
const maxToken = 64

// UseForm marks the form as sent. If it was sent before, the error is a *Refusal with the
// text usedKey and a link to the page to, labelled toKey.
func UseForm(p *Page, usedKey, to, toKey string) error {
	return UseFormFor(p, "", usedKey, to, toKey)
}

// UseFormFor is UseForm for one of several forms that share a token: the one for an object.
func UseFormFor(p *Page, object, usedKey, to, toKey string) error {
	token := p.Field("once")
	if token == "" || len(token) > maxToken {
		return BadForm()
	}
	fresh, err := p.ui.Store.UseForm(p.R.Context(), p.Session.Tenant, token+object)
	if err == nil && !fresh {
		err = &Refusal{Status: http.StatusConflict, Key: usedKey, To: to, ToKey: toKey}
	}
	return err
}

// Overlaps maps the values of the form field "keep" to how long the previous secret stays valid.
var Overlaps = map[string]time.Duration{"1h": time.Hour, "24h": 24 * time.Hour, "7d": 7 * 24 * time.Hour}

// None is the choice of no overlap in the rotation forms.
const None = "0s"

// OverlapKey returns the text key of the choice for the audit log.
func OverlapKey(p *Page) string { return "audit.kept_" + p.Field("keep") }

// Overlap returns the form's choice of Overlaps. ok is false if there is no such choice.
func Overlap(p *Page) (keep time.Duration, ok bool) {
	keep, ok = Overlaps[p.Field("keep")]
	return keep, ok
}

// FromOwnPage refuses a change without the CSRF token of the person's session. Only
// handlers of Public have to call it.
func (p *Page) FromOwnPage() error {
	if site := p.R.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" {
		return &Refusal{Status: http.StatusForbidden, Key: "ui.csrf"}
	}
	if err := p.readForm(); err != nil {
		return err
	}
	token := p.R.Header.Get("X-CSRF-Token")
	if token == "" {
		token = p.R.PostFormValue("csrf")
	}
	if subtle.ConstantTimeCompare([]byte(token), []byte(p.Session.CSRF)) != 1 {
		return &Refusal{Status: http.StatusForbidden, Key: "ui.csrf"}
	}
	return nil
}

// FromOwnSite refuses a request from another site. It is for requests without a
// session, and so without a CSRF token. A browser that sends no origin is refused.
func (p *Page) FromOwnSite() error {
	site, origin := p.R.Header.Get("Sec-Fetch-Site"), p.R.Header.Get("Origin")
	if site == "same-origin" || site == "" && origin == p.Base {
		return nil
	}
	return &Refusal{Status: http.StatusForbidden, Key: "ui.csrf"}
}

// MaxForm is the maximum size of a form in bytes, including files. Lambda's limit is 6
// MB in base64.
const MaxForm = 4 << 20

// MaxFormFile is the size in bytes of a file beside the other fields of a form. Larger ones are uploaded in chunks.
const MaxFormFile = MaxForm - 16<<10

func (p *Page) readForm() error {
	p.R.Body = http.MaxBytesReader(p.W, p.R.Body, MaxForm)
	err := p.R.ParseForm()
	if err == nil {
		err = p.R.ParseMultipartForm(MaxForm) //nolint:gosec // the body is bounded
	}
	if errors.Is(err, http.ErrNotMultipart) {
		err = nil
	}
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return &Refusal{Status: http.StatusRequestEntityTooLarge, Key: "ui.too_large"}
	}
	if err != nil {
		return BadForm()
	}
	return nil
}

// Upload is the data of the field upload.html, with which a page sends a file in chunks. A page
// that includes it calls UploadTo.
type Upload struct {
	Script string // path of the script
	Path   string // to which the start of an upload is sent
	Chunk  int64  // size of all chunks but the last
	// From is the size from which a form's file is sent in chunks. Smaller ones go in the form.
	From int64
}
