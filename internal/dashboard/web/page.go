package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/number"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/insight"
)

// Page is one request for a page with its answer. It is the dot of the HTML templates:
// {{.T "key"}}, {{.Number 1234}}, {{.When .Data.CreatedAt}}, {{.Session.CSRF}}.
type Page struct {
	W         http.ResponseWriter
	R         *http.Request
	Base      string // base URL of the service
	Session   Session
	Title     string         // in the reader's language; Render sets it if empty
	Data      any            // data of the page
	Body      template.HTML  // of the layout
	Refused   bool           // the page shows a form that was refused
	Refresh   string         // of a page without scripts, see RefreshEvery; "" for none
	Notice    string         // what the last change did, "" for nothing; shown once
	TabCounts map[string]int // numbers of things that somebody has to finish or decide, by the path of a tab

	ui          *UI
	translation *translation
	brand       *account.Brand // nil until it is read
}

// Render answers with a page. name is its file, titleKey the text key of its title.
func (p *Page) Render(titleKey, name string, data any) error {
	return p.RenderStatus(http.StatusOK, titleKey, name, data)
}

// RenderStatus is Render with another status.
func (p *Page) RenderStatus(status int, titleKey, name string, data any) error {
	if p.Title == "" {
		p.Title = p.T(titleKey)
	}
	p.Data, p.Refused = data, status == http.StatusUnprocessableEntity
	return p.render(status, name, false)
}

// ShowMedia allows the page to load images from other hosts, for the tenant's
// templates. Other pages cannot load or send anything elsewhere.
func (p *Page) ShowMedia() {
	p.W.Header().Set("Content-Security-Policy", p.ui.policy(p.ui.mediaImages(), ownFiles))
}

// UploadTo is ShowMedia for a page whose scripts also send files to an origin.
func (p *Page) UploadTo(origin string) {
	p.W.Header().Set("Content-Security-Policy", p.ui.policy(p.ui.mediaImages(), ownFiles+" "+origin))
}

// Fragment answers with a part of a page, for htmx.
func (p *Page) Fragment(name string, data any) error {
	p.Data = data
	return p.render(http.StatusOK, name, true)
}

// RenderOr answers with a page, or with its part if htmx requests that. See Render.
func (p *Page) RenderOr(part, titleKey, name string, data any) error {
	if p.Partial() {
		return p.Fragment(part, data)
	}
	return p.Render(titleKey, name, data)
}

// JSON answers a script of the page.
func (p *Page) JSON(status int, data any) error {
	body, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("encode an answer to a script: %w", err)
	}
	p.W.Header().Set("Content-Type", "application/json")
	p.W.WriteHeader(status)
	_, err = p.W.Write(body)
	return err
}

// CSVSeparator separates the cells of files for Brazilian spreadsheets.
const CSVSeparator = ';'

// maxDownload is the maximum size in bytes of the lines of a download. Lambda's limit is 6 MB in base64.
const maxDownload = 4_000_000

// AppendLine appends a line to those of a download. If there is no room, the last line says so, and full is true: a
// line alone may have a megabyte.
func (p *Page) AppendLine(file []byte, cells ...string) (_ []byte, full bool) {
	line := campaign.AppendRow(nil, CSVSeparator, cells...)
	if len(file)+len(line) > maxDownload {
		return campaign.AppendRow(file, CSVSeparator, "", p.T("ui.more_lines")), true
	}
	return append(file, line...), false
}

// CSV answers with a file for Brazilian spreadsheets, after a byte order mark. nameKey is the text key of its name.
func (p *Page) CSV(nameKey string, file []byte) error {
	p.W.Header().Set("Content-Type", "text/csv; charset=utf-8")
	p.W.Header().Set("Content-Disposition", `attachment; filename="`+p.T(nameKey)+`"`)
	_, err := p.W.Write(append([]byte("\ufeff"), file...))
	return err
}

// AsTable reports whether the page shows its chart as a table.
func (p *Page) AsTable() bool { return p.Query("chart") == "table" }

// Part returns the page with other data, for a part of it that is also a fragment.
func (p *Page) Part(data any) *Page {
	part := *p
	part.Data = data
	return &part
}

// Partial reports whether htmx requests a part of a page.
func (p *Page) Partial() bool { return p.R.Header.Get("HX-Request") == "true" }

