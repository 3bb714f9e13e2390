package sheet

import (
	"archive/zip"
	"encoding/xml"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

const (
	maxSheets    = 100     // that are looked at; a person chooses one of them
	maxSheetName = 100     // characters; spreadsheets have at most 31
	maxLook      = 4 << 20 // bytes that are read to find which sheets have rows
)

type book struct {
	Properties struct {
		Date1904 string `xml:"date1904,attr"`
	} `xml:"workbookPr"`
	Calculation struct {
		OnLoad string `xml:"fullCalcOnLoad,attr"`
	} `xml:"calcPr"`
	Sheets []struct {
		Name  string `xml:"name,attr"`
		ID    string `xml:"id,attr"` // of the namespace of relationships, which has two names
		State string `xml:"state,attr"`
	} `xml:"sheets>sheet"`
}

// link is where a part of the workbook is.
type link struct {
	ID     string `xml:"Id,attr"`
	Target string `xml:"Target,attr"`
}

func (l link) part() string {
	if absolute, ok := strings.CutPrefix(l.Target, "/"); ok {
		return absolute
	}
	return path.Join("xl", l.Target)
}

// visible is a sheet that a person sees.
type visible struct{ name, part string }

// findSheet returns the part with the wanted sheet. If none is wanted, it is the first visible sheet with rows. The
// workbook then knows all visible sheets with rows.
func (w *workbook) findSheet(archive *zip.Reader, wanted string) (part string, err error) {
	sheets, err := w.visibleSheets(archive)
	if err != nil {
		return "", err
	}
	chosen, look := sheets[0], int64(maxLook)
	for _, s := range sheets {
		has, err := w.hasRows(archive, s.part, &look)
		if err != nil {
			return "", err
		}
		if !has {
			continue
		}
		if w.names = append(w.names, s.name); len(w.names) == 1 {
			chosen = s
		}
	}
	if wanted != "" {
		at := slices.IndexFunc(sheets, func(s visible) bool { return s.name == wanted })
		if at < 0 {
			return "", broken("sheet_missing", wanted)
		}
		chosen = sheets[at]
	}
	w.name = chosen.name
	return chosen.part, nil
}

// visibleSheets returns the sheets that a person sees, at least one.
func (w *workbook) visibleSheets(archive *zip.Reader) (sheets []visible, err error) {
	var all book
	var links struct {
		All []link `xml:"Relationship"`
	}
	if err := w.decode(archive, "xl/workbook.xml", &all); err != nil {
		return nil, err
	}
	if err := w.decode(archive, "xl/_rels/workbook.xml.rels", &links); err != nil {
		return nil, err
	}
	w.since1904, w.uncalculated = isTrue(all.Properties.Date1904), isTrue(all.Calculation.OnLoad)
	parts := map[string]string{}
	for _, l := range links.All {
		parts[l.ID] = l.part()
	}
	for _, s := range all.Sheets {
		part, known := parts[s.ID]
		if known && s.State != "hidden" && s.State != "veryHidden" && len(sheets) < maxSheets {
			sheets = append(sheets, visible{Cut(s.Name, maxSheetName), part})
		}
	}
	if len(sheets) == 0 {
		sheets = append(sheets, visible{part: "xl/worksheets/sheet1.xml"})
	}
	return sheets, nil
}

// hasRows reports whether a sheet has a cell with a value. It reads up to the first one, and at most look bytes of all
// sheets: one that cannot be read to its end counts as having rows, so that a person chooses.
func (w *workbook) hasRows(archive *zip.Reader, name string, look *int64) (bool, error) {
	if *look <= 0 {
		return true, nil
	}
	part, err := archive.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return true, w.file.failure()
	}
	defer func() { _ = part.Close() }() // read only
	content := w.file.tokens(io.LimitReader(part, *look), maxSheet)
	found, err := content.hasValue()
	if *look -= content.decoder.InputOffset(); err != nil {
		return true, w.file.failure()
	}
	return found || *look <= 0, nil
}

// hasValue reports whether a cell of a sheet has a value.
func (t *tokens) hasValue() (bool, error) {
	inValue := false
	for {
		token, err := t.next()
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		switch e := token.(type) {
		case xml.StartElement:
			inValue = e.Name.Local == "v" || e.Name.Local == "t"
		case xml.CharData:
			if inValue && strings.TrimSpace(string(e)) != "" {
				return true, nil
			}
		case xml.EndElement:
			if inValue = false; e.Name.Local == "sheetData" {
				return false, nil
			}
		}
	}
}
