package apidocs_test

import (
	"go/format"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/dashboard/apidocs"
)

func calls(t *testing.T) []apidocs.Call {
	t.Helper()
	all, err := apidocs.Calls(base)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestCalls_EveryOperationInEveryLanguage(t *testing.T) {
	t.Parallel()
	var found []string
	for _, c := range calls(t) {
		found = append(found, c.Operation)
		var languages []string
		for _, s := range c.Samples {
			languages = append(languages, s.ID)
		}
		if diff := cmp.Diff([]string{"curl", "go", "python", "javascript"}, languages); diff != "" {
			t.Errorf("%s: %s", c.Operation, diff)
		}
	}
	slices.Sort(found)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(operations(t))), found); diff != "" {
		t.Error(diff)
	}
}

func TestCalls_Environment(t *testing.T) {
	t.Parallel()
	for _, c := range calls(t) {
		for _, s := range c.Samples {
			for _, name := range c.Env {
				if !strings.Contains(s.Code, name) {
					t.Errorf("%s in %s does not read %s", c.Operation, s.Name, name)
				}
			}
			if !strings.Contains(s.Code, base) || strings.Contains(s.Code, "{{") {
				t.Errorf("%s in %s is not filled in", c.Operation, s.Name)
			}
		}
	}
}

func TestCalls_GoIsFormatted(t *testing.T) {
	t.Parallel()
	for _, c := range calls(t) {
		for _, s := range c.Samples {
			if s.ID != "go" {
				continue
			}
			formatted, err := format.Source([]byte(s.Code))
			if err != nil {
				t.Fatalf("%s: %v\n%s", c.Operation, err, s.Code)
			}
			if diff := cmp.Diff(string(formatted), s.Code); diff != "" {
				t.Errorf("%s: %s", c.Operation, diff)
			}
		}
	}
}

func TestCalls_OnThePage(t *testing.T) {
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
