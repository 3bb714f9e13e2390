package sheet_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/encoding/charmap"

	"campaign-dispatch/internal/intake/sheet"
	"campaign-dispatch/internal/intake/submission"
)

func encoded(tb testing.TB, chars *charmap.Charmap, text string) string {
	tb.Helper()
	file, err := chars.NewEncoder().String(text)
	if err != nil {
		tb.Fatal(err)
	}
	return file
}

// choices returns the encodings of the lines of a file that are not UTF-8, with their words.
func choices(tb testing.TB, file string) (all []string) {
	tb.Helper()
	found, err := sheet.Encodings(tb.Context(), strings.NewReader(file), int64(len(file)))
	if err != nil {
		tb.Fatal(err)
	}
	for _, c := range found {
		all = append(all, c.Name+" "+strings.Join(c.Words, ","))
	}
	return all
}

// The encoding is the one under which all words are Portuguese.
func TestEncodings_Clear(t *testing.T) {
	t.Parallel()
	for name, chars := range map[string]*charmap.Charmap{"windows-1252": charmap.Windows1252, "macintosh": charmap.Macintosh, "ibm850": charmap.CodePage850} {
		for _, text := range []string{
			"João", "João,José,Conceição", "ação,Simões,Antônio,Inês,Luís,Júlia,água,à vista", "JOÃO DA CONCEIÇÃO", "São João nº 5,1ª parcela",
			strings.Repeat("Ana,", 1000) + "Muñoz,João,José", "JOãO,CONCEIçãO",
		} {
			file := "telefone\n" + strings.ReplaceAll(encoded(t, chars, text), ",", "\n") + "\n"
			if text == "JOÃO DA CONCEIÇÃO" && name == "ibm850" { // Windows-1252 makes JOÇO of it
				continue
			}
			if got := choices(t, file); len(got) != 1 || !strings.HasPrefix(got[0], name+" ") {
				t.Errorf("%.60q in %s: %q", text, name, got)
			}
		}
	}
	for _, word := range []string{"José", "JOSÉ", "Vânia", "“José”", "Suíço", "José – SP", "10 €, José", "R$\u00a010", "D’Ávila", "d´Ávila, José", "PROMOÇÃO…", "Ana\u00a0Maria, João", "Ibañez, João, José"} {
		if got := choices(t, "telefone;nome\n1;"+encoded(t, charmap.Windows1252, word)+"\n"); len(got) != 1 || !strings.HasPrefix(got[0], "windows-1252 ") {
			t.Errorf("%s: %q", word, got)
		}
	}
	for _, word := range []string{"Cláudia", "Antônio", "Luís", "Câmara, ção"} {
		if got := choices(t, "telefone;nome\n1;"+encoded(t, charmap.CodePage850, word)+"\n"); len(got) != 1 || !strings.HasPrefix(got[0], "ibm850 ") {
			t.Errorf("%s: %q", word, got)
		}
	}
	if got := choices(t, "telefone;nome\r1;Cl\x87udia\r"); !cmp.Equal(got, []string{"macintosh Cláudia"}) {
		t.Errorf("a file of an old Mac: %q", got)
	}
	for name, file := range map[string]string{
		"UTF-8": "telefone;nome\n1;João\n2;ação\n", "a workbook": "PK\x03\x04", "UTF-16": string(inUTF16("\ufefftelefone;nome\n1;João\n", false)),
	} {
		if got := choices(t, file); len(got) > 0 {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// A person chooses where more than one encoding fits, or none.
func TestEncodings_Unclear(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file string
		want []string
	}{
		"mixed capitals":        {"telefone;nome\n1;JOS\xe9\n", []string{"windows-1252 JOSé", "macintosh JOSÈ", "ibm850 JOSÚ"}},
		"two readings":          {"telefone;nome\n1;Cl\x87udia\n", []string{"windows-1252 Cl‡udia", "macintosh Cláudia", "ibm850 Clçudia"}},
		"an apostrophe":         {"telefone;nome\n1;D\x92AVILA\n", []string{"windows-1252 D’AVILA", "macintosh DíAVILA", "ibm850 DÆAVILA"}},
		"another language":      {"telefone;nome\n1;\xc8\xe2\xe0\xed\n", []string{"windows-1252 Èâàí", "macintosh »‚‡Ì", "ibm850 ╚ÔÓÝ"}},
		"only a foreign word":   {"telefone;nome\n1;Mu\xf1oz\n", []string{"windows-1252 Muñoz", "macintosh MuÒoz", "ibm850 Mu±oz"}},
		"small letters by half": {"telefone;nome\n1;jo\xc3o, Jos\xc9\n", []string{"windows-1252 joÃo,JosÉ", "macintosh jo√o,Jos…", "ibm850 jo├o,Jos╔"}},
		"no character":          {"telefone;nome\n1;Jo\x81o Jos\xe9\n", []string{"windows-1252 Jo\ufffdo,José", "macintosh JoÅo,JosÈ", "ibm850 Joüo,JosÚ"}},
		"beside lines of UTF8":  {"telefone;nome\n1;João\n2;JOS\xe9\n3;Conceição\n", []string{"windows-1252 JOSé", "macintosh JOSÈ", "ibm850 JOSÚ"}},
	} {
		if diff := cmp.Diff(test.want, choices(t, test.file)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Each line is UTF-8 if it is valid, and so is each cell.
func TestNext_MixedEncodings(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file, encoding string
		want           []string
	}{
		"Windows-1252, then UTF-8": {"phone,uid\n1,Jos\xe9\n2,Jo\xc3\xa3o\n", "", []string{"phone|uid", "2 1|José", "3 2|João"}},
		"UTF-8, then Windows-1252": {"phone,uid\n1,é\n2,\xe9\n", "", []string{"phone|uid", "2 1|é", "3 2|é"}},
		"in one line":              {"phone,uid,x\n1,Jos\xe9,Jo\xc3\xa3o\n", "", []string{"phone|uid|x", "2 1|José|João"}},
		"in lines of a cell":       {"phone,uid\n1,\"Jos\xe9\nJo\xc3\xa3o\"\n", "", []string{"phone|uid", "2 1|José\nJoão"}},
		"old Macs":                 {"phone,c\x97digo\r1,Jo\x8bo\r", "macintosh", []string{"phone|código", "2 1|João"}},
		"DOS":                      {"phone,uid\r\n1,Jo\xc6o\r\n", "ibm850", []string{"phone|uid", "2 1|João"}},
		"no character":             {"phone,uid\n1,Jo\x81o\n", "windows-1252", []string{"phone|uid", "2 1|Jo\ufffdo"}},
	} {
		f, err := sheet.Open(t.Context(), strings.NewReader(test.file), int64(len(test.file)), submission.Reading{Encoding: test.encoding})
		if err != nil {
			t.Fatal(err)
		}
		got, err := rowsOf(f)
		if diff := cmp.Diff(test.want, got); diff != "" || err != nil || !f.ANSI() {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestRow_ANSI(t *testing.T) {
	t.Parallel()
	file := "phone,uid\n1,João\n2,Jo\xe3o\n3,\"Jo\xe3o\"\n4,Ana\n"
	f, err := sheet.Open(t.Context(), strings.NewReader(file), int64(len(file)), submission.Reading{})
	if err != nil || f.ANSI() {
		t.Fatal(f.ANSI(), err)
	}
	for n, want := range []bool{false, true, true, false} {
		if row, err := f.Next(); err != nil || row.ANSI != want {
			t.Errorf("row %d: %v, %v", n, row.ANSI, err)
		}
	}
	if _, err := f.Next(); !errors.Is(err, io.EOF) || !f.ANSI() {
		t.Error(f.ANSI(), err)
	}
}

func TestLikely(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{"a\nb\n": "", "a\nJo\xc6o\n": "ibm850", "a\nJOS\xe9\n": "windows-1252"} {
		if got, err := sheet.Likely(t.Context(), strings.NewReader(file), int64(len(file))); err != nil || got.Encoding != want {
			t.Errorf("%q: %q, %v", file, got.Encoding, err)
		}
	}
	if !sheet.KnownEncoding("ibm850") || sheet.KnownEncoding("") {
		t.Error("not the known encodings")
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	var got []string
	for _, text := range []string{"Ana", "João da Conceição", "João", "a" + strings.Repeat("ç", 30), "É 10%", "ü", "à", "não"} {
		got = sheet.Words(got, text)
	}
	want := []string{"João", "Conceição", "a" + strings.Repeat("ç", 18) + "…", "É", "ü"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUTF8(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{string(inUTF16("\ufeffAna\n", true)): "\ufeffAna\n", "Jo\xe3o": "Jo\xe3o"} {
		if got := sheet.UTF8([]byte(file)); !bytes.Equal(got, []byte(want)) {
			t.Errorf("%q: %q", file, got)
		}
	}
}
