package web

import "html/template"

// icons are the lines of the icons, in a square of 24.
var icons = map[string]string{
	"add":       "M12 5v14M5 12h14",
	"archive":   "M4 5h16v4H4ZM6 9v10h12V9M10 13h4",
	"campaigns": "M21 3 3 10l7 4 4 7ZM10 14 21 3",
	"cancel":    "M6 6l12 12M18 6 6 18",
	"copy":      "M9 9h11v11H9ZM5 15H4V4h11v1",
	"delete":    "M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13",
	"docs":      "M12 6c-2-1.5-5-2-8-2v14c3 0 6 .5 8 2 2-1.5 5-2 8-2V4c-3 0-6 .5-8 2Zm0 0v14",
	"download":  "M12 4v11M7 11l5 5 5-5M4 20h16",
	"edit":      "M4 20h4L20 8l-4-4L4 16Z",
	"media":     "M4 5h16v14H4ZM4 16l5-5 4 4 3-2 4 3M15.5 9.5h.01",
	"overview":  "M4 20h16M7 20v-7M12 20V5M17 20v-10",
	"people":    "M9 4a3.5 3.5 0 1 0 0 7 3.5 3.5 0 1 0 0-7ZM3 20c0-4 2.5-6 6-6s6 2 6 6M16 5a3 3 0 0 1 0 6M18 14c2 .8 3 3 3 6",
	"restore":   "M4 12a8 8 0 1 0 3-6.2L4 8M4 4v4h4",
	"search":    "M11 4a7 7 0 1 0 0 14 7 7 0 1 0 0-14ZM16 16l4 4",
	"settings":  "M4 8h8M18 8h2M12 5h6v6h-6ZM4 16h2M12 16h8M6 13h6v6H6Z",
	"templates": "M4 5h16v11H10l-5 4v-4H4ZM8 9h8M8 12.5h5",
	"time":      "M12 4a8 8 0 1 0 0 16 8 8 0 1 0 0-16ZM12 8v4l3 2",
	"upload":    "M12 16V5M7 9l5-5 5 5M4 20h16",
}

// Icon returns an icon in the color of the text beside it. It has no text of its own.
func (*Page) Icon(name string) template.HTML {
	return template.HTML(`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d="` + icons[name] + `"/></svg> `) //nolint:gosec // constants
}
