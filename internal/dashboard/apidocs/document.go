package apidocs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"strings"

	"campaign-dispatch/internal/httpapi/jsonscan"
	"campaign-dispatch/internal/httpapi/openapi"
)

// document is the part of the OpenAPI document that the pages show.
type document struct {
	Info struct {
		Description string `json:"description"`
	} `json:"info"`
	Tags       []tag                         `json:"tags"`
	Paths      ordered[ordered[*operation]]  `json:"paths"`
	Webhooks   ordered[map[string]operation] `json:"webhooks"`
	Components struct {
		Parameters map[string]parameter `json:"parameters"`
		Headers    map[string]parameter `json:"headers"`
		Responses  map[string]response  `json:"responses"`
		Schemas    map[string]*schema   `json:"schemas"`
	} `json:"components"`

	translations map[string]string // of English texts; empty in English
	render       renderer
}

type tag struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

type operation struct {
	ID          string                `json:"operationId"`
	Tags        []string              `json:"tags"`
	Description string                `json:"description"`
	Security    []map[string][]string `json:"security"`
	Parameters  []parameter           `json:"parameters"`
	RequestBody struct {
		Content ordered[content] `json:"content"`
	} `json:"requestBody"`
	Responses ordered[response] `json:"responses"`
}

// parameter is a parameter or a header.
type parameter struct {
	Ref         string  `json:"$ref"`
	Name        string  `json:"name"`
	In          string  `json:"in"`
	Required    bool    `json:"required"`
	Description string  `json:"description"`
	Schema      *schema `json:"schema"`
}

type response struct {
	Ref         string             `json:"$ref"`
	Description string             `json:"description"`
	Content     ordered[content]   `json:"content"`
	Headers     ordered[parameter] `json:"headers"`
}

type content struct {
	Schema   *schema          `json:"schema"`
	Examples ordered[example] `json:"examples"`
}

type example struct {
	Summary string          `json:"summary"`
	Value   json.RawMessage `json:"value"`
}

type schema struct {
	Ref         string           `json:"$ref"`
	Type        names            `json:"type"`
	Format      string           `json:"format"`
	Description string           `json:"description"`
	Enum        []any            `json:"enum"`
	Const       any              `json:"const"`
	Default     any              `json:"default"`
	Minimum     *int             `json:"minimum"`
	Maximum     *int             `json:"maximum"`
	MinLength   *int             `json:"minLength"`
	MaxLength   *int             `json:"maxLength"`
	MinItems    *int             `json:"minItems"`
	MaxItems    *int             `json:"maxItems"`
	Required    []string         `json:"required"`
	Properties  ordered[*schema] `json:"properties"`
	Items       *schema          `json:"items"`
	AllOf       []*schema        `json:"allOf"`
	AnyOf       []*schema        `json:"anyOf"`
}

// names is one name, or several.
type names []string

// UnmarshalJSON decodes a string or a list of strings.
func (n *names) UnmarshalJSON(data []byte) error {
	if data[0] != '"' {
		return json.Unmarshal(data, (*[]string)(n))
	}
	*n = names{""}
	return json.Unmarshal(data, &(*n)[0])
}

// ordered is an object whose members keep their order.
type ordered[T any] []member[T]

type member[T any] struct {
	Name  string
	Value T
}

// UnmarshalJSON decodes an object.
func (o *ordered[T]) UnmarshalJSON(data []byte) error {
	s := jsonscan.New(data)
	return s.Members(func(name []byte) error {
		m := member[T]{Name: string(name)}
		raw, err := s.Raw()
		if err != nil {
			return err
		}
		if err := json.Unmarshal(raw, &m.Value); err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		*o = append(*o, m)
		return nil
	})
}

// read returns the document for the service at base in a language, with all references
// resolved except those to schemas.
func read(base, language string, render renderer) (*document, error) {
	text, err := openapi.Document(base)
	if err != nil {
		return nil, err
	}
	d := &document{render: render}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	if d.translations, err = translations(language); err != nil {
		return nil, err
	}
	for _, path := range d.Paths {
		for _, o := range path.Value {
			d.resolve(o.Value)
		}
	}
	return d, nil
}

func (d *document) resolve(o *operation) {
	for i, p := range o.Parameters {
		if p.Ref != "" {
			o.Parameters[i] = d.Components.Parameters[last(p.Ref)]
		}
	}
	for i, r := range o.Responses {
		if r.Value.Ref != "" {
			found := d.Components.Responses[last(r.Value.Ref)]
			found.Description = cmp.Or(r.Value.Description, found.Description)
			o.Responses[i].Value = found
		}
	}
}

func last(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

// pretty formats JSON for readers. A text in a JSON string is shown without the
// string's quotes.
func pretty(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	var out strings.Builder
	writeJSON(&out, value, "")
	return out.String()
}

// narrow is the maximum length of an object or a list in one line.
const narrow = 76

// writeJSON writes a value, with short objects and lists in one line.
func writeJSON(out *strings.Builder, value json.RawMessage, indent string) {
	line := oneLine(value)
	s := jsonscan.New(value)
	kind := s.Peek()
	if len(indent)+len(line) <= narrow || (kind != jsonscan.Object && kind != jsonscan.Array) {
		out.WriteString(line)
		return
	}
	inner := indent + "  "
	if kind == jsonscan.Array {
		var items []json.RawMessage
		_ = json.Unmarshal(value, &items) // it was read before
		out.WriteString("[\n")
		for i, item := range items {
			out.WriteString(inner)
			writeJSON(out, item, inner)
			out.WriteString(comma(i, len(items)))
		}
		out.WriteString(indent + "]")
		return
	}
	var members ordered[json.RawMessage]
	_ = json.Unmarshal(value, &members)
	out.WriteString("{\n")
	for i, m := range members {
		name, _ := json.Marshal(m.Name)
		out.WriteString(inner + string(name) + ": ")
		writeJSON(out, m.Value, inner)
		out.WriteString(comma(i, len(members)))
	}
	out.WriteString(indent + "}")
}

func comma(i, n int) string {
	if i == n-1 {
		return "\n"
	}
	return ",\n"
}

// oneLine returns JSON in one line, with a space after each comma and colon.
func oneLine(value json.RawMessage) string {
	var lines bytes.Buffer
	_ = json.Indent(&lines, value, "", "") // it was read before; a string contains no line feed
	return strings.NewReplacer(",\n", ", ", "\n", "").Replace(lines.String())
}

// Text returns the code as text of a page.
func (s Sample) Text() template.HTML { return verbatim(s.Code) }

// quotesStay escapes a text for an element. html/template also escapes quotes, which an
// element need not do, and code has many.
var quotesStay = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func verbatim(code string) template.HTML {
	return template.HTML(quotesStay.Replace(code)) //nolint:gosec // the text is escaped
}
