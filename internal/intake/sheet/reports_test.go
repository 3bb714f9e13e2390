package sheet_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Files of public reports by people who import lists of contacts.
func TestReports(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("11987654321,u,Ana\n", 8000) // more than is read to guess the format
	for _, report := range []struct {
		source, file string
		want         []string // the last lines
	}{
		{"StarGW-net/contacts-import#2", "phone;uid;nome\n1;a\n2;b;Ana\n", []string{"1|a", "2|b|Ana"}},
		{"fusionpbx/fusionpbx#1027", "\ufeff\"phone\",\"uid\"\r\n\"1\",\"a\"\r\n", []string{"1|a"}},
		{"DNNCommunity/DNN.FormAndList#72", "phone;uid;nome\n1;a;\"Ana; a \"\"Nena\"\"\"\n2;b;Tela 5\" nova\n", []string{`1|a|Ana; a "Nena"`, `2|b|Tela 5" nova`}},
		{"owncloud-archive/contacts#689", "phone,uid,nome\n" + many + "1,a,João\n2,b,Ελένη\n", []string{"1|a|João", "2|b|Ελένη"}},
		{"commercetools/sphere-node-product-csv-sync#157", "phone,uid,nome\r\n1,a,\"Ana\r\nMaria\"\r\n2,b,Bia\r\n", []string{"1|a|Ana\nMaria", "2|b|Bia"}},
		{"ProtonMail/proton-contacts#292", "phone,uid,\n1,a,x\n2,b,\n", []string{"1|a|x", "2|b"}},
		{"hizzle-co/noptin#602", "phone,uid,cep\n1,a,\"01310100\"\n", []string{"1|a|01310100"}},
		{"mautic/mautic#10411", "phone,uid,nome\n1,a,Sant'Ana\n2,b,'s-Gravenhage\n", []string{"1|a|Sant'Ana", "2|b|'s-Gravenhage"}},
		{"mautic/mautic#13922", "phone,uid,nome\n1,a,R&D\n2,b,\"\"\"Ana\"\"\"\n", []string{"1|a|R&D", `2|b|"Ana"`}},
		{"gr8b/zabbix-module-sqlexplorer#18", "phone;uid;nome\r\n1;a;\"São\nPaulo\"\r\n", []string{"1|a|São\nPaulo"}},
		{"MscrmTools/XrmToolBox#155", "phone;uid;preço\n1;a;9,90\n", []string{"1|a|9,90"}},
	} {
		rows, err := read([]byte(report.file))
		if err != nil || len(rows) < len(report.want) {
			t.Errorf("%s: %v, %q", report.source, err, rows)
			continue
		}
		last := rows[len(rows)-len(report.want):]
		for n, row := range last {
			_, last[n], _ = strings.Cut(row, " ") // the number of the line
		}
		if diff := cmp.Diff(report.want, last); diff != "" {
			t.Errorf("%s (-want +got):\n%s", report.source, diff)
		}
	}
}
