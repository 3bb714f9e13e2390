package apidocs

import (
	"html/template"
	"regexp"
	"strings"
)

var (
	codeSpan = regexp.MustCompile("`([^`]+)`")
	strong   = regexp.MustCompile(`\*\*([^*]+)\*\*`)
)

// prose converts the Markdown of the OpenAPI document to HTML: paragraphs, tables, code
// and bold text.
func prose(text string) template.HTML {
	var out strings.Builder
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if strings.HasPrefix(paragraph, "|") {
			writeTable(&out, strings.Split(paragraph, "\n"))
		} else if paragraph != "" {
			out.WriteString("<p>" + inline(paragraph) + "</p>\n")
		}
	}
	return template.HTML(out.String()) //nolint:gosec // every text in it is escaped
}

// firstParagraph returns the first paragraph, for tables.
func firstParagraph(text string) template.HTML {
	first, rest, _ := strings.Cut(text, "\n\n")
	if rest != "" {
		first = strings.TrimSuffix(first, ":") + "."
	}
	return template.HTML(inline(first)) //nolint:gosec // it is escaped
}

// inline converts one line to HTML.
func inline(text string) string {
	text = template.HTMLEscapeString(text)
	return strong.ReplaceAllString(codeSpan.ReplaceAllString(text, "<code>$1</code>"), "<strong>$1</strong>")
}

func writeTable(out *strings.Builder, lines []string) {
	out.WriteString("<div class=\"scroll\" tabindex=\"0\"><table>\n")
	for i, line := range lines {
		cell := "td"
		switch i {
		case 0:
			cell = "th"
		case 1: // the line under the head
			continue
		}
		out.WriteString("<tr>")
		for text := range strings.SplitSeq(strings.Trim(line, "| "), "|") {
			out.WriteString("<" + cell + ">" + inline(strings.TrimSpace(text)) + "</" + cell + ">")
		}
		out.WriteString("</tr>\n")
	}
	out.WriteString("</table></div>\n")
}
