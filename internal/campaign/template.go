package campaign

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/phone/e164"
)

// MaxTemplateName is the maximum length of a template's name, in characters.
const MaxTemplateName = 200

// MaxTemplateVariables is the maximum number of variables in a template. Their names can double the length of a text.
const MaxTemplateVariables = 50

// CodeTemplateChanged refuses a call of the dashboard whose template has another version. Calls
// of the API do not get it.
const CodeTemplateChanged = "template_changed"

// The limits of the API and the dashboard for templates.
const (
	MaxTemplates        = 1000 // of a tenant
	MaxTemplateVersions = 1000 // of a template
)

// The parts of a template beside its content, for flaws.
const (
	PartName      content.Part = "name"
	PartVariables content.Part = "variables"
	PartTraffic   content.Part = "traffic"
)

// Template is an immutable version of a tenant's message template. Its content can contain {{variable}}.
type Template struct {
	ID      string // a UUID in lower case
	Tenant  string
	Version int
	Name    string
	Traffic Traffic // "" is Promotion
	content.Content

	CreatedAt time.Time // when the version was saved
}

// VersionKey identifies a version of a template.
type VersionKey struct {
	ID      string
	Version int
}

// VersionKey identifies the version of the template of a batch.
func (b Batch) VersionKey() VersionKey { return VersionKey{b.TemplateID, b.TemplateVersion} }

// OwnTemplate returns what was read for a tenant, and ErrNotFound for the template of another tenant.
func OwnTemplate(tenant string, read Template, err error) (Template, error) {
	if err == nil && read.Tenant != tenant {
		return Template{}, ErrNotFound
	}
	return read, err
}

// Traffic is the purpose of a template's messages. The provider and the carriers apply different rules to each.
type Traffic string

// The purposes.
const (
	Promotion      Traffic = "promotion"
	Transaction    Traffic = "transaction"
	Authentication Traffic = "authentication"
	ServiceRequest Traffic = "serviceRequest"
)

func (t Traffic) known() bool {
	switch t {
	case "", Promotion, Transaction, Authentication, ServiceRequest:
		return true
	}
	return false
}

// Flaws returns the reasons why the template cannot be saved.
func (t Template) Flaws() []content.Flaw {
	flaws := nameFlaws(t.Name)
	if !t.Traffic.known() {
		flaws = append(flaws, content.Flaw{Part: PartTraffic, Code: content.FlawUnknown})
	}
	if n := len(t.Variables()); n > MaxTemplateVariables {
		flaws = append(flaws, content.Flaw{Part: PartVariables, Code: content.FlawTooMany, Have: n, Most: MaxTemplateVariables})
	}
	return append(flaws, t.Content.Flaws()...)
}

func nameFlaws(name string) []content.Flaw {
	n := utf8.RuneCountInString(name)
	switch {
	case Blank(name):
		return []content.Flaw{{Part: PartName, Code: content.FlawBlank}}
	case !utf8.ValidString(name):
		return []content.Flaw{{Part: PartName, Code: content.FlawEncoding}}
	case strings.ContainsFunc(name, unicode.IsControl):
		return []content.Flaw{{Part: PartName, Code: content.FlawControl}}
	case n > MaxTemplateName:
		return []content.Flaw{{Part: PartName, Code: content.FlawTooLong, Have: n, Most: MaxTemplateName}}
	}
	return nil
}

// Message is one accepted message. Values are in the order of the variables of its batch's template version.
type Message struct {
	Phone  e164.Number // 0 if it was erased
	UID    string
	Values []string
}

// Erased reports whether the message's personal data was erased.
func (m Message) Erased() bool { return m.Phone == 0 }

// Blank reports whether the text is empty or white space.
func Blank(s string) bool { return strings.TrimSpace(s) == "" }

// TappedSuggestion is a tapped suggestion, as shown to clients.
type TappedSuggestion struct {
	Text string       `json:"text"`
	Kind content.Kind `json:"kind"`
	URL  string       `json:"url,omitempty"`
}

// Tapped returns a suggestion of a message as it was sent. It counts from 1. For an erased
// message, the variables are not replaced. It returns nil if there is no such suggestion.
func (t Template) Tapped(suggestion int, m Message) *TappedSuggestion {
	sent := t.Content
	if !m.Erased() {
		sent = t.Render(m.Values)
	}
	all := sent.AllSuggestions()
	if suggestion < 1 || suggestion > len(all) {
		return nil
	}
	s := all[suggestion-1]
	return &TappedSuggestion{Text: s.Text, Kind: s.Kind, URL: s.URL}
}
