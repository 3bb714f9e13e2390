package link_test

import (
	"net/http"
	"testing"

	"campaign-dispatch/internal/campaign/reaction"
)

// The follow-up of those who tapped writes to the people of clicks, so a machine must not make one.
func TestServeLink_Machines(t *testing.T) {
	t.Parallel()
	for name, header := range map[string]http.Header{
		"prefetch":            {"User-Agent": {browser}, "Sec-Purpose": {"prefetch"}},
		"prerender":           {"User-Agent": {browser}, "Sec-Purpose": {"prefetch;prerender"}},
		"private prefetch":    {"User-Agent": {browser}, "Sec-Purpose": {"Prefetch; Anonymous-Client-IP"}},
		"older prefetch":      {"User-Agent": {browser}, "Purpose": {"prefetch"}},
		"preview":             {"User-Agent": {browser}, "Purpose": {"preview"}},
		"Safari's preview":    {"User-Agent": {browser}, "X-Purpose": {"preview"}},
		"Firefox's prefetch":  {"User-Agent": {browser}, "X-Moz": {"prefetch"}},
		"Google Messages":     {"User-Agent": {"GoogleMessages/2.3"}},
		"Google-PageRenderer": {"User-Agent": {"Mozilla/5.0 (compatible; Google-PageRenderer Google (+https://developers.google.com/+/web/snippet/))"}},
		"Googlebot":           {"User-Agent": {"Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X) Chrome/150.0 Mobile Safari/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"}},
		"WhatsApp":            {"User-Agent": {"WhatsApp/2.23.20.0 A"}},
		"Facebook, iMessage":  {"User-Agent": {"Mozilla/5.0 (Macintosh) AppleWebKit/601.2.4 Version/9.0.1 Safari/601.2.4 facebookexternalhit/1.1 Facebot Twitterbot/1.0"}},
		"Telegram":            {"User-Agent": {"TelegramBot (like TwitterBot)"}},
		"Slack":               {"User-Agent": {"Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)"}},
		"Bing":                {"User-Agent": {"Mozilla/5.0 (Windows NT 10.0) BingPreview/1.0b"}},
		"another robot":       {"User-Agent": {"Mozilla/5.0 (compatible; SeznamBot/4.0)"}},
		"an Android app":      {"User-Agent": {"Dalvik/2.1.0 (Linux; U; Android 14; SM-A155M Build/UP1A.231005.007)"}},
		"OkHttp":              {"User-Agent": {"okhttp/4.12.0"}},
		"an iPhone app":       {"User-Agent": {"MobileSMS/1.0 CFNetwork/1494.0.7 Darwin/23.4.0"}},
		"a script":            {"User-Agent": {"python-requests/2.31.0"}},
		"another script":      {"User-Agent": {"curl/8.4.0"}},
		"a scanner":           {"User-Agent": {"Mozilla/5.0 zgrab/0.x"}},
		"Outlook":             {"User-Agent": {"Mozilla/4.0 (compatible; ms-office; MSOffice 16)"}},
		"one with an address": {"User-Agent": {"Mozilla/5.0 (compatible; Leitor; +https://leitor.example)"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "https://loja.example/a", []string{"Ana", "x"})
			got := w.openWith(t, http.MethodGet, reaction.LinkToken(w.batch, 0, 2), header)
			if got.status != http.StatusFound || got.location != "https://loja.example/a" || len(w.queued) > 0 {
				t.Errorf("answered %d, %q with %d clicks, want a redirect without a click", got.status, got.location, len(w.queued))
			}
		})
	}
}

func TestServeLink_Head(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "https://loja.example/a", []string{"Ana", "x"})
	if got := w.open(t, http.MethodHead, reaction.LinkToken(w.batch, 0, 2)); got.status != http.StatusFound || len(w.queued) > 0 {
		t.Errorf("answered %d with %d clicks, want a redirect without a click", got.status, len(w.queued))
	}
}

func TestServeLink_People(t *testing.T) {
	t.Parallel()
	for name, header := range map[string]http.Header{
		"Chrome":           {"User-Agent": {browser}, "Sec-Fetch-Mode": {"navigate"}},
		"Safari":           {"User-Agent": {"Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 Version/19.0 Mobile/15E148 Safari/604.1"}},
		"in the Facebook":  {"User-Agent": {"Mozilla/5.0 (iPhone) AppleWebKit/605.1.15 Mobile/15E148 [FBAN/FBIOS;FBAV/500.0;FBLC/pt_BR]"}},
		"Samsung":          {"User-Agent": {"Mozilla/5.0 (Linux; Android 15; SM-A155M) SamsungBrowser/27.0 Chrome/125.0 Mobile Safari/537.36"}},
		"a phone of CUBOT": {"User-Agent": {"Mozilla/5.0 (Linux; Android 12; CUBOT NOTE 20) Chrome/150.0 Mobile Safari/537.36"}},
		"Opera Mini":       {"User-Agent": {"Opera/9.80 (Android; Opera Mini/36.2/191.256; U; pt) Presto/2.12.423 Version/12.16"}},
		"KaiOS":            {"User-Agent": {"Mozilla/5.0 (Mobile; Nokia_2720_Flip; rv:48.0) Gecko/48.0 Firefox/48.0 KAIOS/2.5.2"}},
		"UC Browser":       {"User-Agent": {"UCWEB/2.0 (MIDP-2.0; U; Adr 9; pt-BR) U2/1.0.0 UCBrowser/13.4 Mobile"}},
		"Silk":             {"User-Agent": {"Mozilla/5.0 (Linux; Android 11; KFTRWI) Silk/120.3 like Chrome/120.0 Safari/537.36"}},
		"no name":          {},
		"another purpose":  {"User-Agent": {browser}, "Purpose": {""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "https://loja.example/a", []string{"Ana", "x"})
			if got := w.openWith(t, http.MethodGet, reaction.LinkToken(w.batch, 0, 2), header); got.status != http.StatusFound || len(w.queued) != 1 {
				t.Errorf("answered %d with %d clicks, want a redirect and a click", got.status, len(w.queued))
			}
		})
	}
}
