package campaign

// EventContent is the blob of a provider event. It contains the personal data that must not
// enter a queue.
type EventContent struct {
	Phone string `json:"phone"`          // E.164, with the leading +
	Text  string `json:"text,omitempty"` // the text that the recipient wrote or tapped
	// Postback is the postback data of the tapped suggestion.
	Postback string `json:"postback,omitempty"`
}
