package submission

import "slices"

// Reading is how a file is read where the file leaves a choice. The zero value is how a file is read before a person
// has chosen.
type Reading struct {
	// Sheet is the name of the sheet of a workbook, "" for the one that the workbook suggests.
	Sheet string `json:"sheet,omitempty"`
	// Hidden reports whether the hidden rows of a workbook are read.
	Hidden bool `json:"hidden,omitempty"`
	// Encoding is the encoding of the lines of a CSV file that are not UTF-8, "" if it is not known yet.
	Encoding string `json:"encoding,omitempty"`
	// AddNine reports whether Brazilian mobile numbers without the ninth digit get it.
	AddNine bool `json:"addNine,omitempty"`
	// Corrections are numbers that a person has corrected, by the line of the file.
	Corrections map[int]string `json:"corrections,omitempty"`
}

// EncodingChoice is an encoding of the lines of a CSV file that are not UTF-8.
type EncodingChoice struct {
	Name string `json:"name"` // for Reading.Encoding
	// Words are the first ones with accents, as they are in this encoding. They may be people's names.
	Words []string `json:"words"`
}

// MaxCorrections is the maximum number of Corrections.
const MaxCorrections = 20

// Undecided reports whether a file leaves a choice that has to be made before the file is checked.
func (r Reading) Undecided(c Columns) bool {
	return len(c.Sheets) > 1 && r.Sheet == "" || len(c.Encodings) > 0 && r.Encoding == ""
}

// SameColumns reports whether another reading of the file has the same columns.
func (r Reading) SameColumns(other Reading) bool {
	return r.Sheet == other.Sheet && r.Encoding == other.Encoding
}

// Offers reports whether a person may choose the sheet and the encoding of a reading.
func (s Submission) Offers(r Reading) bool {
	return s.Reading.SameColumns(r) ||
		(r.Sheet == s.Reading.Sheet || slices.Contains(s.Columns.Sheets, r.Sheet)) && (r.Encoding == "" || s.Columns.hasEncoding(r.Encoding))
}

func (c Columns) hasEncoding(name string) bool {
	return slices.ContainsFunc(c.Encodings, func(e EncodingChoice) bool { return e.Name == name })
}
