package web

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

const (
	// NoticeLife is how long a notice waits for the next page.
	NoticeLife = time.Minute
	// maxNoticeArg is the maximum size of a notice's argument in bytes.
	maxNoticeArg = 300
	noticeCookie = "notice"
)

// notice says what a change did, by a text key. It is kept in a cookie until the next page
// shows it. The session's CSRF token authenticates it, so that nobody else can write one.
type notice struct {
	Key  string   `json:"key"`
	Args []string `json:"args,omitempty"`
}

// Done redirects to a path, where the page says once what was done.
func (p *Page) Done(path, key string, args ...string) error {
	if err := p.Notify(key, args...); err != nil {
		return err
	}
	return p.Redirect(path)
}

// Notify lets the next page say once what was done. Call it before the answer is written.
func (p *Page) Notify(key string, args ...string) error {
	n := notice{Key: key}
	for _, arg := range args {
		n.Args = append(n.Args, Short(arg, maxNoticeArg))
	}
	body, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("encode a notice: %w", err)
	}
	text := base64.RawURLEncoding.EncodeToString(body)
	http.SetCookie(p.W, p.ui.Sessions.NewCookie(noticeCookie, text+"."+p.noticeMAC(text), int(NoticeLife.Seconds())))
	return nil
}

// takeNotice returns the text of the last change, and deletes it from the browser. It
// returns "" if there is none.
func (p *Page) takeNotice() string {
	if !p.SignedIn() {
		return ""
	}
	cookie, err := p.R.Cookie(p.ui.Sessions.CookieName(noticeCookie))
	if err != nil {
		return ""
	}
	http.SetCookie(p.W, p.ui.Sessions.NewCookie(noticeCookie, "", -1))
	text, mac, _ := strings.Cut(cookie.Value, ".")
	if !hmac.Equal([]byte(mac), []byte(p.noticeMAC(text))) {
		return ""
	}
	var n notice
	body, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(body, &n) != nil || !p.Has(n.Key) {
		return ""
	}
	args := make([]any, len(n.Args))
	for i, arg := range n.Args {
		args[i] = arg
	}
	return p.T(n.Key, args...)
}

func (p *Page) noticeMAC(text string) string {
	mac := hmac.New(sha256.New, []byte(p.Session.CSRF))
	_, _ = mac.Write([]byte("notice " + text)) // never fails
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
