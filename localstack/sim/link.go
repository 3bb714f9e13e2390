package sim

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

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

// openLink opens the first link of a message, as a phone does on a tap. It opens links to
// this machine only.
func (s *Sim) openLink(c contentMessage) {
	for _, suggestion := range c.suggestions() {
		if link := suggestion.link(); link != "" {
			s.options.After(0, func() { visit(link) })
			return
		}
	}
}

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