// Redirect redirects the browser to a path of the dashboard, also from htmx requests.
func (p *Page) Redirect(path string) error {
	if p.Partial() {
		p.W.Header().Set("HX-Redirect", path)
		p.W.WriteHeader(http.StatusNoContent)
		return nil
	}
	p.W.Header().Set("Location", path)
	p.W.WriteHeader(http.StatusSeeOther)
	return nil
}

// Lang is the reader's language for the lang attribute.
func (p *Page) Lang() string { return p.translation.tag.String() }

// T returns a text in the reader's language, or the key if there is no text.
func (p *Page) T(key string, args ...any) string {
	text := p.ui.text(p.translation, key)
	if text == "" {
		return key
	}
	return fill(text, args)
}

// Count returns the text of the key with n as {0} and further arguments, in the singular
// for n = 1.
func (p *Page) Count(key string, n int, args ...any) string {
	return p.T(p.KeyFor(key, n), append([]any{p.Number(n)}, args...)...)
}

// KeyFor returns the key of the text for n things: key.one for n = 1, if there is one.
func (p *Page) KeyFor(key string, n int) string {
	if one := key + ".one"; n == 1 && p.Has(one) {
		return one
	}
	return key
}

// Has reports whether the key has a text.
func (p *Page) Has(key string) bool { return p.ui.text(p.translation, key) != "" }

// Known returns the text of the key, or otherwise if there is none.
func (p *Page) Known(key, otherwise string) string {
	if p.Has(key) {
		return p.T(key)
	}
	return otherwise
}

// Reason returns why messages with a code ended undelivered, in the reader's language.
func (p *Page) Reason(code string) string {
	row, _ := campaign.DescribeCode(code)
	if p.translation.code == "pt" {
		return row.Reason.Portuguese
	}
	return cmp.Or(row.OnPage, row.Reason.English)
}

// HasReason reports whether the code has a reason of its own.
func (p *Page) HasReason(code string) bool {
	_, known := campaign.DescribeCode(code)
	return known
}

// Number returns a whole number in the reader's format.
func (p *Page) Number(n int) string { return grouped(n, p.translation.thousands) }

// grouped returns a whole number with a separator between its thousands. A page has hundreds of numbers, and
// package number takes much longer.
func grouped(n int, thousands byte) string {
	digits, sign := strconv.Itoa(n), ""
	if n < 0 {
		digits, sign = digits[1:], "-"
	}
	const group = 3
	text := make([]byte, 0, len(digits)+len(digits)/group+1)
	text = append(text, sign...)
	for i := range len(digits) {
		if left := len(digits) - i; i > 0 && left%group == 0 {
			text = append(text, thousands)
		}
		text = append(text, digits[i])
	}
	return string(text)
}

// Percent returns part of whole as a percentage in the reader's format, or "" if whole is 0. Only all
// of whole is 100%, and only none of it is 0%.
func (p *Page) Percent(part, whole int) string {
	if whole == 0 {
		return ""
	}
	less := ""
	if part > 0 && allTenths*part < whole {
		less = "< "
	}
	share := float64(TenthsOf(part, whole)) / allTenths
	return less + p.translation.numbers.Sprint(number.Percent(share, number.MaxFractionDigits(1)))
}

const allTenths = 1000 // tenths of a per cent

// TenthsOf returns part of whole in tenths of a per cent, as Percent shows it. whole is not 0.
func TenthsOf(part, whole int) int {
	tenths := (2*allTenths*part + whole) / (2 * whole)
	if part > 0 {
		tenths = max(tenths, 1)
	}
	if part < whole {
		tenths = min(tenths, allTenths-1)
	}
	return tenths
}

// Tenths returns a number of tenths with one decimal in the reader's format.
func (p *Page) Tenths(n int) string {
	return p.translation.numbers.Sprint(number.Decimal(float64(n)/10, number.Scale(1)))
}

// Rate returns a rate as a percentage with the name of its base, or "" if the base is 0.
func (p *Page) Rate(r insight.Rate) string {
	if r.Of == 0 {
		return ""
	}
	return p.T("ui.rate."+string(r.Base()), p.Percent(r.N, r.Of))
}

// Classes returns the numbers of messages by billing class, without a class of none, or "0" without messages.
func (p *Page) Classes(n campaign.ClassCounts) string {
	basic, single := p.T("ui.classes.basic", p.Number(n.Basic)), p.T("ui.classes.single", p.Number(n.Single))
	switch {
	case n == campaign.ClassCounts{}:
		return p.Number(0)
	case n.Single == 0:
		return basic
	case n.Basic == 0:
		return single
	}
	return basic + ", " + single
}

