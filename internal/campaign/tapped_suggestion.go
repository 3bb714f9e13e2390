package campaign

import "campaign-dispatch/internal/campaign/content"

// TappedSuggestion is a tapped suggestion, as shown to clients.
type TappedSuggestion struct {
	Text string       `json:"text"`
	Kind content.Kind `json:"kind"`
	URL  string       `json:"url,omitempty"`
}

// Tapped returns a suggestion of a message as it was sent. It counts from 1. For an erased
// message, the variables are not replaced. It returns nil if there is no such suggestion.
func (t Template) Tapped(suggestion int, m Message) *TappedSuggestion {
	sent := t.Content
	if !m.Erased() {
		sent = t.Render(m.Values)
	}
	all := sent.AllSuggestions()
	if suggestion < 1 || suggestion > len(all) {
		return nil
	}
	s := all[suggestion-1]
	return &TappedSuggestion{Text: s.Text, Kind: s.Kind, URL: s.URL}
}
