// Command codes writes the lists and tables of message codes into the OpenAPI document, its
// translation and the pages of docs. Its argument is the root of the repository.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"campaign-dispatch/internal/campaign"
)

// block is a part of a file, between two texts, that is made of the codes.
type block struct {
	path, begin, end string
	count            int // how often the file contains the block
	cells            func(campaign.MessageCode) string
	table            bool // else a list of the codes with cells
}

// The marks of a table of a page.
const (
	begin = "<!-- codes:begin -->\n"
	end   = "<!-- codes:end -->\n"
)

var blocks = []block{
	{path: "internal/httpapi/openapi/openapi.json", begin: "for programs: ", end: ", or a new one", count: 3, cells: english},
	{path: "internal/dashboard/apidocs/portuguese.json", begin: "for programs: ", end: ", or a new one", count: 1, cells: english},
	//nolint:misspell // Portuguese
	{path: "internal/dashboard/apidocs/portuguese.json", begin: "para programas: ", end: ", ou um novo", count: 1, cells: english},
	{path: "docs/guides.md", begin: "| `message.expired` | ", end: " | `expired` |", count: 1, cells: expired},
	{path: "docs/guides.pt.md", begin: "| `message.expired` | ", end: " | `expired` |", count: 1, cells: expired},
	{path: "docs/guides.md", begin: begin, end: end, count: 1, cells: english, table: true},
	{path: "docs/guides.pt.md", begin: begin, end: end, count: 1, cells: portuguese, table: true},
	{path: "docs/api.md", begin: begin, end: end, count: 1, cells: frequent, table: true},
}

// The cells of a code after its name, "" if the block does not contain the code.

func english(c campaign.MessageCode) string { return cells(c.Meaning.English, c.Action.English) }

func portuguese(c campaign.MessageCode) string {
	return cells(c.Meaning.Portuguese, c.Action.Portuguese)
}

func frequent(c campaign.MessageCode) string { return cells("`"+string(c.Outcome)+"`", c.Cause) }

func expired(c campaign.MessageCode) string {
	if c.Outcome != campaign.OutcomeExpired {
		return ""
	}
	return english(c)
}

func cells(first, second string) string {
	if first == "" || second == "" {
		return ""
	}
	return first + " | " + second
}

// render returns the block's content. The codes keep their order in the file, so that it can
// suit readers. New codes come last.
func (b block) render(content string, codes []campaign.MessageCode) string {
	var names, rows []string
	for _, c := range inOrderOf(content, codes) {
		row := b.cells(c)
		if row == "" {
			continue
		}
		if i := slices.Index(rows, row); b.table && i >= 0 {
			names[i] += ", `" + c.Code + "`"
			continue
		}
		names, rows = append(names, "`"+c.Code+"`"), append(rows, row)
	}
	if !b.table {
		return strings.Join(names, ", ")
	}
	lines := headOf(content)
	for i, row := range rows {
		lines = append(lines, "| "+names[i]+" | "+row+" |\n")
	}
	return strings.Join(lines, "")
}

// headOf returns the head of a table and its rule, nil if there is none.
func headOf(table string) []string {
	const head = 2
	lines := strings.SplitAfterN(table, "\n", head+1)
	if len(lines) <= head {
		return nil
	}
	return lines[:head]
}

func inOrderOf(content string, codes []campaign.MessageCode) []campaign.MessageCode {
	place := func(c campaign.MessageCode) int {
		if i := strings.Index(content, "`"+c.Code+"`"); i >= 0 {
			return i
		}
		return len(content)
	}
	return slices.SortedStableFunc(slices.Values(codes), func(a, b campaign.MessageCode) int { return place(a) - place(b) })
}

// update returns the file's text with the block's present content.
func (b block) update(text string, codes []campaign.MessageCode) (string, error) {
	parts := strings.Split(text, b.begin)
	if len(parts) != b.count+1 {
		return "", fmt.Errorf("%s contains %q %d times, want %d", b.path, b.begin, len(parts)-1, b.count)
	}
	for i, part := range parts[1:] {
		content, rest, ok := strings.Cut(part, b.end)
		if !ok {
			return "", fmt.Errorf("%s does not contain %q after %q", b.path, b.end, b.begin)
		}
		if b.table && headOf(content) == nil {
			return "", fmt.Errorf("%s has no head of a table after %q", b.path, b.begin)
		}
		parts[i+1] = b.render(content, codes) + b.end + rest
	}
	return strings.Join(parts, b.begin), nil
}

func (b block) write(root string) error {
	path := filepath.Join(root, b.path)
	old, err := os.ReadFile(path) //nolint:gosec // a file of the project
	if err != nil {
		return fmt.Errorf("read a file with codes: %w", err)
	}
	text, err := b.update(string(old), campaign.MessageCodes)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600) //nolint:gosec // a file of the project
}

func main() {
	for _, b := range blocks {
		if err := b.write(os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
