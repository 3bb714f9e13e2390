package intake_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/intake/submission"
)

// names returns the values of the variable nome of the messages.
func (c *company) names(sub submission.Submission) (names []string) {
	c.t.Helper()
	for part := 1; part <= sub.Check.Parts; part++ {
		body, err := c.blobs.Get(c.t.Context(), sub.PartKey(part))
		c.must(err)
		messages, _, err := submission.DecodePart(body)
		c.must(err)
		for _, m := range messages {
			names = append(names, m.Vars["nome"])
		}
	}
	return names
}

// A file with lines that are not UTF-8 is read in their encoding, wherever they are.
func TestSubmission_Encoding(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file, encoding string
		names, words   []string
	}{
		"Windows-1252, then UTF-8": {"phone;uid;nome\n11988880001;a;Jos\xe9\n11988880002;b;Jo\xc3\xa3o\n", "windows-1252", []string{"José", "João"}, []string{"José", "João"}},
		"an old Mac":               {"phone;uid;nome\r11988880001;a;Jo\x8bo\r11988880002;b;Ana\r", "macintosh", []string{"João", "Ana"}, []string{"João"}},
		"DOS":                      {"phone;uid;nome\r\n11988880001;a;Ana\r\n11988880002;b;Bia\r\n11988880003;c;Jo\xc6o\r\n", "ibm850", []string{"Ana", "Bia", "João"}, []string{"João"}},
		"UTF-8":                    {"phone;uid;nome\n11988880001;a;João\n11988880002;b;Conceição\n", "", []string{"João", "Conceição"}, []string{"João", "Conceição"}},
		"ASCII":                    {"phone;uid;nome\n11988880001;a;Ana\n", "", []string{"Ana"}, nil},
		"another column":           {"phone;uid;nome;x\n11988880001;a;Ana;Jo\xe3o\n", "windows-1252", []string{"Ana"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCompany(t)
			sub := c.ready(test.file, nil)
			if sub.Reading.Encoding != test.encoding || sub.Check.ANSI != (test.encoding != "") {
				t.Errorf("read in %q, not UTF-8: %v", sub.Reading.Encoding, sub.Check.ANSI)
			}
			if diff := cmp.Diff(test.names, c.names(sub)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			words, err := c.Words(t.Context(), sub)
			if diff := cmp.Diff(test.words, words); diff != "" || err != nil {
				t.Errorf("words, %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// padded returns a file of more than 4 MB that ends with a line.
func padded(line string) string {
	return "phone;uid;nome;x\n11988880001;a;Jo\xc3\xa3o\n11988880002;b;Ana\n11988880003;c;Bia\n" +
		strings.Repeat("11988880004;d;Davi;"+strings.Repeat("-", 500_000)+"\n", 9) + line + "\n"
}

// In a large file, the check finds the first line that is not UTF-8.
func TestSubmission_LateEncoding(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	sub := c.ready(padded("11988880005;e;Jo\xc6o"), nil)
	if diff := cmp.Diff([]string{"João", "Ana", "Bia", "Davi", "João"}, c.names(sub)); diff != "" || sub.Reading.Encoding != "ibm850" || sub.Check.Number != 1 {
		t.Errorf("%q, check %d (-want +got):\n%s", sub.Reading.Encoding, sub.Check.Number, diff)
	}
	if words, err := c.Words(t.Context(), sub); err != nil || !cmp.Equal(words, []string{"João"}) {
		t.Errorf("words %q, %v", words, err)
	}
}

// Nothing is checked before a person has chosen among the encodings that fit.
func TestSubmission_UnclearEncoding(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]string{
		"small": "phone;uid;nome\n11988880001;a;JOS\xe9\n", "large": padded("11988880005;e;JOS\xe9"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCompany(t)
			sub := c.upload(file, nil)
			want := []submission.EncodingChoice{
				{Name: "windows-1252", Words: []string{"JOSé"}}, {Name: "macintosh", Words: []string{"JOSÈ"}}, {Name: "ibm850", Words: []string{"JOSÚ"}},
			}
			if diff := cmp.Diff(want, sub.Columns.Encodings); diff != "" || sub.State != submission.StateColumns || sub.Check.Parts > 0 || sub.Reading.Encoding != "" {
				t.Fatalf("%s, %d parts (-want +got):\n%s", sub.State, sub.Check.Parts, diff)
			}
			c.must(c.Check(t.Context(), sub, sub.Columns.Chosen, c.t1))
			c.run()
			if waits := c.stored(sub); waits.State != submission.StateColumns {
				t.Fatalf("it is checked before a person has chosen: %s", waits.State)
			}
			if err := c.Read(t.Context(), sub, submission.Reading{Encoding: "utf-7"}, c.t1); err == nil {
				t.Error("any encoding is taken")
			}
			c.must(c.Read(t.Context(), sub, submission.Reading{Encoding: "ibm850"}, c.t1))
			c.run()
			sub = c.stored(sub)
			if names := c.names(sub); sub.State != submission.StateReady || names[len(names)-1] != "JOSÚ" {
				t.Errorf("%s, %q", sub.State, names)
			}
			c.must(c.Read(t.Context(), sub, submission.Reading{Encoding: "windows-1252"}, c.t1))
			c.run()
			sub = c.stored(sub)
			if names := c.names(sub); sub.State != submission.StateReady || names[len(names)-1] != "JOSé" {
				t.Errorf("after another choice: %s, %q", sub.State, names)
			}
		})
	}
}

// A line that cannot be read is left out with its reason, and the others are sent.
func TestSubmission_BadLines(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	sub := c.take([]byte("phone;uid;nome\n11988880001;a;Ana\n11988880002;b;\"Bia\n11988880003;c;Caio;x\n11988880004;d;Davi\n11988880005;e;'-Eva\n"), time.Minute)
	var out []string
	for l, err := range c.LeftOut(t.Context(), sub) {
		c.must(err)
		out = append(out, l.Code+" "+l.Phone+" "+l.Vars["nome"])
	}
	if diff := cmp.Diff([]string{"open_quote 11988880002 Bia", "too_many_cells 11988880003 Caio"}, out); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Ana", "Davi", "-Eva"}, c.names(sub)); diff != "" || sub.Check.Rows != 5 || sub.Check.Findings.Faulty() != 2 {
		t.Errorf("%d rows (-want +got):\n%s", sub.Check.Rows, diff)
	}
}
