package web

// Empty is what a page shows in place of a list without entries: a sketch of what will be there, a
// sentence, and the next step.
type Empty struct {
	Sketch      string // "table", "chart", "phone", "pictures", "people", "log" or "file"
	Title, Text string // Title may be ""
	Path, Step  string // of the next step, "" for none
}

// Empty returns the page with an Empty, for empty.html. step is a path and the text key of its link, if
// there is a next step.
func (p *Page) Empty(sketch, titleKey, textKey string, step ...string) *Page {
	e := Empty{Sketch: sketch, Text: p.T(textKey)}
	if titleKey != "" {
		e.Title = p.T(titleKey)
	}
	if len(step) > 0 {
		e.Path, e.Step = step[0], p.T(step[1])
	}
	return p.Part(e)
}
