package web

// Prefilled is a new campaign with its recipients, whose form is not sent yet.
type Prefilled struct {
	TemplateID string
	FileName   string // shown as the name of the file
	File       []byte // as a person would upload it
	// Object is the key of the file on S3 if it is larger than the form can send. File is empty
	// then.
	Object string
}

// Fits reports whether the file is as small as an uploaded one.
func (c Prefilled) Fits() bool { return len(c.File) <= MaxForm }

// LargeCampaign is a campaign whose file is an object on S3.
type LargeCampaign struct {
	Name, TemplateID, Schedule, NotAfter, FileName, Object string
}