// Money returns an amount in the reader's format, with two decimals. Only 0 is R$ 0.00.
func (p *Page) Money(m campaign.Money) string {
	if m > 0 && m.Cents() == 0 {
		return "< " + p.Price(campaign.Cent)
	}
	return p.Price(m.Cents())
}

// Price returns the price of a message in the reader's format, with up to six decimals.
func (p *Page) Price(m campaign.Money) string {
	const millionths = 1e6
	amount := number.Decimal(float64(m)/millionths, number.MinFractionDigits(2), number.MaxFractionDigits(6))
	return "R$\u00a0" + p.translation.numbers.Sprint(amount)
}

// When returns a time as date and time in São Paulo, or "" for the zero time.
func (p *Page) When(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.In(localtime.SaoPaulo()).Format(p.translation.instant)
}

// Day returns the date of a time in São Paulo, without its year.
func (p *Page) Day(at time.Time) string {
	return at.In(localtime.SaoPaulo()).Format(p.translation.day)
}

// Moment returns a time as date and time in São Paulo, without its year.
func (p *Page) Moment(at time.Time) string { return p.Day(at) + " " + p.Hour(at) }

// Second is When with the second.
func (p *Page) Second(at time.Time) string {
	return at.In(localtime.SaoPaulo()).Format(p.translation.instant + ":05")
}

// Local returns a time in São Paulo as the value of a datetime-local field.
func (p *Page) Local(at time.Time) string {
	return at.In(localtime.SaoPaulo()).Format("2006-01-02T15:04")
}

// Weekly returns a weekday as in "on Mondays".
func (p *Page) Weekly(day time.Weekday) string {
	const week = 7 // texts begin with Monday
	return p.T(fmt.Sprintf("ui.weekly.%d", (day+week-1)%week+1))
}

// Hour returns the time of day in São Paulo.
func (p *Page) Hour(at time.Time) string { return at.In(localtime.SaoPaulo()).Format("15:04") }

// ISO returns a time for the datetime attribute.
func (p *Page) ISO(at time.Time) string { return at.UTC().Format(time.RFC3339) }

// Admin reports whether the person may do everything.
func (p *Page) Admin() bool { return p.Session.Role == RoleAdmin }

// Author reports whether the person may write templates and send campaigns.
func (p *Page) Author() bool { return p.Session.Role.May(RoleAuthor) }

// Approver reports whether the person may approve campaigns.
func (p *Page) Approver() bool { return p.Session.Role.May(RoleApprover) }

// SignedIn reports whether the page has a session.
func (p *Page) SignedIn() bool { return p.Session.Email != "" }

// In reports whether the page is in one of some parts of the dashboard, such as
// /dashboard/campaigns.
func (p *Page) In(parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return within(p.R.URL.Path, part) })
}

// Sent reports whether the request sends a form.
func (p *Page) Sent() bool { return p.R.Method != http.MethodGet && p.R.Method != http.MethodHead }

// Before returns the page that sent a form, or the first page if it is unknown.
func (p *Page) Before() string { return LocalPath(pathOf(p.R.Referer())) }

// Asset returns the path of an asset. It changes with the content, so that browsers may
// cache it.
func (p *Page) Asset(name string) string { return assetPath(name) }

// Field returns the value of a form's field without surrounding white space, or "".
func (p *Page) Field(name string) string { return strings.TrimSpace(p.R.PostFormValue(name)) }

// Stale reports whether what a form changes is no longer what it was when the form was
// shown: the form has it in the hidden field "was". now is its current state as text.
func (p *Page) Stale(now string) bool {
	was := p.Field("was")
	return was != "" && was != now
}

// Query returns a query parameter.
func (p *Page) Query(name string) string { return p.R.URL.Query().Get(name) }

// With returns the page's URL with a changed parameter, or without it if value is
// empty. It opens the page again, see OpenedAt.
func (p *Page) With(name, value string) string {
	q := p.R.URL.Query()
	q.Del(opened)
	if value == "" {
		q.Del(name)
	} else {
		q.Set(name, value)
	}
	return (&url.URL{Path: p.R.URL.Path, RawQuery: q.Encode()}).String()
}

// LanguageLink returns the URL of the page in the other language.
func (p *Page) LanguageLink() string {
	return Root + "/language/" + p.T("ui.other_language_code") + "?to=" + url.QueryEscape(p.With("", ""))
}

// Explain returns the text of a refusal.
func (p *Page) Explain(r *Refusal) string { return p.T(r.Key, r.Args...) }
