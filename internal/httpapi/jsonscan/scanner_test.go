package jsonscan_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"campaign-dispatch/internal/httpapi/jsonscan"
)

// tree reads a text with the scanner into the values that encoding/json produces with
// UseNumber.
func tree(data []byte) (any, error) {
	s := jsonscan.New(data)
	v, err := value(s)
	if err != nil {
		return nil, err
	}
	return v, s.End()
}

func value(s *jsonscan.Scanner) (any, error) {
	switch s.Peek() {
	case jsonscan.Object:
		return object(s)
	case jsonscan.Array:
		return array(s)
	case jsonscan.String:
		b, err := s.String()
		return string(b), err
	case jsonscan.Number, jsonscan.Bool, jsonscan.Null, jsonscan.Invalid:
	}
	return literal(s)
}

func object(s *jsonscan.Scanner) (any, error) {
	members := map[string]any{}
	return members, s.Members(func(name []byte) (err error) {
		member := string(name)
		members[member], err = value(s)
		return err
	})
}

func array(s *jsonscan.Scanner) (any, error) {
	elements := []any{}
	err := s.Elements(func() error {
		v, err := value(s)
		elements = append(elements, v)
		return err
	})
	return elements, err
}

func literal(s *jsonscan.Scanner) (any, error) {
	raw, err := s.Raw()
	switch text := string(raw); {
	case err != nil:
		return nil, err
	case text == "null":
		return nil, nil
	case text == "true" || text == "false":
		return text == "true", nil
	default:
		return json.Number(text), nil
	}
}

func code(err error) string {
	if e, ok := errors.AsType[*jsonscan.Error](err); ok {
		return e.Code
	}
	return fmt.Sprint(err)
}

