package lists_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/oauth/accesstoken"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/phone/phonetest"
	"campaign-dispatch/internal/reach/lists"
	"campaign-dispatch/internal/reach/lists/listapi"
)

// Authorize accepts every token as the tenant's.
func (*world) Authorize(*http.Request, string, string) (accesstoken.Claims, error) {
	return accesstoken.Claims{Tenant: tenant, ClientID: "rcs_1", Scope: account.ScopeLists}, nil
}

// said is an answer of the API.
type said struct {
	Status int `json:"-"`

	AreaCodes []int
	Traffic   []string
	Source    string
	Reason    string
	Until     string
	Numbers   int
	Exact     bool

	Errors []struct{ Pointer, Code string }
}

// errors returns the pointers of the violations with their codes.
func (s said) errors() []string {
	all := []string{}
	for _, e := range s.Errors {
		all = append(all, e.Pointer+" "+e.Code)
	}
	return all
}

// call sends a body to the list a.
func (w *world) call(t *testing.T, method, body string) (got said) {
	t.Helper()
	mux, answer := http.NewServeMux(), httptest.NewRecorder()
	(&listapi.Service{Tokens: w, Lists: w.book, Store: w, Now: w.book.Now}).Register(mux)
	mux.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), method, listapi.Path+"/a", strings.NewReader(body)))
	if err := json.Unmarshal(answer.Body.Bytes(), &got); err != nil {
		t.Fatalf("%s answers %d %s", body, answer.Code, answer.Body)
	}
	got.Status = answer.Code
	return got
}

// saved is call for a body that is accepted.
func (w *world) saved(t *testing.T, method, body string) said {
	t.Helper()
	got := w.call(t, method, body)
	if got.Status != http.StatusOK {
		t.Fatalf("%s %s answers %d %v", method, body, got.Status, got.errors())
	}
	return got
}

// refuses checks that a body is refused with the violations, and changes nothing.
func (w *world) refuses(t *testing.T, method, body string, want ...string) {
	t.Helper()
	before := w.rows["a"].Version
	got := w.call(t, method, body)
	if diff := cmp.Diff(want, got.errors()); got.Status != http.StatusBadRequest || diff != "" {
		t.Errorf("%s %s answers %d (-want +got):\n%s", method, body, got.Status, diff)
	}
	if w.rows["a"].Version != before {
		t.Errorf("%s %s changed the list", method, body)
	}
}

