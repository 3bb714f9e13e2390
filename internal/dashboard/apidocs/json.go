package apidocs

import (
	"bytes"
	"encoding/json"
	"strings"

	"campaign-dispatch/internal/httpapi/jsonscan"
)

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
