package content

// Class is how the provider bills a delivered message in Brazil.
type Class string

// The billing classes.
const (
	Basic  Class = "basic"  // a text of at most BasicBytes bytes, without suggestions
	Single Class = "single" // everything else
)

// BasicBytes is the size of the longest basic message, in UTF-8 bytes. An accented letter
// has two.
const BasicBytes = 160

// Class returns the billing class of a rendered content.
func (c Content) Class() Class {
	if c.Card == nil && c.Carousel == nil && c.File == nil && len(c.Suggestions) == 0 && len(c.Text) <= BasicBytes {
		return Basic
	}
	return Single
}