func quoted(t *testing.T, texts ...string) string {
	t.Helper()
	body, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// A list takes and refuses the numbers that a dispatch call takes and refuses, and holds back the number that
// dispatch would send to.
func TestAPI_NumbersAsDispatch(t *testing.T) {
	t.Parallel()
	w := newWorld()
	var valid, invalid, refused []string
	for _, f := range phonetest.Forms() {
		if phonetest.Accepted(f.Call) {
			valid = append(valid, f.Text)
			continue
		}
		refused = append(refused, fmt.Sprintf("/%d %s", len(invalid), f.Call))
		invalid = append(invalid, f.Text)
	}
	w.saved(t, http.MethodPut, `{"reason":"r","numbers":`+quoted(t, valid...)+`}`)
	numbers, err := w.book.Numbers(t.Context(), w.rows["a"])
	if err != nil {
		t.Fatal(err)
	}
	on := []string{}
	for _, n := range numbers {
		on = append(on, e164.Number(n).String())
	}
	want := phonetest.Numbers(func(f phonetest.Form) string { return f.Call })
	if len(on) != len(want) {
		t.Errorf("%d numbers are on the list, want %d: %v", len(on), len(want), on)
	}
	of := w.of(t)
	for _, number := range want {
		if of(number) == 0 {
			t.Errorf("%s is not held back", number)
		}
	}
	for field, method := range map[string]string{"numbers": http.MethodPut, "exempt": http.MethodPut, "add": http.MethodPost, "remove": http.MethodPost} {
		var at []string
		for _, r := range refused {
			at = append(at, "/"+field+r)
		}
		const most = 100 // that an answer lists
		w.refuses(t, method, `{"`+field+`":`+quoted(t, invalid[:min(len(at), most)]...)+`}`, at[:min(len(at), most)]...)
		for i, text := range invalid {
			_, code, _ := strings.Cut(refused[i], " ")
			w.refuses(t, method, `{"`+field+`":`+quoted(t, text)+`}`, "/"+field+"/0 "+code)
		}
	}
}

// Names of fields are case-sensitive and occur once, and every violation has its pointer.
func TestAPI_StrictBody(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.saved(t, http.MethodPut, `{"reason":"r","numbers":["+5511987654321"]}`)
	for body, want := range map[string]string{
		`{"reason":"r","numbers":["+5511987654322"],"NUMBERS":[]}`: "/NUMBERS unknown_field",
		`{"Reason":"r"}`:                         "/Reason unknown_field",
		`{"numbers":[],"numbers":[]}`:            " duplicate_name",
		`{"reason":"r","areaCode":[11]}`:         "/areaCode unknown_field",
		`{"reason":"r","add":["11987654321"]}`:   "/add unknown_field",
		`{"reason":"r","numbers":[null]}`:        "/numbers/0 invalid_type",
		`{"reason":"r","numbers":[11987654321]}`: "/numbers/0 invalid_type",
		`{"reason":"r","numbers":"11987654321"}`: "/numbers invalid_type",
		`{"reason":1}`:                           "/reason invalid_type",
		`{"reason":"r","areaCodes":[11,"12"]}`:   "/areaCodes/1 invalid_type",
		`{"reason":"r","areaCodes":[11.5]}`:      "/areaCodes/0 invalid_type",
		`{"reason":"r","until":5}`:               "/until invalid_type",
		`[]`:                                     " invalid_type",
		`null`:                                   " invalid_type",
		`{`:                                      " malformed_json",
		`{"numbers":["11987654321","\ud83d"]}`:   "/numbers/1 invalid_utf8",
	} {
		w.refuses(t, http.MethodPut, body, want)
	}
	for body, want := range map[string]string{
		`{"add":["11987654321"],"Add":[]}`:      "/Add unknown_field",
		`{"numbers":["11987654321"]}`:           "/numbers unknown_field",
		`{"add":["11987654321"],"reason":"r"}`:  "/reason unknown_field",
		`{"add":["11987654321"],"ends":"2037"}`: "/ends unknown_field",
		`{"until":"2037-01-01T00:00:00Z"}`:      "/add missing_field",
	} {
		w.refuses(t, http.MethodPost, body, want)
	}
}

// An end is in the future and has an own pointer. Without an offset it is the time in São Paulo.
func TestAPI_Until(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.saved(t, http.MethodPut, `{"reason":"r"}`)
	for _, until := range []string{
		"0001-01-01T00:00:00Z", "0001-01-01T00:00:00.0004Z", "1999-12-31T00:00:00Z", "2026-03-02T11:59:59Z", "2026-03-02T12:00:00Z",
		"2026-03-02T08:59:59", "9999-12-31T23:59:59-03:00", "10000-01-01T00:00:00Z", "2026-12-24", "2026-02-30T10:00:00Z", "amanhã",
	} {
		w.refuses(t, http.MethodPut, `{"reason":"r","numbers":[],"until":"`+until+`"}`, "/until invalid_value")
		w.refuses(t, http.MethodPut, `{"until":"`+until+`"}`, "/until invalid_value")
		w.refuses(t, http.MethodPost, `{"add":["11987654321"],"until":"`+until+`"}`, "/until invalid_value")
	}
	w.refuses(t, http.MethodPost, `{"add":["11987654321"],"until":""}`, "/until invalid_value")
	for until, want := range map[string]string{
		"2026-12-24T18:30:00":       "2026-12-24T21:30:00Z",
		"2026-12-24T18:30:00-03:00": "2026-12-24T21:30:00Z",
		"2026-12-24T18:30:00Z":      "2026-12-24T18:30:00Z",
		"9999-12-31T23:59:59Z":      "9999-12-31T23:59:59Z",
	} {
		if got := w.saved(t, http.MethodPut, `{"reason":"r","until":"`+until+`"}`); got.Until != want {
			t.Errorf("%s is saved as %s, want %s", until, got.Until, want)
		}
	}
	w.saved(t, http.MethodPost, `{"add":["11987654321"],"until":"2026-03-02T09:00:01"}`)
	if of := w.of(t); of("+5511987654321") == 0 {
		t.Error("the number is not on the list before the end")
	}
	if w.now = start.Add(time.Second); w.of(t)("+5511987654321") != 0 {
		t.Error("the number is on the list after the end")
	}
}

func TestAPI_AreaCodes(t *testing.T) {
	t.Parallel()
	w := newWorld()
	for _, code := range []int{20, 10, 23, 100, 0, -1} {
		w.refuses(t, http.MethodPut, fmt.Sprintf(`{"reason":"r","areaCodes":[11,%d]}`, code), "/areaCodes invalid_value")
	}
	w.saved(t, http.MethodPut, `{"reason":"r","areaCodes":[11,99]}`)
}

// A PUT without numbers changes only what it names; empty values clear. With numbers it replaces the whole list.
func TestAPI_PutWithoutNumbers(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.saved(t, http.MethodPut, `{"reason":"law","source":"state","areaCodes":[11,12],"traffic":["promotion"],`+
		`"until":"2027-01-01T00:00:00Z","numbers":["+5511987654321","+5512987654321","+5521987654321"]}`)
	held := func() (all []string) {
		for _, number := range []string{"+5511987654321", "+5512987654321", "+5521987654321"} {
			if w.of(t)(number) != 0 {
				all = append(all, number)
			}
		}
		return all
	}
	want := said{
		Status: http.StatusOK, Reason: "law", Source: "state", AreaCodes: []int{11, 12}, Traffic: []string{"promotion"},
		Until: "2027-01-01T00:00:00Z", Numbers: 3, Exact: true,
	}
	for _, step := range []struct {
		body string
		edit func()
		held int
	}{
		{`{}`, func() {}, 2},
		{`{"reason":"court"}`, func() { want.Reason = "court" }, 2},
		{`{"reason":null,"areaCodes":null,"traffic":null,"until":null,"source":null,"numbers":null}`, func() {}, 2},
		{`{"areaCodes":[11]}`, func() { want.AreaCodes = []int{11} }, 1},
		{`{"traffic":["transaction"]}`, func() { want.Traffic = []string{"transaction"} }, 0},
		{`{"traffic":[]}`, func() { want.Traffic = []string{} }, 1},
		{`{"areaCodes":[]}`, func() { want.AreaCodes = []int{} }, 3},
		{`{"until":"","source":""}`, func() { want.Until, want.Source = "", "" }, 3},
		{`{"exempt":["+5511987654321"]}`, func() { want.Exact = false }, 2}, // a removed number may still count
		{`{"reason":"law","areaCodes":[11],"numbers":["+5511987654321"]}`, func() { want.Reason, want.AreaCodes, want.Numbers, want.Exact = "law", []int{11}, 1, true }, 1},
		{`{"reason":"law","numbers":[]}`, func() { want.AreaCodes, want.Numbers = []int{}, 0 }, 0},
	} {
		step.edit()
		if diff := cmp.Diff(want, w.saved(t, http.MethodPut, step.body)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.body, diff)
		}
		if got := held(); len(got) != step.held {
			t.Errorf("after %s, %v are held back, want %d", step.body, got, step.held)
		}
	}
	w.refuses(t, http.MethodPut, `{"reason":""}`, "/reason invalid_value")
	w.refuses(t, http.MethodPut, `{"numbers":["+5511987654321"]}`, "/reason invalid_value")
}

