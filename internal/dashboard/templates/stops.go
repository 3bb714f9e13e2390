package templates

import (
	"slices"

	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/campaign/reaction"
)

// stopsOf returns the texts of the buttons that read as an opt-out and are none, each once.
func stopsOf(c content.Content) (texts []string) {
	for _, s := range c.AllSuggestions() {
		if s.Kind == content.Reply && reaction.OnlyReadsAsStop(s.Text) && !slices.Contains(texts, s.Text) {
			texts = append(texts, s.Text)
		}
	}
	return texts
}
