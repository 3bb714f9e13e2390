package sending

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFilesAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	want := []string{"2 11987654321 c1 João", "3 11987654322 c2 Zé, o 1º"}
	for name, file := range map[string]string{
		"commas":                 "phone,uid,nome\n11987654321,c1,João\n11987654322,c2,\"Zé, o 1º\"\n",
		"semicolons":             "phone;uid;nome\n11987654321;c1;João\n11987654322;c2;Zé, o 1º",
		"tabs":                   "phone\tuid\tnome\n11987654321\tc1\tJoão\n11987654322\tc2\tZé, o 1º\n",
		"a byte order mark":      "\ufeffphone;uid;nome\r\n11987654321;c1;João\r\n11987654322;c2;Zé, o 1º\r\n",
		"Windows-1252":           "phone;uid;nome\r\n11987654321;c1;Jo\xe3o\r\n11987654322;c2;Z\xe9, o 1\xba\r\n",
		"quotes everywhere":      "\"phone\";\"uid\";\"nome\"\r\n\"11987654321\";\"c1\";\"João\"\r\n\"11987654322\";\"c2\";\"Zé, o 1º\"\r\n",
		"capitals and spaces":    " Phone ; UID ;nome\n 11987654321 ;c1; João \n11987654322;c2;Zé, o 1º\n",
		"empty lines at the end": "phone;uid;nome\n11987654321;c1;João\n11987654322;c2;Zé, o 1º\n;;\n\n;;\n",
		"empty cells at the end": "phone;uid;nome\n11987654321;c1;João;;\n11987654322;c2;Zé, o 1º;\n",
	} {
		got, err := readFile([]byte(file))
		if diff := cmp.Diff(want, lines(got)); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
		if ansi := name == "Windows-1252"; got.ansi != ansi {
			t.Errorf("%s: read as Windows-1252: %v", name, got.ansi)
		}
	}
}

func lines(all table) (texts []string) {
	for _, r := range all.rows {
		texts = append(texts, strings.Join([]string{itoa(r.line), r.cells[all.phone], r.cells[all.uid], all.variables(r)["nome"]}, " "))
	}
	return texts
}

func itoa(n int) string { return part{number: n}.batch() }

func TestLinesAreThoseOfTheFile(t *testing.T) {
	t.Parallel()
	got, err := readFile([]byte("sep=;\nphone;uid;nome\n\n1;a;\"two\nlines\"\n2;b;x\n"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"4 1 a two\nlines", "6 2 b x"}, lines(got)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ file, key string }{
		"nothing":               {"", "empty"},
		"white space":           {" \n,,\n", "empty"},
		"a header alone":        {"phone,uid\n", "no_rows"},
		"no phone":              {"telefone,uid\n1,2\n", "no_phone"},
		"no uid":                {"phone,id\n1,2\n", "no_uid"},
		"a column twice":        {"phone,uid,nome,nome\n1,2,3,4\n", "twice"},
		"too many cells":        {"phone,uid\n1,2,3\n", "columns"},
		"an open quote":         {"phone,uid\n\"1,2\n", "quotes"},
		"a quote out of place":  {"phone,uid\n1,a\"b\n", "quotes"},
		"a workbook":            {"PK\x03\x04rest", "workbook"},
		"an old workbook":       {"\xd0\xcf\x11\xe0rest", "workbook"},
		"UTF-16":                {"\xff\xfep\x00h\x00", "utf16"},
		"UTF-16 without a mark": {"p\x00h\x00o\x00", "utf16"},
		"no text":               {"phone,uid\n\x81\x8d,\x8f\n", "unreadable"},
	} {
		if _, err := readFile([]byte(test.file)); err == nil || err.Error() != "sending.file."+test.key {
			t.Errorf("%s: %v, want %s", name, err, test.key)
		}
	}
}

func TestAnEmptyCellIsNoValue(t *testing.T) {
	t.Parallel()
	got, err := readFile([]byte("phone;uid;nome;pedido\n1;a;;7\n"))
	if diff := cmp.Diff(map[string]string{"pedido": "7"}, got.variables(got.rows[0])); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func FuzzReadFile(f *testing.F) {
	f.Add([]byte("phone;uid;nome\r\n11987654321;c1;\"Zé\"\r\n"))
	f.Add([]byte("sep=,\nphone,uid\n\"1\n2\",3"))
	f.Fuzz(func(t *testing.T, file []byte) {
		got, err := readFile(file)
		if err != nil {
			return
		}
		for _, r := range got.rows {
			if len(r.cells) != len(got.columns) || r.line < 2 || got.phone >= len(r.cells) || got.uid >= len(r.cells) {
				t.Errorf("a row of %d cells in line %d, of %d columns", len(r.cells), r.line, len(got.columns))
			}
		}
	})
}
