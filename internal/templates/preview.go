package templates

import (
	"bytes"
	"encoding/json"
	"net/http"
	"unicode/utf8"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/httpapi/jsonscan"
)

// values are the values of variables, as in a message of a dispatch call.
type values map[string]json.RawMessage

// previewAnswer is a template as a recipient would see it.
type previewAnswer struct {
	TemplateID string          `json:"templateId,omitempty"`
	Version    int             `json:"version,omitempty"`
	Content    content.Content `json:"content"`
	Class      content.Class   `json:"billingClass"`
	Bytes      int             `json:"textBytes"`
	Variables  []string        `json:"variables"`
	// Errors are why the template cannot be saved or the message not be sent.
	Errors []httpapi.Violation `json:"errors"`
}

func (s *Service) servePreviewOf(w http.ResponseWriter, r *http.Request) error {
	_, t, err := s.openOwn(r, httpapi.DryRun)
	if err != nil {
		return err
	}
	var in struct {
		Version *int   `json:"version"`
		Vars    values `json:"vars"`
	}
	if err := readBody(r, &in); err != nil {
		return err
	}
	if in.Version != nil {
		if t, err = s.version(r.Context(), t, *in.Version); err != nil {
			return err
		}
	}
	answer := preview(t, in.Vars)
	answer.TemplateID, answer.Version = t.ID, t.Version
	httpapi.WriteJSON(w, http.StatusOK, answer)
	return nil
}

// servePreview renders a template that is not saved, and lists what prevents saving it.
func (s *Service) servePreview(w http.ResponseWriter, r *http.Request) error {
	claims, _, err := s.open(r, httpapi.DryRun)
	if err != nil {
		return err
	}
	var in struct {
		Template *input `json:"template"`
		Vars     values `json:"vars"`
	}
	if err := readBody(r, &in); err != nil {
		return err
	}
	if in.Template == nil {
		return httpapi.Refuse(http.StatusBadRequest, "/template", "missing_field", "is required")
	}
	t := in.Template.template(claims.Tenant)
	answer := preview(t, in.Vars)
	if found := violations(t); len(found) > 0 {
		answer.Errors = []httpapi.Violation{}
		for _, v := range found[:min(len(found), maxErrors)] {
			v.Pointer = "/template" + v.Pointer
			answer.Errors = append(answer.Errors, v)
		}
	}
	httpapi.WriteJSON(w, http.StatusOK, answer)
	return nil
}

const maxErrors = 100

func preview(t campaign.Template, vars values) previewAnswer {
	names := t.Variables()
	texts, found := vars.texts(names)
	rendered, code := render(t.Content, names, texts)
	if code != "" && len(found) == 0 {
		found = append(found, httpapi.Violation{Code: code, Detail: reasons[code]})
	}
	return previewAnswer{
		Content: published(rendered), Class: rendered.Class(), Bytes: len(rendered.Text),
		Variables: append([]string{}, names...), Errors: append([]httpapi.Violation{}, found[:min(len(found), maxErrors)]...),
	}
}

// render returns the rendered content and the code of why it cannot be sent, or "". A
// content that would exceed the size of any message is returned without values.
func render(c content.Content, names, texts []string) (rendered content.Content, code string) {
	if renderedSize(c, names, texts) > content.MaxMessage {
		return c, content.CodeTextTooLong
	}
	rendered = c.Render(texts)
	return rendered, rendered.Unsendable()
}

// renderedSize returns the size in bytes of a content's JSON with values.
func renderedSize(c content.Content, names, texts []string) (size int) {
	written, _ := json.Marshal(c) // texts and numbers
	known := content.NewNames(names)
	for part, variable := range content.Parts(string(written)) {
		if i := known.Index(part); variable && i >= 0 {
			part = texts[i]
		}
		size += len(part)
	}
	return size
}

var reasons = map[string]string{
	content.CodeTextTooLong: "with these values, a text or the whole message exceeds the provider's limits",
	content.CodeInvalidURL:  "with these values, a URL is not an absolute https URL",
}

// texts returns the values of variables as a message shows them, "" for a missing one.
func (v values) texts(names []string) (texts []string, found []httpapi.Violation) {
	for _, name := range names {
		text, code, detail := textOf(v[name])
		if code != "" {
			found = append(found, httpapi.Violation{Pointer: jsonscan.Pointer("vars", name), Code: code, Detail: detail})
		}
		texts = append(texts, text)
	}
	return texts, found
}

func textOf(value json.RawMessage) (text, code, detail string) {
	switch {
	case len(value) == 0 || string(value) == "null":
		return "", "missing_variable", "the template needs this variable"
	case value[0] == '{' || value[0] == '[':
		return "", "invalid_variable", "must be a string, a number or a boolean"
	case value[0] == '"':
		_ = json.Unmarshal(value, &text) // the body was checked
		code, detail = content.ValueFault([]byte(text), bytes.ContainsRune(value, utf8.RuneError))
		return text, code, detail
	}
	return string(value), "", ""
}
