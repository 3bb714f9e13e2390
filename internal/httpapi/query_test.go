package httpapi_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"campaign-dispatch/internal/httpapi"
)

var known = httpapi.Parameters{"dryRun": "invalid_dry_run", "uid": "invalid_uid"}

// read returns the values of dryRun and uid in a query, and the code of its problem.
func read(t *testing.T, raw string) (on bool, uid, code string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
	r.URL.RawQuery = raw
	q, err := known.Read(r)
	if err == nil {
		on, err = q.Switch("dryRun")
	}
	if err == nil {
		return on, q.Get("uid"), ""
	}
	p, ok := errors.AsType[*httpapi.Problem](err)
	if !ok || p.Status != http.StatusBadRequest || p.Detail == "" {
		t.Fatalf("%q: error %v", raw, err)
	}
	return on, "", p.Code
}

func TestQuery_Switch(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]bool{
		"": false, "dryRun=false": false, "dryRun=true": true, "&dryRun=true&": true, "x=1&dryRun=true": true,
		"dryRun=tru%65": true, "dry%52un=true": true, "=true&dryRun=true": true,
	} {
		if on, _, code := read(t, raw); on != want || code != "" {
			t.Errorf("%q: %v %s, want %v", raw, on, code, want)
		}
	}
}

// A mistyped switch is refused, not ignored.
func TestQuery_MistypedSwitch(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		"dryRun", "dryRun=", "dryRun=True", "dryRun=TRUE", "dryRun=yes", "dryRun=1", "dryRun=0", "dryRun=on", "dryRun=t",
		"dryRun=true%20", "dryRun=%20true", "dryRun=true+", "dryRun=true%00", "dryRun=true%0A", "dryRun=true,true", "dryRun==true",
		"dryRun=%22true%22", "dryRun=true?x=1", "dryRun=true%26", "dryRun=truе", // a Cyrillic letter
		"dryrun=true", "DRYRUN=true", "DryRun=true", "dryrun", "d%72yrun=true", "dryRuN=false", "dryRun=true&dryrun=true",
		"dryRun=true&dryRun=true", "dryRun=true&dryRun=false", "dryRun=false&dryRun=true", "dryRun=false&dry%52un=true", "dryRun&dryRun=true",
		"dryRun=%zz", "dryRun=true%", "dryRun=true%2", "dryRun%=true", "%zzdryRun=true", "dryRun%zz=true", "dry%52un%zz=true", "dryRun=true;x=1",
		"x=1;dryRun=true", ";dryRun=true", "dryRun=true;", "x=1&amp;dryRun=true", "x;dryRun", "dryRun;=true", "x=%zz;dryRun=true",
		"dryRun%3Dtrue", "x%26dryRun=true", "x%3D1%26dryRun%3Dtrue", "x=1?dryRun=true", "?dryRun=true", "%3FdryRun=true", "=dryRun=true",
		"dryRun[]=true", "dryRun%5B%5D=true", "dryRun%5B0%5D=true", "+dryRun=true", "dryRun%20=true", "dry+Run=true", "dryRun%00=true",
		"%EF%BB%BFdryRun=true", "dryRun%E2%80%8B=true", "dry_run=true", "dry-run=true", "--dry-run", "%22dryRun%22=true", "$dryRun=true",
		"dryRun:true", "dryRun%3Atrue", "dryRun%20true", "dryRun+true", "dryRun,true", "dryRun.true", "dryRun->true", "dryRuntrue", "{dryRun:true}",
		"x,dryRun:true=1",
	} {
		if on, _, code := read(t, raw); code != "invalid_dry_run" {
			t.Errorf("%q: %v %q, want invalid_dry_run", raw, on, code)
		}
	}
}

func TestQuery_UnknownNames(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		"x=1", "x=1&x=2", "&&&", "=", "==", "=1", "x", "x=%zz", "%zz=1", "x;y=1", "dryRuns=1", "xdryRun=1", "dry%zz=1", "dry=1&run=1",
		"to=%2F%3FdryRun%3Dtrue", "x=dryRun", "x=a%26dryRun=true", "_=1700000000", "%FF=%FF",
	} {
		if on, uid, code := read(t, raw); on || uid != "" || code != "" {
			t.Errorf("%q: %v %q %q", raw, on, uid, code)
		}
	}
}

func TestQuery_Values(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"uid=a%20b": "a b", "uid=a+b": "a b", "uid=a=b": "a=b", "uid=a?b": "a?b", "uid=%3B%26": ";&", "uid": "", "uid=%E2%9C%93": "✓",
	} {
		if _, uid, code := read(t, raw); uid != want || code != "" {
			t.Errorf("%q: %q %s, want %q", raw, uid, code, want)
		}
	}
	for _, raw := range []string{"uid=a;b", "uid=%zz", "UID=a", "uid=a&uid=a"} {
		if _, uid, code := read(t, raw); code != "invalid_uid" {
			t.Errorf("%q: %q %q", raw, uid, code)
		}
	}
}

// Every query is refused, or read as net/http reads it.
func FuzzQuery(f *testing.F) {
	for _, raw := range []string{"dryRun=true", "dryrun=1&x=%zz", "a;dryRun=true", "dry%52un=false&uid=+", "?dryRun%3D1"} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		on, uid, code := read(t, raw)
		if code != "" {
			return
		}
		want, _ := url.ParseQuery(raw)
		if on != (want.Get("dryRun") == "true") || uid != want.Get("uid") || len(want["dryRun"]) > 1 || len(want["uid"]) > 1 {
			t.Errorf("%q: dryRun %v, uid %q; net/http reads %q", raw, on, uid, want)
		}
	})
}