// The numbers of an answer are those that are on the list, without the exempt ones.
func TestAPI_CountsWithoutExempt(t *testing.T) {
	t.Parallel()
	w := newWorld()
	got := w.saved(t, http.MethodPut, `{"reason":"r","numbers":["+5511987654321","11987654322","+5511987654323"],"exempt":["5511987654322","+5511987654399"]}`)
	if got.Numbers != 2 || !got.Exact || w.of(t)("+5511987654322") != 0 || w.of(t)("+5511987654321") == 0 {
		t.Errorf("the list has %d numbers, exactly: %v", got.Numbers, got.Exact)
	}
}

// A refused change writes no object.
func TestChange_RefusedWritesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.refuses(t, http.MethodPut, `{"reason":"","numbers":["+5511987654321"]}`, "/reason invalid_value")
	if got := w.call(t, http.MethodPost, `{"add":["+5511987654321"]}`); got.Status != http.StatusNotFound || len(w.objects) > 0 {
		t.Errorf("answered %d, %d objects", got.Status, len(w.objects))
	}
}

// What a change leaves as it is is not checked: the end may have passed, and earlier releases saved area codes that
// do not exist.
func TestSettings_CheckAfter(t *testing.T) {
	t.Parallel()
	was := lists.Settings{Reason: "r", AreaCodes: []int{11, 20}, Until: start}
	now := start.Add(time.Hour)
	for name, test := range map[string]struct {
		edit func(*lists.Settings)
		want error
	}{
		"nothing":            {func(*lists.Settings) {}, nil},
		"the reason":         {func(s *lists.Settings) { s.Reason = "new" }, nil},
		"no reason":          {func(s *lists.Settings) { s.Reason = "" }, lists.ErrText},
		"another bad code":   {func(s *lists.Settings) { s.AreaCodes = []int{20} }, lists.ErrAreaCode},
		"good codes":         {func(s *lists.Settings) { s.AreaCodes = []int{11} }, nil},
		"another past end":   {func(s *lists.Settings) { s.Until = now }, lists.ErrUntil},
		"a later end":        {func(s *lists.Settings) { s.Until = now.Add(time.Second) }, nil},
		"no end":             {func(s *lists.Settings) { s.Until = time.Time{} }, nil},
		"an unknown purpose": {func(s *lists.Settings) { s.Traffic = []campaign.Traffic{"x"} }, lists.ErrTraffic},
	} {
		s := was
		test.edit(&s)
		if err := s.CheckAfter(was, now); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}
