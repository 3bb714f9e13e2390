// Package apidocstest reads the pages of the API documentation in tests.
package apidocstest

import (
	"html"
	"regexp"
	"strings"
	"testing"

	"campaign-dispatch/internal/dashboard/apidocs"
)

// Languages are the values of the pages' parameter in.
var Languages = []string{"curl", "go", "python", "javascript"}

var (
	sample   = regexp.MustCompile(`(?s)<code id="docs-code">(.*?)</code>.*?<code>(.*?)</code>`)
	variable = regexp.MustCompile(`<li><code>([A-Z_]+)</code>`)
)

// Sample returns the sample that a page shows, and the environment variables that the
// page lists for it.
func Sample(tb testing.TB, page string) (s apidocs.Sample, env []string) {
	tb.Helper()
	found := sample.FindStringSubmatch(page)
	if found == nil {
		tb.Fatalf("the page shows no sample:\n%s", page)
	}
	for _, v := range variable.FindAllStringSubmatch(page, -1) {
		env = append(env, v[1])
	}
	run := found[2]
	return apidocs.Sample{File: run[strings.LastIndexByte(run, ' ')+1:], Run: run, Code: html.UnescapeString(found[1])}, env
}
