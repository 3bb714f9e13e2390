package sheet_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/intake/sheet"
	"campaign-dispatch/internal/intake/submission"
)

// inUTF16 returns a text as Excel writes "Unicode text".
func inUTF16(text string, high bool) []byte {
	var file []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		pair := []byte{byte(unit), byte(unit >> 8)}
		if high {
			pair[0], pair[1] = pair[1], pair[0]
		}
		file = append(file, pair...)
	}
	return file
}

// The reader takes what spreadsheets, scripts and databases write.
func TestOpen_CSVAsWritten(t *testing.T) {
	t.Parallel()
	text := "\ufefftelefone\tuid\r\n11987654321\tJoão\r\n"
	for name, test := range map[string]struct {
		file string
		want []string
	}{
		"a formula":                  {"telefone;uid\n=\"11987654321\";a\n", []string{"telefone|uid", "2 11987654321|a"}},
		"a formula with a separator": {"telefone;uid\n=\"1;2\"; =\"b\"\n", []string{"telefone|uid", "2 1;2|b"}},
		"a formula in quotes":        {"telefone;uid\n\"=\"\"11987654321\"\"\";a\n", []string{"telefone|uid", "2 11987654321|a"}},
		"another formula":            {"telefone;uid\n\"=\"\"a\"\"&\"\"b\"\"\";a\n", []string{"telefone|uid", "2 =\"a\"&\"b\"|a"}},
		"CR CR LF":                   {"telefone;nome\r\r\n11987654321;\"Souza, Ana\"\r\r\n2;b\r\r\n", []string{"telefone|nome", "2 11987654321|Souza, Ana", "3 2|b"}},
		"a blank line first":         {"\r\ntelefone;uid\r\n11987654321;a\r\n", []string{"telefone|uid", "3 11987654321|a"}},
		"blank cells first":          {";;\r\n \r\ntelefone;uid\r\n1;a\r\n", []string{"telefone|uid", "4 1|a"}},
		"other separators first":     {",,\r\ntelefone;uid\r\n1;a\r\n", []string{"telefone|uid", "3 1|a"}},
		"two marks and quotes":       {"\ufeff\ufeff\"telefone\";\"uid\"\n\"1\";\"a\"\n", []string{"telefone|uid", "2 1|a"}},
		"a mark within":              {"telefone;uid\n\ufeff\"1\";\"a\"\n\ufeff2;b\n", []string{"telefone|uid", "2 1|a", "3 2|b"}},
		"mixed line ends":            {"telefone;uid\r1;a\n2;b\r\n\r3;c\r\r\n4;d", []string{"telefone|uid", "2 1|a", "3 2|b", "5 3|c", "6 4|d"}},
		"CR alone and quotes":        {"telefone;nome\r1;\"a\rb\"\r2;c\r", []string{"telefone|nome", "2 1|a\nb", "4 2|c"}},
		"spaces around quotes":       {"telefone, uid\n1, \"a,b\" \n \"2\" ,c\n", []string{"telefone|uid", "2 1|a,b", "3 2|c"}},
		"quotes within":              {"telefone;nome\n1;\"Ana \"Bia\" Souza\"\n2;TV 50\"\n3;a\"b\"\n", []string{"telefone|nome", "2 1|Ana \"Bia\" Souza", "3 2|TV 50\"", "4 3|a\"b\""}},
		"separators in quotes":       {"\"a,b,c,d\";telefone\nx;1\n", []string{"a,b,c,d|telefone", "2 x|1"}},
		"lines decide":               {"nome, código;telefone\na;1\nb;2\n", []string{"nome, código|telefone", "2 a|1", "3 b|2"}},
		"lines refute the header":    {"uid;telefone;Valor, em reais, hoje, já\na;1;10,5,1,2,3,4,5\nb;2;1,1,1,1,1,1,1\n", []string{"uid|telefone|Valor, em reais, hoje, já", "2 a|1|10,5,1,2,3,4,5", "3 b|2|1,1,1,1,1,1,1"}},
		"bars":                       {"telefone|uid\n1|a\n", []string{"telefone|uid", "2 1|a"}},
		"sep in quotes":              {"\ufeff\"sep=;\"\r\ntelefone;a,b,c\r\n1;a\r\n", []string{"telefone|a,b,c", "3 1|a"}},
		"sep after a blank line":     {"\r\nSEP=^\r\ntelefone^uid\r\n1^a\r\n", []string{"telefone|uid", "4 1|a"}},
		"UTF-16":                     {string(inUTF16(text, false)), []string{"telefone|uid", "2 11987654321|João"}},
		"UTF-16, high byte first":    {string(inUTF16(text, true)), []string{"telefone|uid", "2 11987654321|João"}},
		"UTF-16 without a mark":      {string(inUTF16(text[len("\ufeff"):], false)), []string{"telefone|uid", "2 11987654321|João"}},
		"NUL":                        {"telefone;uid\n1;a\x00b\n\x00\x00\x00\n", []string{"telefone|uid", "2 1|a\x00b"}},
		"our apostrophes":            {"telefone;nome\n1;'-10%\n2;'@loja\n3;\"Oi; '=1\"\n4;d'água\n", []string{"telefone|nome", "2 1|-10%", "3 2|@loja", "4 3|Oi; =1", "5 4|d'água"}},
		"a cell of many lines":       {"telefone;nome\n1;\"" + strings.Repeat("a\n", 99) + "\"\n2;b\n", []string{"telefone|nome", "2 1|" + strings.TrimSpace(strings.Repeat("a\n", 99)), "102 2|b"}},
		"PowerShell":                 {"#TYPE System.Management.Automation.PSCustomObject\r\n\"telefone\",\"uid\"\r\n\"1\",\"a\"\r\n", []string{"telefone|uid", "3 1|a"}},
		"DOS":                        {"telefone;uid\r\n1;a\r\n\x1a", []string{"telefone|uid", "2 1|a"}},
		"a character cut off":        {"telefone;nome\n1;Concei\xc3\xa7\xc3\n2;Jo\xe3\n", []string{"telefone|nome", "2 1|Conceiç\ufffd", "3 2|Joã"}},
		"cut off":                    {"telefone;nome\n1;\"a\"\n2", []string{"telefone|nome", "2 1|a", "3 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := read([]byte(test.file))
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// One bad line costs one line.
func TestNext_BadLine(t *testing.T) {
	t.Parallel()
	const before, after = "telefone;nome\n11987654320;x\n", "11987654328;y\n11987654329;z\n"
	for name, test := range map[string]struct {
		bad  string
		want []string // of it and of what it begins
	}{
		"too many cells":           {"1;a;b\n", []string{"3 1|a|b too_many_cells", "4 11987654328|y", "5 11987654329|z"}},
		"empty cells":              {"1;a;;;\n", []string{"3 1|a", "4 11987654328|y", "5 11987654329|z"}},
		"an open quote":            {"11987654321;\"Ana\n", []string{"3 11987654321|Ana open_quote", "4 11987654328|y", "5 11987654329|z"}},
		"an open quote, then one":  {"11987654321;\"Ana\n11987654322;\"Bia\"\n", []string{"3 11987654321|Ana open_quote", "4 11987654322|Bia", "5 11987654328|y", "6 11987654329|z"}},
		"an open quote, inches":    {"11987654321;\"Ana\n11987654322;TV 50\"\n", []string{"3 11987654321|Ana open_quote", "4 11987654322|TV 50\"", "5 11987654328|y", "6 11987654329|z"}},
		"open in each cell":        {"\"1;\"Ana\n", []string{"3 1|Ana open_quote", "4 11987654328|y", "5 11987654329|z"}},
		"open before another cell": {"\"1;\"Ana\"\n", []string{"3 1|Ana open_quote", "4 11987654328|y", "5 11987654329|z"}},
		"text after quotes":        {"1;\"Ana\" Souza\n", []string{"3 1|Ana\" Souza open_quote", "4 11987654328|y", "5 11987654329|z"}},
		"a line of megabytes":      {"1;" + strings.Repeat("a", 3<<20) + "\r\r\n", []string{"3 1|" + strings.Repeat("a", 199) + "… long_line", "4 11987654328|y", "5 11987654329|z"}},
		"separators":               {"1" + strings.Repeat(";", 20_000) + "\n", []string{"3 1" + strings.Repeat("|", 10_000) + strings.Repeat(";", 10_000) + " too_many_cells", "4 11987654328|y", "5 11987654329|z"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := read([]byte(before + test.bad + after))
			if diff := cmp.Diff(append([]string{"telefone|nome", "2 11987654320|x"}, test.want...), got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%.2000s", err, diff)
			}
		})
	}
}

// A quote that is open up to the end of the file costs its line, wherever it is.
func TestNext_OpenQuoteInLargeFile(t *testing.T) {
	t.Parallel()
	const rows, bad = 3000, 1500
	var file bytes.Buffer
	file.WriteString("telefone;nome\n")
	for n := range rows {
		quote := ""
		if n == bad {
			quote = `"`
		}
		fmt.Fprintf(&file, "%d;%sAna\n", n, quote)
	}
	got, err := read(file.Bytes())
	if err != nil || len(got) != 1+rows {
		t.Fatalf("%d lines, %v", len(got), err)
	}
	for n, said := range got[1:] {
		if faulty := strings.HasSuffix(said, " open_quote"); faulty != (n == bad) || !strings.HasPrefix(said, fmt.Sprint(n+2, " ")) {
			t.Errorf("row %d: %s", n, said)
		}
	}
}

// endless is a file in which a text is repeated. It knows how far it was read.
type endless struct {
	header, text string
	read         int64
}

func (e *endless) ReadAt(p []byte, offset int64) (int, error) {
	e.read = max(e.read, offset+int64(len(p)))
	for i := range p {
		if at := offset + int64(i); at < int64(len(e.header)) {
			p[i] = e.header[at]
		} else {
			p[i] = e.text[(at-int64(len(e.header)))%int64(len(e.text))]
		}
	}
	return len(p), nil
}

// The reader holds few megabytes of a file at once, and reads each byte of a large file once or twice.
func TestNext_BoundedMemory(t *testing.T) {
	t.Parallel()
	const size, most = 8 << 20, 3 << 20
	for name, text := range map[string]string{
		"open quotes":            "1;\"a\n",
		"escaped quotes":         "1;\"\"\"a\"\"\n",
		"lines of old Macs":      "1;a\r",
		"lines of kilobytes":     "1;\"" + strings.Repeat("a", 20_000) + "\n",
		"an open quote and text": "11;\"a\nb\nc\nd\n",
	} {
		file := &endless{header: "telefone;nome" + text[len(text)-1:], text: text}
		f, err := sheet.Open(t.Context(), file, size, submission.Reading{})
		for err == nil {
			var row sheet.Row
			row, err = f.Next()
			if used := int64(row.Line) * int64(len(text)) / int64(strings.Count(text, text[len(text)-1:])); err == nil && file.read-used > most {
				t.Fatalf("%s: %d bytes are read ahead at line %d", name, file.read-used, row.Line)
			}
		}
		if !errors.Is(err, io.EOF) {
			t.Errorf("%s: %v", name, err)
		}
	}
	file := &endless{header: "telefone;nome\n1;\"", text: "a"}
	f, err := sheet.Open(t.Context(), file, size, submission.Reading{})
	if err != nil {
		t.Fatal(err)
	}
	if row, err := f.Next(); err != nil || row.Fault != sheet.LongLine || len(strings.Join(row.Cells, "")) > most {
		t.Errorf("a line without an end: %s, %v", row.Fault, err)
	}
	if _, err := f.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("after a line without an end: %v", err)
	}
}

// letters returns the letters of ASCII and the digits of a text, in small letters.
func letters(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r | 0x20
		case r >= '0' && r <= '9', r >= 'a' && r <= 'z':
			return r
		}
		return -1
	}, text)
}

