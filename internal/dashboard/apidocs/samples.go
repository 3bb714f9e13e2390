package apidocs

import (
	"embed"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/template"

	"campaign-dispatch/internal/campaign/pattern"
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

//go:embed calls
var callFiles embed.FS

// programs are the templates of the samples of one operation.
var programs = sync.OnceValue(func() *template.Template { return template.Must(template.ParseFS(callFiles, "calls/*.txt")) })

// request is what the samples of an operation send beside its method and path. $NAME is
// the value of an environment variable.
type request struct {
	query  string
	header header
	body   string
}

type header struct{ Name, Value string }

// Line returns the header as curl takes it.
func (h header) Line() string { return h.Name + ": " + h.Value }

// requests are the requests of the operations that need more than their path.
var requests = map[string]request{
	"getToken": {body: `{"grant_type": "client_credentials", "client_id": "$CLIENT_ID", "client_secret": "$CLIENT_SECRET"}`},
	"dispatchCampaign": {
		header: header{"Idempotency-Key", "$IDEMPOTENCY_KEY"},
		body: `{"campaignId": "$CAMPAIGN_ID", "name": "$CAMPAIGN_NAME", "templateId": "$TEMPLATE_ID",
			"messages": [{"phone": "$PHONE", "uid": "customer-1", "vars": {"nome": "Ana", "pedido": 1001}}]}`,
	},
	"listMessages":    {query: "?status=delivered&limit=100"},
	"listEvents":      {query: "?after=0&limit=100"},
	"cancelCampaign":  {query: "?revoke=true"},
	"rescheduleBatch": {body: `{"batch": "$BATCH_ID", "schedule": "$SCHEDULE"}`},
	"createExport": {
		header: header{"Idempotency-Key", "$IDEMPOTENCY_KEY"},
		body:   `{"statuses": ["failed", "expired"], "format": "excel", "language": "pt-BR"}`,
	},
	"putList": {body: `{"reason": "State law 17.334/2021 of São Paulo", "areaCodes": [11, 12, 13, 14, 15, 16, 17, 18, 19],
			"traffic": ["promotion"], "numbers": ["$PHONE"]}`},
	"changeList":    {body: `{"add": ["$PHONE"]}`},
	"listTemplates": {query: "?limit=100"},
	"createTemplate": {
		header: header{"Idempotency-Key", "$IDEMPOTENCY_KEY"},
		body: `{"name": "$TEMPLATE_NAME", "text": "Seu pedido saiu para entrega.",
			"suggestions": [{"kind": "openUrl", "text": "Acompanhar", "url": "https://loja.example.com"}]}`,
	},
	"createTemplateVersion":  {body: `{"version": 1, "name": "$TEMPLATE_NAME", "text": "Seu pedido sai hoje para entrega."}`},
	"previewTemplate":        {body: `{"template": {"name": "$TEMPLATE_NAME", "text": "Seu pedido saiu para entrega."}}`},
	"previewTemplateVersion": {body: `{"vars": {"nome": "Ana", "pedido": 1001}}`},
}

// pathVariables are the environment variables of the parameters in paths.
var pathVariables = strings.NewReplacer("{campaignId}", "$CAMPAIGN_ID", "{batch}", "$BATCH_ID",
	"lists/{name}", "lists/$LIST_NAME", "{name}", "$ERROR_FILE",
	"{exportId}", "$EXPORT_ID", "{file}", "$EXPORT_FILE",
	"{templateId}", "$TEMPLATE_ID", "{version}", "$TEMPLATE_VERSION")

// program is the data of a sample's template.
type program struct {
	language string
	Method   string
	URL      string
	Headers  []header
	Body     string // pretty JSON, or ""
}

// program returns the operation's program in a language.
func (r *reference) program(language, base string) program {
	more := requests[r.ID]
	p := program{language: language, Method: r.Method, URL: base + pathVariables.Replace(r.Path) + more.query}
	if r.Token {
		p.Headers = append(p.Headers, header{"Authorization", "Bearer $TOKEN"})
	}
	if more.header.Name != "" {
		p.Headers = append(p.Headers, more.header)
	}
	if more.body != "" {
		p.Headers = append(p.Headers, header{"Content-Type", "application/json"})
		p.Body = pretty(json.RawMessage(more.body))
	}
	return p
}

func (r *reference) samples(base string) ([]Sample, error) {
	all := slices.Clone(languages)
	for i, s := range languages {
		file := "call" + path.Ext(s.File)
		var code strings.Builder
		if err := programs().ExecuteTemplate(&code, file+".txt", r.program(s.ID, base)); err != nil {
			return nil, fmt.Errorf("write the %s sample of %s: %w", s.ID, r.ID, err)
		}
		all[i].File, all[i].Run, all[i].Code = file, strings.Replace(s.Run, s.File, file, 1), code.String()
	}
	return all, nil
}

func (r *reference) env() []string { return r.program("", "").Env() }

var (
	variable     = pattern.AtFirstUse(`\$([A-Z_]+)`)
	withVariable = pattern.AtFirstUse(`"[^"]*\$[^"]*"`)
)

// Env returns the environment variables of the program.
func (p program) Env() (names []string) {
	text := p.URL + " " + p.Body
	for _, h := range slices.Backward(p.Headers) {
		text = h.Value + " " + text
	}
	for _, found := range variable().FindAllStringSubmatch(text, -1) {
		if !slices.Contains(names, found[1]) {
			names = append(names, found[1])
		}
	}
	return names
}

// StatesMethod reports whether the method is stated: GET is the default of curl and fetch.
func (p program) StatesMethod() bool { return p.Method != http.MethodGet }

// Literal returns a text as an expression of the program's language.
func (p program) Literal(text string) string {
	name, whole := strings.CutPrefix(text, "$")
	whole = whole && variable().FindString(text) == text
	switch {
	case p.language == "curl" || !variable().MatchString(text):
		return strconv.Quote(text)
	case p.language == "go":
		joined := strconv.Quote(variable().ReplaceAllString(text, "\x00$1\x00"))
		joined = goVariable().ReplaceAllString(joined, `"+os.Getenv("$1")+"`)
		return strings.TrimSuffix(strings.TrimPrefix(joined, `""+`), `+""`)
	case whole:
		return name
	case p.language == "python":
		return "f" + strconv.Quote(variable().ReplaceAllString(text, "{$1}"))
	default:
		return "`" + variable().ReplaceAllString(text, "$${$1}") + "`"
	}
}

// goVariable matches the marks of a variable in a quoted text.
var goVariable = pattern.AtFirstUse(`\\x00([A-Z_]+)\\x00`)

// Value returns the body as an expression of the program's language. indent is the
// indent of its first line.
func (p program) Value(indent string) string {
	text := withVariable().ReplaceAllStringFunc(p.Body, func(quoted string) string {
		return p.Literal(strings.Trim(quoted, `"`))
	})
	switch p.language {
	case "go":
		text = goValue(text)
	case "python":
		text = strings.ReplaceAll(text, "  ", "    ")
	}
	return strings.ReplaceAll(text, "\n", "\n"+indent)
}

var lastInLine = pattern.AtFirstUse(`([^,{\[])\n`)

// goValue changes pretty JSON to a Go expression, formatted as gofmt does.
func goValue(text string) string {
	text = lastInLine().ReplaceAllString(text, "$1,\n")
	text = strings.NewReplacer("{", "map[string]any{", "[", "[]any{", "]", "}", "  ", "\t").Replace(text)
	lines := strings.Split(text, "\n")
	for rest := lines; len(rest) > 0; {
		rest = rest[align(rest):]
	}
	return strings.Join(lines, "\n")
}

// goMember matches a line with the name of a member and its value.
var goMember = pattern.AtFirstUse(`^(\t+"\w+":) (.*[^{])$`)

// align aligns the values of the members at the start of lines, and returns the number
// of lines that it has looked at.
func align(lines []string) int {
	n, width := 0, 0
	for n < len(lines) && goMember().MatchString(lines[n]) {
		width = max(width, strings.Index(lines[n], ": ")+1)
		n++
	}
	for i := range n {
		m := goMember().FindStringSubmatch(lines[i])
		lines[i] = fmt.Sprintf("%-*s %s", width, m[1], m[2])
	}
	return max(n, 1)
}
