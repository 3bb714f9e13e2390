package apidocs_test

import (
	"go/format"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/dashboard/apidocs"
	"campaign-dispatch/internal/dashboard/web/webtest"
)

// everySample calls check with the sample of every operation in every language.
func everySample(t *testing.T, check func(name, language string, s webtest.Sample)) {
	t.Helper()
	h := handler(t)
	for id := range operations(t) {
		for _, language := range webtest.SampleLanguages {
			status, page := get(t, h, apidocs.Root+"/"+id+"?in="+language, "en")
			if status != http.StatusOK {
				t.Fatalf("%s in %s: status %d", id, language, status)
			}
			check(id+" in "+language, language, webtest.SampleOf(t, page))
		}
	}
}

func TestSamples_EveryLanguage(t *testing.T) {
	t.Parallel()
	files := map[string]string{"curl": "call.sh", "go": "call.go", "python": "call.py", "javascript": "call.mjs"}
	everySample(t, func(name, language string, s webtest.Sample) {
		if s.File != files[language] {
			t.Errorf("%s is saved as %s, want %s", name, s.File, files[language])
		}
	})
}

func TestSamples_Environment(t *testing.T) {
	t.Parallel()
	everySample(t, func(name, _ string, s webtest.Sample) {
		for _, v := range s.Env {
			if !strings.Contains(s.Code, v) {
				t.Errorf("%s does not read %s", name, v)
			}
		}
		if !strings.Contains(s.Code, base) || strings.Contains(s.Code, "{{") {
			t.Errorf("%s is not filled in", name)
		}
	})
}

func TestSamples_GoIsFormatted(t *testing.T) {
	t.Parallel()
	everySample(t, func(name, language string, s webtest.Sample) {
		if language != "go" {
			return
		}
		formatted, err := format.Source([]byte(s.Code))
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, s.Code)
		}
		if diff := cmp.Diff(string(formatted), s.Code); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	})
}

func TestSamples_OnThePage(t *testing.T) {
	t.Parallel()
	_, body := get(t, handler(t), apidocs.Root+"/dispatchCampaign?in=python", "pt-BR")
	for _, want := range []string{
		"python3 call.py", "<li><code>IDEMPOTENCY_KEY</code>",
		`"Authorization": f"Bearer {TOKEN}",`, `"Idempotency-Key": IDEMPOTENCY_KEY,`, `"phone": PHONE,`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page has no %s", want)
		}
	}
}
