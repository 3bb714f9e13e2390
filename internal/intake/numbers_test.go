package intake_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/intake/submission"
)

const writtenNumbers = "Celular;Código;Nome\n" +
	"(011) 98888-0001;a;Ana\n0 15 11 98888-0002;b;Bia\n0055 11 98888-0003;c;Caio\n1188880004;d;Davi\n\u200e11\u200b988880005\u202c;e;Eva\n" +
	"351912345678;f;Fay\n951234567;g;Gil\n0800 123 4567;h;Hal\n(11) 98888-0004;i;Ivo\n"

// Numbers are read as people write them. A refused one is listed as written, with the one that may be meant, and a number of
// another country is counted apart.
func TestSubmission_WrittenNumbers(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	c.partLines = 20
	sub := c.ready(writtenNumbers, nil)
	c.sameOuts(sub, []submission.LeftOut{
		{Line: 5, Kind: submission.KindInvalid, Code: "missing_ninth_digit", Phone: "1188880004", Meant: "+5511988880004"},
		{Line: 7, Kind: submission.KindAbroad, Code: "PT", Phone: "351912345678", Meant: "+351912345678"},
		{Line: 8, Kind: submission.KindInvalid, Code: "missing_area_code", Phone: "951234567"},
		{Line: 9, Kind: submission.KindInvalid, Code: "no_area_code", Phone: "0800 123 4567"},
	})
	found := sub.Check.Findings
	abroad := []submission.LineFault{{Code: "PT", Lines: submission.Lines{Count: 1, First: []int{7}}}}
	if diff := cmp.Diff(abroad, found.Abroad); diff != "" || found.Accepted != 6 || found.OtherCountries() != 1 || found.Nine.Count > 0 {
		t.Errorf("%+v (-want +got):\n%s", found, diff)
	}
	if done := c.send(sub); done.State != submission.StateSent || done.Sending.Accepted != 6 || done.Sending.Rejected != 3 {
		t.Errorf("sent: %s, %d accepted, %d rejected", done.State, done.Sending.Accepted, done.Sending.Rejected)
	}
}

// A person adds the ninth digit, and corrects numbers that were refused. Others stay as they are.
func TestSubmission_ChangedNumbers(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	c.partLines = 4
	sub := c.ready(writtenNumbers+"11988880008;j;Jo\n", nil)
	sub.Reading = submission.Reading{AddNine: true, Corrections: map[int]string{8: "(011) 98888-0007", 9: "4004", 11: "11988880009"}}
	sub = c.check(c.save(sub))
	c.sameOuts(sub, []submission.LeftOut{
		{Line: 5, Kind: submission.KindNine, Phone: "1188880004", Meant: "+5511988880004"},
		{Line: 7, Kind: submission.KindAbroad, Code: "PT", Phone: "351912345678", Meant: "+351912345678"},
		{Line: 9, Kind: submission.KindInvalid, Code: "missing_area_code", Phone: "0800 123 4567"},
		{Line: 10, Kind: submission.KindRepeated, Phone: "(11) 98888-0004", Meant: "+5511988880004"},
	})
	found := sub.Check.Findings
	if diff := cmp.Diff(submission.Lines{Count: 1, First: []int{5}}, found.Nine); diff != "" || found.Accepted != 8 {
		t.Errorf("%+v (-want +got):\n%s", found, diff)
	}
	numbers := map[int]uint64{}
	for part := range sub.Check.Parts {
		body, err := c.blobs.Get(t.Context(), sub.PartKey(part+1))
		c.must(err)
		messages, _, err := submission.DecodePart(body)
		c.must(err)
		for _, m := range messages {
			numbers[m.Line] = m.Number
		}
	}
	want := map[int]uint64{
		2: 5511988880001, 3: 5511988880002, 4: 5511988880003, 5: 5511988880004, 6: 5511988880005, 7: 351912345678, 8: 5511988880007,
		9: 0, 11: 5511988880008,
	}
	if diff := cmp.Diff(want, numbers); diff != "" {
		t.Errorf("numbers by line (-want +got):\n%s", diff)
	}
	if done := c.send(sub); done.State != submission.StateSent || done.Sending.Accepted != 8 || done.Reading.Corrections != nil {
		t.Errorf("sent: %+v", done)
	}
}

// sameOuts compares the lines that are left out or noted, without their other values.
func (c *company) sameOuts(sub submission.Submission, want []submission.LeftOut) {
	c.t.Helper()
	var got []submission.LeftOut
	for l, err := range c.LeftOut(c.t.Context(), sub) {
		c.must(err)
		l.UID, l.Vars = "", nil
		got = append(got, l)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		c.t.Errorf("left out or noted (-want +got):\n%s", diff)
	}
}

// Nobody is greeted with the error of a formula. A line without a value that the template needs is left out.
func TestSubmission_NoValues(t *testing.T) {
	t.Parallel()
	none := []string{"#N/D", "#VALOR!", "#REF!", "#NOME?", "#DIV/0!", "########", `\N`, "NULL"}
	values := []string{"#1", "##", "#VIP", "Null", "Nulo", "N", "#N/D Souza"}
	var file strings.Builder
	file.WriteString("telefone;uid;nome\n")
	for n, text := range append(none, values...) {
		fmt.Fprintf(&file, "119888800%02d;%[1]d;%s\n", n, text)
	}
	file.WriteString("11988880099;#REF!;Ana\n")
	c := newCompany(t)
	c.partLines = 20
	sub := c.ready(file.String(), nil)
	var left []int
	for l, err := range c.LeftOut(t.Context(), sub) {
		c.must(err)
		left = append(left, l.Line)
	}
	if diff := cmp.Diff([]int{2, 3, 4, 5, 6, 7, 8, 9, 17}, left); diff != "" || sub.Check.Findings.Accepted != len(values) {
		t.Errorf("%+v (-want +got):\n%s", sub.Check.Findings, diff)
	}
}
