package apidocs

import (
	"embed"
	"html/template"
	"strings"
)

//go:embed samples
var samples embed.FS

// Sample is a program that gets a token and dispatches a campaign of one message. It
// reads the environment variables CLIENT_ID, CLIENT_SECRET, TEMPLATE_ID and PHONE,
// prints the status of each answer, and fails if a call is refused.
type Sample struct {
	ID, Name string // of its language
	File     string // file name to save it as
	Run      string // the command that runs it
	Code     string
}

// Text returns the code as text of a page.
func (s Sample) Text() template.HTML { return verbatim(s.Code) }

// quotesStay escapes a text for an element. html/template also escapes quotes, which an
// element need not do, and code has many.
var quotesStay = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// verbatim returns code as text of a page.
func verbatim(code string) template.HTML {
	return template.HTML(quotesStay.Replace(code)) //nolint:gosec // the text is escaped
}

// languages lists the samples without their code.
var languages = []Sample{
	{ID: "curl", Name: "curl", File: "first-call.sh", Run: "sh first-call.sh"},
	{ID: "go", Name: "Go", File: "first_call.go", Run: "go run first_call.go"},
	{ID: "python", Name: "Python", File: "first_call.py", Run: "python3 first_call.py"},
	{ID: "javascript", Name: "JavaScript", File: "first-call.mjs", Run: "node first-call.mjs"},
}

// Samples returns the samples for the service at base, a URL without trailing slash.
func Samples(base string) []Sample {
	all := make([]Sample, len(languages))
	for i, s := range languages {
		s.Code = strings.ReplaceAll(code(s.File), "{{base}}", base)
		all[i] = s
	}
	return all
}

func code(file string) string {
	if strings.HasSuffix(file, ".go") {
		file += ".txt" // not compiled into the service
	}
	text, err := samples.ReadFile("samples/" + file)
	if err != nil {
		panic(err) // the samples are embedded in the binary
	}
	return string(text)
}