var (
	saysSeparator = regexp.MustCompile("(?i)^(?:[\r\n \x00\"]|\xef\xbb\xbf)*(?:sep=[^\r\n]|#TYPE [^\r\n]*)")
	lineEnd       = regexp.MustCompile("\r\r\n|\r\n|\r|\n")
)

// Each letter of a file is in its header, in a row, or in a row that is left out, in the order of the file.
func FuzzCSV(f *testing.F) {
	for _, file := range []string{
		"telefone;uid\n=\"11987654321\";a\n", "a;b\n1;\"x\r\r\ny\"\r\n2;\"z\n3;\"w\"\n", "sep=|\r\n\ufeff\"a\"|b\r\n1|'@c\r\n", "a,b\n1,Jo\xe3o\n2,Jo\xc3\xa3o\n",
		"a;b\n\"1;\"\"2\n3\"\n\"\"\"4;\"5\"\" ;6", "\n;\n\ta\tb\r1\t\"\r2\"\t\"\"\n", "a;b;c\n1;2;3;4\n5;\"6\n7;8;9\n", "a\n\"\"\"\"\"b\n\"c\"d\n",
	} {
		f.Add([]byte(file))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		if bytes.HasPrefix(content, []byte("PK")) || bytes.HasPrefix(content, []byte("\xff\xfe")) || bytes.HasPrefix(content, []byte("\xfe\xff")) ||
			bytes.Count(content, []byte{0}) > len(content)/5 {
			t.Skip("no CSV, or UTF-16")
		}
		open, err := sheet.Open(t.Context(), bytes.NewReader(content), int64(len(content)), submission.Reading{})
		known := func(err error) bool {
			_, is := errors.AsType[*submission.Fault](err)
			return is
		}
		if err != nil {
			if !known(err) {
				t.Fatal(err)
			}
			return
		}
		texts, line := slices.Clone(open.Columns), open.HeaderLine
		for {
			row, err := open.Next()
			if errors.Is(err, io.EOF) || known(err) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if row.Line <= line || row.Fault == "" && len(row.Cells) > len(open.Columns) {
				t.Fatalf("line %d after %d, %q", row.Line, line, row.Fault)
			}
			line = row.Line
			texts = append(texts, row.Cells...)
		}
		found := letters(strings.Join(texts, ""))
		if ends := len(lineEnd.FindAll(content, -1)); line > ends+1 {
			t.Fatalf("line %d of %d", line, ends+1)
		}
		whole := string(saysSeparator.ReplaceAll(content, nil))
		if want := letters(whole); found != want && letters(string(content)) != found {
			t.Errorf("read %q of\n%q", found, content)
		}
		if _, err := sheet.Encodings(t.Context(), bytes.NewReader(content), int64(len(content))); err != nil {
			t.Error(err)
		}
	})
}

