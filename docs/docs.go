// Package docs embeds the guides, which the dashboard shows beside the reference of the
// API.
package docs

import _ "embed"

// EnglishGuides are the guides in English, as Markdown.
//
//go:embed guides.md
var EnglishGuides string

// PortugueseGuides are the guides in Portuguese, with the same sections.
//
//go:embed guides.pt.md
var PortugueseGuides string
