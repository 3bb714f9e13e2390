// Command prose converts the Markdown of the API documentation to HTML, in the file that the
// dashboard embeds. Its argument is the root of the repository.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"campaign-dispatch/internal/dashboard/apidocs"
)

const path = "internal/dashboard/apidocs/prose.json"

// base is the URL of a service. No text contains it.
const base = "https://service.example.com"

func main() {
	content, err := file()
	if err == nil {
		err = os.WriteFile(filepath.Join(os.Args[1], path), content, 0o600) //nolint:gosec // a file of the project
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// file returns the content of the file: a JSON object of HTML by Markdown.
func file() ([]byte, error) {
	texts, err := apidocs.Prose(base, render)
	if err != nil {
		return nil, fmt.Errorf("read the documentation: %w", err)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(texts); err != nil {
		return nil, fmt.Errorf("encode the HTML: %w", err)
	}
	return out.Bytes(), nil
}

// markdown is CommonMark with tables. It omits HTML.
var markdown = goldmark.New(goldmark.WithExtensions(extension.Table))

func render(text string) string {
	var out bytes.Buffer
	if err := markdown.Convert([]byte(text), &out); err != nil {
		panic(err) // writing to a buffer does not fail
	}
	return out.String()
}