// BenchmarkCSV reads files of 100,000 lines.
func BenchmarkCSV(b *testing.B) {
	for name, row := range map[string]string{
		"plain":        "55119%08d;cliente-%[1]d;Maria da Conceição;https://loja.example/p/%[1]d;129,90\n",
		"quoted":       "\"55119%08d\";\"cliente-%[1]d\";\"Maria da Conceição\";\"https://loja.example/p/%[1]d\";\"129,90\"\r\n",
		"Windows-1252": "55119%08d;cliente-%[1]d;Maria da Concei\xe7\xe3o;https://loja.example/p/%[1]d;129,90\n",
	} {
		var file bytes.Buffer
		file.WriteString("telefone;uid;nome;link;valor\n")
		for n := range 100_000 {
			fmt.Fprintf(&file, row, n)
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(file.Len()))
			b.ReportAllocs()
			for b.Loop() {
				f, err := sheet.Open(b.Context(), bytes.NewReader(file.Bytes()), int64(file.Len()), submission.Reading{})
				for err == nil {
					_, err = f.Next()
				}
				if !errors.Is(err, io.EOF) {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+", encodings", func(b *testing.B) {
			b.SetBytes(int64(file.Len()))
			for b.Loop() {
				if _, err := sheet.Encodings(b.Context(), bytes.NewReader(file.Bytes()), int64(file.Len())); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// An open quote costs its own line alone, also if the next person's has more separators and ends with a quote.
func TestNext_OpenQuoteBeforeMoreCells(t *testing.T) {
	t.Parallel()
	file := "telefone,nome,pedido\n11987654321,\"Ana,TV\n11987654322,Bia,TV 50\", preta\n11987654323,Cia,TV\n"
	want := []string{"telefone|nome|pedido", "2 11987654321|Ana|TV open_quote", "3 11987654322|Bia|TV 50\"|preta too_many_cells", "4 11987654323|Cia|TV"}
	if diff := cmp.Diff(want, linesOf(t, []byte(file), submission.Reading{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A file of empty lines alone would keep a function busy. Some programs write a million of them.
func TestNext_EmptyLines(t *testing.T) {
	t.Parallel()
	header, million := "telefone;nome\n1;a\n", strings.Repeat("\n", 1<<20)
	got, err := read([]byte(header + million + "2;b\n" + million))
	if diff := cmp.Diff([]string{"telefone|nome", "2 1|a", fmt.Sprint(3+1<<20, " 2|b")}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for name, text := range map[string]string{"empty": "\n", "empty quotes": "\"\n"} {
		const size = 64 << 20
		file := &endless{header: header, text: text}
		f, err := sheet.Open(t.Context(), file, size, submission.Reading{})
		for err == nil {
			_, err = f.Next()
		}
		if wrong, ok := errors.AsType[*submission.Fault](err); !ok || wrong.Code != "too_many_lines" || file.read > size/2 {
			t.Errorf("%s: %v after %d bytes", name, err, file.read)
		}
	}
}
