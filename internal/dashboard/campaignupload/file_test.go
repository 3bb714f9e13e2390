package campaignupload

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRead_Formats(t *testing.T) {
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
		"line ends of old Macs":  "phone;uid;nome\r11987654321;c1;João\r11987654322;c2;Zé, o 1º\r",
		"numbers with dashes":    "phone;uid;Nome\n(11) 98765-4321;c1;João\n11 98765.4322;c2;Zé, o 1º\n",
		"empty cells at the end": "phone;uid;nome\n11987654321;c1;João;;\n11987654322;c2;Zé, o 1º;\n",
	} {
		got, err := fitted(file, "nome")
		if diff := cmp.Diff(want, lines(got)); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
		if ansi := name == "Windows-1252"; got.ansi != ansi {
			t.Errorf("%s: read as Windows-1252: %v", name, got.ansi)
		}
	}
}

// fitted reads a file for a template with these variables.
func fitted(file string, variables ...string) (table, error) {
	all, err := readFile([]byte(file))
	if err == nil {
		err = all.fit(variables)
	}
	return all, err
}

func lines(all table) (texts []string) {
	for _, r := range all.rows {
		texts = append(texts, strings.Join([]string{itoa(r.Line), r.Cell(all.Phone), r.Cell(all.UID), all.Variables(r)["nome"]}, " "))
	}
	return texts
}

func itoa(n int) string { return part{number: n}.batch() }

func TestRead_LineNumbers(t *testing.T) {
	t.Parallel()
	got, err := fitted("sep=;\nphone;uid;nome\n\n1;a;\"two\nlines\"\n2;b;x\n", "nome")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"4 1 a two\nlines", "6 2 b x"}, lines(got)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestRead_Unreadable(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ file, key string }{
		"nothing":               {"", "empty"},
		"white space":           {" \n,,\n", "empty"},
		"a header alone":        {"phone,uid\n", "no_rows"},
		"no phone":              {"contato,uid\n1,2\n", "lacks_one"},
		"no uid":                {"phone,cliente\n1,2\n", "lacks_one"},
		"neither of them":       {"contato,cliente\n1,2\n", "lacks_many"},
		"101 columns":           {"phone,uid" + strings.Repeat(",", 99) + "\n1,2\n", "many_columns"},
		"a million columns":     {"phone,uid\n1,2" + strings.Repeat(",", 1_000_000) + "\n", "many_columns"},
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
		if _, err := fitted(test.file); err == nil || err.Error() != "sending.file."+test.key {
			t.Errorf("%s: %v, want %s", name, err, test.key)
		}
	}
}

func TestRead_EmptyCell(t *testing.T) {
	t.Parallel()
	got, err := fitted("phone;uid;nome;pedido\n1;a;;7\n", "nome", "pedido")
	if diff := cmp.Diff(map[string]string{"pedido": "7"}, got.Variables(got.rows[0])); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestRead_ColumnCase(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		header    string
		variables []string
		missing   string
	}{
		"other capitals":         {"PHONE,Uid,Nome,CUPOM", []string{"nome", "Cupom"}, ""},
		"the exact name first":   {"phone,uid,NOME,nome", []string{"nome"}, ""},
		"two that differ":        {"phone,uid,nome,Nome", []string{"nome", "Nome"}, ""},
		"none is meant for sure": {"phone,uid,NOME,Nome", []string{"nome"}, "nome"},
		"two variables for one":  {"phone,uid,NOME", []string{"nome", "Nome"}, "nome, Nome"},
		"one is the other's":     {"phone,uid,nome", []string{"nome", "Nome"}, "Nome"},
		"the phone in the text":  {"phone,uid", []string{"phone"}, ""},
		"other accents":          {"phone,uid,Codigo,CUPÓM", []string{"código", "cupom"}, ""},
		"accents differ":         {"phone,uid,código,CODIGO", []string{"Código"}, "Código"},
		"all that is missing":    {"contato,nome", []string{"nome", "cupom"}, "phone, uid, cupom"},
	} {
		_, err := fitted(test.header+"\n1,2\n", test.variables...)
		wrong, _ := err.(*fileError) //nolint:errorlint // it is made here
		missing := ""
		if wrong != nil && len(wrong.args) == 2 {
			missing = wrong.args[0].(string)
		}
		if missing != test.missing || (err == nil) != (test.missing == "") {
			t.Errorf("%s: %v %q, want %q", name, err, missing, test.missing)
		}
	}
}

func TestRead_PhoneAndUIDNames(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ header, phone, uid string }{
		"telefone and código":       {"nome,Telefone,Código", "Telefone", "Código"},
		"celular and code":          {"CODE,CELULAR", "CELULAR", "CODE"},
		"decomposed accents":        {"fone,Co\u0301digo", "fone", "Co\u0301digo"},
		"the standard names first":  {"celular,phone,id,uid", "phone", "uid"},
		"a CPF is no code":          {"cpf,WhatsApp,id", "WhatsApp", "id"},
		"two columns of numbers":    {"celular,telefone,uid", "", "uid"},
		"two columns of codes":      {"phone,id,código", "phone", ""},
		"a longer name is no match": {"telefone da loja,id do pedido", "", ""},
	} {
		got, err := readFile([]byte(test.header + "\n1,2\n"))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		found := func(column int) string {
			if column < 0 {
				return ""
			}
			return got.columns[column]
		}
		if phone, uid := found(got.Phone), found(got.UID); phone != test.phone || uid != test.uid {
			t.Errorf("%s: numbers in %q and uids in %q, want %q and %q", name, phone, uid, test.phone, test.uid)
		}
	}
}

func TestRead_TidiesNumbersOfAnyName(t *testing.T) {
	t.Parallel()
	got, err := fitted("Celular;Código;nome\n(11) 98765-4321;c1;João\n", "nome")
	if diff := cmp.Diff([]string{"2 11987654321 c1 João"}, lines(got)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// A short line takes as little memory below many columns as below few.
func TestRead_MemoryOfShortLines(t *testing.T) {
	t.Parallel()
	got, err := readFile([]byte("phone,uid" + strings.Repeat(",", 98) + "\n1" + strings.Repeat(",", 99) + "\n"))
	if err != nil || len(got.columns) != 100 || len(got.rows[0].Cells) != 1 || got.rows[0].Cell(99) != "" {
		t.Errorf("%d columns, %+v, %v", len(got.columns), got.rows, err)
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
			if len(r.Cells) > len(got.columns) || len(r.Cells) == 0 || r.Line < 2 {
				t.Errorf("a row of %d cells in line %d, of %d columns", len(r.Cells), r.Line, len(got.columns))
			}
		}
	})
}
