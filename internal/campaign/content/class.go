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

// Classifier returns the billing class of a template's messages without rendering them.
type Classifier struct {
	single bool  // every message is single
	fixed  int   // bytes of the text without the variables
	uses   []int // how often each variable occurs, in the order of Variables
}

// Classifier returns the classifier of a template's content.
func (c Content) Classifier() Classifier {
	text := Content{Text: c.Text}
	c.Text = ""
	k := Classifier{single: c.Class() == Single}
	variables := text.Variables()
	names := NewNames(variables)
	k.uses = make([]int, len(variables))
	for part, variable := range Parts(text.Text) {
		if variable {
			k.uses[names.Index(part)]++
		} else {
			k.fixed += len(part)
		}
	}
	return k
}

// Fixed returns the class of all messages, or "" if it depends on the values.
func (k Classifier) Fixed() Class {
	switch {
	case k.single || k.fixed > BasicBytes:
		return Single
	case len(k.uses) == 0:
		return Basic
	}
	return ""
}

// Class returns the class of a message. sizes are the sizes of its values in bytes, in the
// order of Variables.
func (k Classifier) Class(sizes []int) Class {
	size := k.fixed
	for i, n := range k.uses {
		if i < len(sizes) {
			size += n * sizes[i]
		}
	}
	if k.single || size > BasicBytes {
		return Single
	}
	return Basic
}
