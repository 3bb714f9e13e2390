package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"campaign-dispatch/internal/dashboard/web"
)

const noticePath = "/dashboard/notes"

// The page after a change says once what was done, in the reader's language.
func TestDone(t *testing.T) {
	t.Parallel()
	p := newSite(t).SignIn("t1", web.RoleAdmin)
	done := p.Post(noticePath+"/done", url.Values{"text": {"<b>1</b>"}})
	if done.Status != http.StatusSeeOther || done.Location != noticePath {
		t.Fatalf("answered %d to %q", done.Status, done.Location)
	}
	page := p.Follow(done)
	if !strings.Contains(page.Body, `<p class="notice good" role="status">The note &lt;b&gt;1&lt;/b&gt; was saved.</p>`) {
		t.Errorf("the page does not say what was done:\n%s", page.Body)
	}
	if kept := page.Cookie("__Host-notice"); kept == nil || kept.MaxAge >= 0 || kept.Value != "" {
		t.Errorf("the notice is kept for the next page: %v", kept)
	}
	p.Language = "pt"
	if page := p.Follow(done); !strings.Contains(page.Text(), "foi salva.") {
		t.Errorf("in Portuguese: %s", page.Text())
	}
	if page := p.Get(noticePath); strings.Contains(page.Body, `role="status"`) {
		t.Errorf("a page without a change says: %s", page.Text())
	}
}

// A part of a page leaves the notice to the next whole page.
func TestDone_Fragment(t *testing.T) {
	t.Parallel()
	p := newSite(t).SignIn("t1", web.RoleAdmin)
	done := p.Post(noticePath+"/done", url.Values{"text": {"1"}})
	done.Location = noticePath + "/part"
	if part := p.Follow(done); part.Cookie("__Host-notice") != nil || strings.Contains(part.Body, "saved") {
		t.Errorf("the part takes the notice: %s", part.Body)
	}
}

func TestDone_Forged(t *testing.T) {
	t.Parallel()
	d := newSite(t)
	p, other := d.SignIn("t1", web.RoleAdmin), d.SignIn("t1", web.RoleAdmin)
	for name, change := range map[string]func(value string) string{
		"of another session": func(value string) string { return value },
		"without signature":  func(value string) string { text, _, _ := strings.Cut(value, "."); return text },
		"changed":            func(value string) string { return "A" + value },
		"empty":              func(string) string { return "" },
		"no text":            func(string) string { return "." },
	} {
		done := p.Post(noticePath+"/done", url.Values{"text": {"1"}})
		cookie := done.Cookie("__Host-notice")
		reader := p
		if name == "of another session" {
			reader = other
		}
		reader.Cookies = append(reader.Cookies, &http.Cookie{Name: cookie.Name, Value: change(cookie.Value)})
		if page := reader.Get(noticePath); strings.Contains(page.Body, `role="status"`) {
			t.Errorf("%s: the page says %s", name, page.Text())
		}
	}
}

// Long names are cut, so that the browser keeps the cookie.
func TestDone_LongName(t *testing.T) {
	t.Parallel()
	p := newSite(t).SignIn("t1", web.RoleAdmin)
	done := p.Post(noticePath+"/done", url.Values{"text": {strings.Repeat("\u00e1", 5000)}})
	if cookie := done.Cookie("__Host-notice"); len(cookie.String()) > 4096 {
		t.Errorf("the cookie has %d bytes", len(cookie.String()))
	}
	if page := p.Follow(done); !strings.Contains(page.Text(), "\u00e1… was saved.") {
		t.Errorf("the page says %s", page.Text())
	}
}
