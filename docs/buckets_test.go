package docs_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/rollout/bucket"
)

// published is a bucket of the table of api.md.
type published struct {
	scope, number string
	bucket        int
}

// bucketPrograms run a language's code of api.md, with calls of bucket behind it that print a line each.
var bucketPrograms = map[string]struct{ run, call string }{
	"python": {"python3 buckets.py", "print(bucket(%q, %q))\n"},
	"js":     {"node buckets.mjs", "console.log(bucket(%q, %q));\n"},
}

// The service and the code of the page compute the buckets of the page's table.
func TestAPI_Buckets(t *testing.T) {
	t.Parallel()
	section := bucketsSection(t)
	var want strings.Builder
	for _, row := range publishedBuckets(t, section) {
		fmt.Fprintln(&want, row.bucket)
		if got := bucket.Of(row.scope, e164.FromText(row.number)); got != row.bucket {
			t.Errorf("the service puts %s into bucket %d of %s, the page into %d", row.number, got, row.scope, row.bucket)
		}
	}
	for language, program := range bucketPrograms {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			var code strings.Builder
			code.WriteString(codeOf(t, section, language))
			for _, row := range publishedBuckets(t, section) {
				fmt.Fprintf(&code, program.call, row.scope, row.number)
			}
			out, err := run(t, program.run, code.String())
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if diff := cmp.Diff(want.String(), out); diff != "" {
				t.Errorf("the code computes other buckets (-page +code):\n%s", diff)
			}
		})
	}
}

// bucketsSection returns the section of api.md about buckets.
func bucketsSection(t *testing.T) string {
	t.Helper()
	_, section, found := strings.Cut(read(t, "api.md"), "\n## Buckets\n")
	if !found {
		t.Fatal("api.md has no section about buckets")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	return section
}

// publishedBuckets returns the rows of the table of the section.
func publishedBuckets(t *testing.T, section string) (rows []published) {
	t.Helper()
	for _, cells := range regexp.MustCompile("(?m)^\\| `(.+)` \\| `(.+)` \\| ([0-9]+) \\|$").FindAllStringSubmatch(section, -1) {
		n, err := strconv.Atoi(cells[3])
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, published{cells[1], cells[2], n})
	}
	if len(rows) < 4 {
		t.Fatalf("the section has %d buckets, want 4 or more", len(rows))
	}
	return rows
}
