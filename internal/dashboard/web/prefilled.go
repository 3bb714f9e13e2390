package web

// Prefilled is a new campaign with its recipients, whose form is not sent yet.
type Prefilled struct {
	TemplateID string
	FileName   string // shown as the name of the file
	File       []byte // as a person would upload it
}

// Fits reports whether the file is as small as an uploaded one.
func (c Prefilled) Fits() bool { return len(c.File) <= MaxForm }
