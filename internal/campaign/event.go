package campaign

// EventContent is what the blob of an event holds: what must not be in a queue.
type EventContent struct {
	Phone string `json:"phone"`          // E.164, with the leading +
	Text  string `json:"text,omitempty"` // what the person wrote or tapped
	// Postback is what the suggestion that was tapped stands for.
	Postback string `json:"postback,omitempty"`
}