func TestScanner_Values(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{}`, `[]`, `""`, `0`, `null`, `true`, `false`, ` [ 1 , 2 ] `, "\t{\n\"a\" :\r1}\n",
		`{"a":{"a":{"a":[{"a":1},{"a":2}]}},"b":[],"c":{}}`,
		`[-0,-1.5e+10,12.25E-3,0.0,123456789012345678901234567890]`,
		`"\"\\\/\b\f\n\r\t\u0000\u00e9\u20AC\uD83D\ude00"`,
		`"Olá, João! 你好 😀"`, `"` + strings.Repeat("é", 9) + `\n` + strings.Repeat("ã", 3000) + `"`,
		`["` + strings.Repeat(`a\"bcdefghij`, 2000) + `","x\ty","` + strings.Repeat("z", 300) + `\/"]`,
		`{"a":1,"b":2,"\u0063":3}`, `{"":0," ":1}`,
		strings.Repeat("[", 64) + strings.Repeat("]", 64), wide(100_000, "last"),
	} {
		got, err := tree([]byte(text))
		if err != nil {
			t.Errorf("%.60s: %v", text, err)
		}
		if want := oracle(t, text); !reflect.DeepEqual(got, want) {
			t.Errorf("%.60s: got %v, want %v", text, got, want)
		}
	}
}

func oracle(tb testing.TB, text string) any {
	tb.Helper()
	var want any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&want); err != nil {
		tb.Fatalf("%.60s: %v", text, err)
	}
	return want
}

// wide returns an object with n names plus last.
func wide(n int, last string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i := range n {
		fmt.Fprintf(&b, `"name%d":%d,`, i, i)
	}
	fmt.Fprintf(&b, `%q:true}`, last)
	return b.String()
}

var refused = []struct{ text, code string }{
	{``, jsonscan.Malformed},
	{` `, jsonscan.Malformed},
	{"\ufeff{}", jsonscan.Malformed},
	{`{`, jsonscan.Malformed},
	{`[1,]`, jsonscan.Malformed},
	{`[,1]`, jsonscan.Malformed},
	{`[1 2]`, jsonscan.Malformed},
	{`[1}`, jsonscan.Malformed},
	{`{"a":1,}`, jsonscan.Malformed},
	{`{,}`, jsonscan.Malformed},
	{`{"a"}`, jsonscan.Malformed},
	{`{"a" 1}`, jsonscan.Malformed},
	{`{"a":}`, jsonscan.Malformed},
	{`{a:1}`, jsonscan.Malformed},
	{`{1:1}`, jsonscan.Malformed},
	{`{'a':1}`, jsonscan.Malformed},
	{`{}{}`, jsonscan.Malformed},
	{`{} x`, jsonscan.Malformed},
	{`1 2`, jsonscan.Malformed},
	{"{}\x00", jsonscan.Malformed},
	{`// x`, jsonscan.Malformed},
	{`01`, jsonscan.Malformed},
	{`-`, jsonscan.Malformed},
	{`+1`, jsonscan.Malformed},
	{`.5`, jsonscan.Malformed},
	{`1.`, jsonscan.Malformed},
	{`1e`, jsonscan.Malformed},
	{`1e+`, jsonscan.Malformed},
	{`NaN`, jsonscan.Malformed},
	{`tru`, jsonscan.Malformed},
	{`nul`, jsonscan.Malformed},
	{`True`, jsonscan.Malformed},
	{`"a`, jsonscan.Malformed},
	{`"a\`, jsonscan.Malformed},
	{`"a\"`, jsonscan.Malformed},
	{`"\x"`, jsonscan.Malformed},
	{`"\u12"`, jsonscan.Malformed},
	{`"\u12g4"`, jsonscan.Malformed},
	{"\"a\nb\"", jsonscan.Malformed},
	{"\"12345678\x1f\"", jsonscan.Malformed},
	{"\"\\n\x00\"", jsonscan.Malformed},
	{`"\ud800"`, jsonscan.InvalidUTF8},
	{`"\udc00"`, jsonscan.InvalidUTF8},
	{`"\ud800\u0041"`, jsonscan.InvalidUTF8},
	{`"\ud800\ud800"`, jsonscan.InvalidUTF8},
	{`"\udc00\ud800"`, jsonscan.InvalidUTF8},
	{`{"\ud83d":1}`, jsonscan.InvalidUTF8},
	{"\"\xff\"", jsonscan.InvalidUTF8},
	{"\"\xc0\x80\"", jsonscan.InvalidUTF8},
	{"\"\xed\xa0\x80\"", jsonscan.InvalidUTF8},
	{"\"\\n\xe2\x82\"", jsonscan.InvalidUTF8},
	{"\"Ol\xe1, tudo bem? 12345678\"", jsonscan.InvalidUTF8},
	{`{"a":1,"a":2}`, jsonscan.DuplicateName},
	{`{"a":1,"\u0061":2}`, jsonscan.DuplicateName},
	{`[[{"x":{"a":{},"b":1,"a":[]}}]]`, jsonscan.DuplicateName},
	{`{"":1,"":2}`, jsonscan.DuplicateName},
	{wide(31, "name0"), jsonscan.DuplicateName},
	{wide(32, "name31"), jsonscan.DuplicateName},
	{wide(33, "name32"), jsonscan.DuplicateName},
	{wide(100_000, "name99999"), jsonscan.DuplicateName},
	{strings.Repeat("[", 65) + strings.Repeat("]", 65), jsonscan.TooDeep},
	{strings.Repeat(`{"a":`, 65) + "1" + strings.Repeat("}", 65), jsonscan.TooDeep},
	{strings.Repeat("[", 50_000), jsonscan.TooDeep},
}

func TestScanner_Errors(t *testing.T) {
	t.Parallel()
	for _, c := range refused {
		if _, err := tree([]byte(c.text)); code(err) != c.code {
			t.Errorf("%.60q pulled: %v, want %s", c.text, err, c.code)
		}
		s := jsonscan.New([]byte(c.text))
		_, err := s.Raw()
		if err == nil {
			err = s.End()
		}
		if code(err) != c.code {
			t.Errorf("%.60q skipped: %v, want %s", c.text, err, c.code)
		}
	}
}

func TestScanner_ErrorPosition(t *testing.T) {
	t.Parallel()
	_, err := tree([]byte(`{"secret":1,"secret":2}`))
	var e *jsonscan.Error
	if !errors.As(err, &e) || e.Offset != 12 {
		t.Errorf("got %v, want an error at byte 12", err)
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the error contains the text: %v", err)
	}
}

func TestScanner_UnexpectedKind(t *testing.T) {
	t.Parallel()
	reads := map[string]func(*jsonscan.Scanner) error{
		"object": func(s *jsonscan.Scanner) error { return s.Members(nil) },
		"array":  func(s *jsonscan.Scanner) error { return s.Elements(nil) },
		"string": func(s *jsonscan.Scanner) error { _, err := s.String(); return err },
	}
	for name, read := range reads {
		if err := read(jsonscan.New([]byte(" 12"))); code(err) != jsonscan.InvalidType {
			t.Errorf("%s of a number: %v", name, err)
		}
		if err := read(jsonscan.New([]byte(" ]"))); code(err) != jsonscan.Malformed {
			t.Errorf("%s of an empty text: %v", name, err)
		}
	}
}

func TestScanner_Raw(t *testing.T) {
	t.Parallel()
	for _, want := range []string{`12.50`, `-0`, `true`, `"\u0041"`, `{ "a" : [ 1, 2 ] }`} {
		got, err := jsonscan.New([]byte("  " + want + "\n")).Raw()
		if err != nil || string(got) != want {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
	}
}

func TestScanner_StringsRemainValid(t *testing.T) {
	t.Parallel()
	var want []string
	for i := range 5000 {
		want = append(want, fmt.Sprintf("line %d\n%q", i, strings.Repeat("x", i%50)))
	}
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got [][]byte
	s := jsonscan.New(data)
	err = s.Elements(func() error {
		b, err := s.String()
		got = append(got, b)
		return err
	})
	if err != nil || len(got) != len(want) {
		t.Fatalf("%d strings, %v", len(got), err)
	}
	for i := range want {
		if string(got[i]) != want[i] {
			t.Fatalf("string %d is %q", i, got[i])
		}
	}
}

func TestPointer(t *testing.T) {
	t.Parallel()
	for want, tokens := range map[string][]string{
		"": nil, "/messages/17/uid": {"messages", "17", "uid"}, "/a~1b/c~0d/": {"a/b", "c~d", ""},
	} {
		if got := jsonscan.Pointer(tokens...); got != want {
			t.Errorf("%q: %s, want %s", tokens, got, want)
		}
	}
}

// strict reports whether a text that encoding/json accepts also follows the stricter
// rules.
func strict(data []byte) bool {
	return utf8.Valid(data) && !loneSurrogate(data) && namesOnce(json.NewDecoder(bytes.NewReader(data)), 0)
}

func loneSurrogate(data []byte) bool {
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		if i++; data[i] != 'u' {
			continue
		}
		unit, _ := strconv.ParseUint(string(data[i+1:i+5]), 16, 16)
		i += 4
		if unit < 0xD800 || unit > 0xDFFF {
			continue
		}
		if unit > 0xDBFF || i+6 >= len(data) || data[i+1] != '\\' || data[i+2] != 'u' {
			return true
		}
		low, _ := strconv.ParseUint(string(data[i+3:i+7]), 16, 16)
		if low < 0xDC00 || low > 0xDFFF {
			return true
		}
		i += 6
	}
	return false
}

// namesOnce checks one value for repeated names and for excessive depth.
func namesOnce(d *json.Decoder, depth int) bool {
	d.UseNumber()
	token, err := d.Token()
	if err != nil {
		return false
	}
	open, ok := token.(json.Delim)
	if !ok {
		return true
	}
	seen := map[string]bool{}
	for d.More() {
		if open == '{' {
			token, err := d.Token()
			name, _ := token.(string)
			if err != nil || seen[name] {
				return false
			}
			seen[name] = true
		}
		if !namesOnce(d, depth+1) {
			return false
		}
	}
	_, err = d.Token()
	return err == nil && depth < jsonscan.MaxDepth
}

func FuzzScanner(f *testing.F) {
	for _, c := range refused {
		if len(c.text) < 2000 {
			f.Add([]byte(c.text))
		}
	}
	f.Add([]byte(`{"campaignId":"c","messages":[{"phone":"+5511987654321","uid":"\ud83d\ude00é","vars":{"a":1.5,"b":null}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := tree(data)
		want := json.Valid(data) && strict(data)
		if (err == nil) != want {
			t.Fatalf("%q: error %v, want acceptance %v", data, err, want)
		}
		s := jsonscan.New(data)
		_, rawErr := s.Raw()
		if rawErr == nil {
			rawErr = s.End()
		}
		if code(rawErr) != code(err) {
			t.Fatalf("%q: pulled %v, skipped %v", data, err, rawErr)
		}
		if err == nil {
			if want := oracle(t, string(data)); !reflect.DeepEqual(got, want) {
				t.Fatalf("%q: got %v, want %v", data, got, want)
			}
		}
	})
}
