package webtest

import (
	"html"
	"regexp"
	"strings"
	"testing"
)

// Sample is a program that a page of the API documentation shows.
type Sample struct {
	File string // file name to save it as
	Run  string // the command that runs it
	Code string
	Env  []string // environment variables that the page lists for it
}

// SampleLanguages are the values of the pages' parameter in.
var SampleLanguages = []string{"curl", "go", "python", "javascript"}

var (
	sample   = regexp.MustCompile(`(?s)<code id="docs-code">(.*?)</code>.*?<code>(.*?)</code>`)
	variable = regexp.MustCompile(`<li><code>([A-Z_]+)</code>`)
)

// SampleOf returns the sample of a page.
func SampleOf(tb testing.TB, page string) Sample {
	tb.Helper()
	found := sample.FindStringSubmatch(page)
	if found == nil {
		tb.Fatalf("the page shows no sample:\n%s", page)
	}
	run := found[2]
	s := Sample{File: run[strings.LastIndexByte(run, ' ')+1:], Run: run, Code: html.UnescapeString(found[1])}
	for _, v := range variable.FindAllStringSubmatch(page, -1) {
		s.Env = append(s.Env, v[1])
	}
	return s
}
