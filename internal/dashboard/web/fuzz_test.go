package web_test

import (
	"net/url"
	"path"
	"strings"
	"testing"

	"campaign-dispatch/internal/dashboard/web"
)

// No address redirects a user out of the dashboard.
func FuzzLocalPath(f *testing.F) {
	for _, s := range []string{
		"/dashboard/templates?x=1", "//evil.example", `/\evil.example`, "/dashboard/..//evil.example", "https://evil.example/dashboard",
		"/dashboard/%2e%2e/x", "/dashboard\t//x", "javascript:alert(1)", "/dashboard/%5cevil.example", "/dashboard#x",
	} {
		f.Add(s)
	}
	base, err := url.Parse("https://api.example.com/dashboard/sign-in")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, to string) {
		got := web.LocalPath(to)
		at, err := base.Parse(got)
		if err != nil || at.Host != base.Host || at.Scheme != base.Scheme || strings.ContainsAny(got, "\\\r\n\t") {
			t.Fatalf("%q leads to %q", to, got)
		}
		if at.Path != web.Root && !strings.HasPrefix(path.Clean(at.Path), web.Root+"/") {
			t.Errorf("%q leads to %q", to, got)
		}
	})
}
