package sim

import (
	"context"
	"crypto/rand"
	_ "embed"
	"html/template"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"
)

//go:embed phone.html
var phoneHTML string

var phonePage = template.Must(template.New("phone").Funcs(template.FuncMap{
	"mediaKind": mediaKind, "icon": icon, "postback": postback,
}).Parse(phoneHTML))

type bubble struct {
	Message

	Content contentMessage
}

// showPhone writes a page with the newest messages, or those to the phone number of the query, as a phone shows them.
func (s *Sim) showPhone(w http.ResponseWriter, r *http.Request) error {
	_, phone, err := listFilter(r)
	if err != nil {
		return err
	}
	var bubbles []bubble
	for _, m := range s.messages.newest() {
		if phone == "" || m.Phone == phone {
			bubbles = append(bubbles, bubble{m.Message, m.content})
		}
	}
	w.Header().Set("Content-Type", "text/html; charset=UTF-8")
	w.Header().Set("Cache-Control", "no-store")
	return phonePage.Execute(w, map[string]any{"Phone": phone, "Messages": bubbles, "Max": shownMessages})
}

// tapPhone sends the tap on a suggestion of the phone page, and opens its link as a phone
// does. The form names the message and the suggestion's postback data.
func (s *Sim) tapPhone(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	id, postback := r.PostFormValue("messageId"), r.PostFormValue("postback")
	for _, m := range s.messages.newest() {
		for _, suggestion := range m.content.suggestions() {
			if m.MessageID != id || suggestion.label().PostbackData != postback {
				continue
			}
			s.emit(m.agentID, event{SenderPhoneNumber: m.Phone, MessageID: rand.Text(), SuggestionResponse: suggestion.tap()}, func() {})
			visit(suggestion.link())
			http.Redirect(w, r, "/_sim/phone#"+url.QueryEscape(id), http.StatusSeeOther)
			return nil
		}
	}
	return &apiError{Code: http.StatusNotFound, Message: "The page no longer shows this message."}
}

// mediaKind returns the kind of element that shows a file, by the extension of its URL.
func mediaKind(address string) string {
	address, _, _ = strings.Cut(address, "?")
	switch strings.ToLower(path.Ext(address)) {
	case ".mp4":
		return "video"
	case ".pdf":
		return "document"
	}
	return "image"
}

func postback(s suggestion) string {
	return s.label().PostbackData
}

// icon returns the symbol of a suggestion's kind.
func icon(s suggestion) string {
	switch a := s.Action; {
	case a == nil:
		return "💬"
	case a.OpenURL != nil:
		return "🔗"
	case a.Dial != nil:
		return "📞"
	case a.CreateCalendarEvent != nil:
		return "📅"
	}
	return "📍"
}

// link returns the URL that a tap on the suggestion opens, "" for none.
func (s suggestion) link() string {
	if s.Action == nil || s.Action.OpenURL == nil {
		return ""
	}
	return s.Action.OpenURL.URL
}

// browser opens links. It does not follow redirects, which lead out of this machine.
var browser = &http.Client{
	Timeout:       10 * time.Second,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// visit opens a link, as a phone does on a tap. It opens links to this machine only.
func visit(link string) {
	u, err := url.Parse(link)
	if err != nil || u.Hostname() != "127.0.0.1" {
		return
	}
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, link, nil)
	if err != nil {
		return
	}
	r.Header.Set("User-Agent", "Mozilla/5.0 (Linux; Android 16; simulated phone)")
	response, err := browser.Do(r)
	if err == nil {
		_ = response.Body.Close()
	}
}
