// Package jsonbody reads the JSON bodies of requests strictly: names are case-sensitive and occur once, a field that
// is unknown or of the wrong type is a violation at its JSON pointer, and null counts as absent.
package jsonbody

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/httpapi/jsonscan"
)

// Read reads a request's body of at most limit bytes into value as Decode does.
func Read(r *http.Request, limit int, value any) error {
	body, err := httpapi.JSONBody(r, limit)
	if err != nil {
		return err
	}
	return Decode(r.Header, body, value)
}

// Check returns the *httpapi.Problem of a body that is not JSON, or nil. header is that of the request.
func Check(header http.Header, body []byte) error {
	malformed := jsonscan.Check(body)
	if malformed == nil {
		return nil
	}
	if httpapi.Encoded(header) && malformed.NotJSON(body) {
		return httpapi.Refuse(http.StatusUnsupportedMediaType, "", httpapi.CodeUnsupportedEncoding, httpapi.UnsupportedEncoding)
	}
	place, detail := malformed.Place(body)
	return httpapi.Refuse(http.StatusBadRequest, jsonscan.Pointer(place...), malformed.Code, detail)
}

// Decode reads a JSON object into value, a pointer to a struct whose fields have names for JSON. A body that is
// none is a *httpapi.Problem with all violations. A field with the tag `with` requires the one that the tag names.
func Decode(header http.Header, body []byte, value any) error {
	if err := Check(header, body); err != nil {
		return err
	}
	var tree any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if err := decoder.Decode(&tree); err != nil {
		return fmt.Errorf("read the body: %w", err)
	}
	var c checker
	if tree == nil {
		c.wrongType(nil, "must be an object")
	}
	c.check(nil, tree, reflect.TypeOf(value).Elem())
	if len(c.found) > 0 {
		return httpapi.RefuseAll(c.found)
	}
	if err := json.Unmarshal(body, value); err != nil {
		return httpapi.Refuse(http.StatusBadRequest, "", jsonscan.InvalidType, "a value is out of range")
	}
	return nil
}

type checker struct{ found []httpapi.Violation }

func (c *checker) add(at []string, code, detail string) {
	c.found = append(c.found, httpapi.Violation{Pointer: jsonscan.Pointer(at...), Code: code, Detail: detail})
}

func (c *checker) wrongType(at []string, detail string) { c.add(at, jsonscan.InvalidType, detail) }

var timeType = reflect.TypeFor[time.Time]()

// check adds the violations of a value. null counts as absent.
func (c *checker) check(at []string, value any, t reflect.Type) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case value == nil, t.Kind() == reflect.Interface:
	case t == timeType:
		c.checkTime(at, value)
	case t.Kind() == reflect.Map:
		if _, ok := value.(map[string]any); !ok {
			c.wrongType(at, "must be an object")
		}
	case t.Kind() == reflect.Struct:
		c.checkObject(at, value, t)
	case t.Kind() == reflect.Slice:
		c.checkArray(at, value, t)
	default:
		c.checkPlain(at, value, t)
	}
}

func (c *checker) checkTime(at []string, value any) {
	text, ok := value.(string)
	if !ok {
		c.wrongType(at, "must be a string")
	} else if _, err := time.Parse(time.RFC3339, text); err != nil {
		c.add(at, "invalid_value", "must be an instant with an offset, such as 2026-12-24T18:30:00-03:00")
	}
}

func (c *checker) checkPlain(at []string, value any, t reflect.Type) {
	var ok bool
	var want string
	switch t.Kind() { //nolint:exhaustive // the kinds of the fields
	case reflect.String:
		_, ok = value.(string)
		want = "must be a string"
	case reflect.Bool:
		_, ok = value.(bool)
		want = "must be true or false"
	case reflect.Int:
		n, isNumber := value.(json.Number)
		_, err := strconv.Atoi(n.String())
		ok, want = isNumber && err == nil, "must be an integer"
	default:
		_, ok = value.(json.Number)
		want = "must be a number"
	}
	if !ok {
		c.wrongType(at, want)
	}
}

func (c *checker) checkArray(at []string, value any, t reflect.Type) {
	all, ok := value.([]any)
	if !ok {
		c.wrongType(at, "must be an array")
		return
	}
	for i, item := range all {
		place := slices.Concat(at, []string{strconv.Itoa(i)})
		if item == nil {
			c.wrongType(place, "must not be null")
		}
		c.check(place, item, t.Elem())
	}
}

func (c *checker) checkObject(at []string, value any, t reflect.Type) {
	members, ok := value.(map[string]any)
	if !ok {
		c.wrongType(at, "must be an object")
		return
	}
	known := fieldsOf(t)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		place := slices.Concat(at, []string{name})
		if field, ok := known[name]; ok {
			c.check(place, members[name], field)
		} else {
			c.add(place, "unknown_field", "is not a field of this object: remove it, or check its spelling and case")
		}
	}
	for _, f := range reflect.VisibleFields(t) {
		if other := f.Tag.Get("with"); other != "" {
			c.checkPair(at, members, nameOf(f), other)
		}
	}
}

// checkPair requires the other member with one.
func (c *checker) checkPair(at []string, members map[string]any, one, other string) {
	if members[one] != nil && members[other] == nil {
		c.add(slices.Concat(at, []string{other}), "missing_field", "is required with "+one)
	}
}

func fieldsOf(t reflect.Type) map[string]reflect.Type {
	known := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		if name := nameOf(f); name != "" {
			known[name] = f.Type
		}
	}
	return known
}

func nameOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}
