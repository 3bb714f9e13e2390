package templates

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

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/httpapi/jsonscan"
)

const maxBody = 256 << 10

// input is a template as a client sends it. It takes the JSON of an answer as well: the
// fields that only the service sets are ignored.
type input struct {
	Name    string           `json:"name"`
	Traffic campaign.Traffic `json:"traffic"`
	content.Content

	// Version is the version that a change is based on.
	Version   *int `json:"version"`
	ID        any  `json:"id"`
	Variables any  `json:"variables"`
	CreatedAt any  `json:"createdAt"`
}

func (in input) template(tenant string) campaign.Template {
	return campaign.Template{Tenant: tenant, Name: in.Name, Traffic: in.Traffic, Content: in.Content}
}

// readBody reads a request's body into value. A body that is not JSON, or whose fields are
// unknown or of the wrong type, is a *httpapi.Problem.
func readBody(r *http.Request, value any) error {
	body, err := httpapi.Body(r, maxBody)
	if err != nil {
		return err
	}
	if malformed := jsonscan.Check(body); malformed != nil {
		return httpapi.Refuse(http.StatusBadRequest, "", malformed.Code, malformed.Located())
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

var (
	timeType     = reflect.TypeFor[time.Time]()
	valuesType   = reflect.TypeFor[values]()
	locationType = reflect.TypeFor[content.Location]()
)

// check adds the violations of a value. null counts as absent.
func (c *checker) check(at []string, value any, t reflect.Type) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case value == nil, t.Kind() == reflect.Interface:
	case t == timeType:
		c.checkTime(at, value)
	case t == valuesType:
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
			c.wrongType(place, "must be an object")
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
			c.add(place, "unknown_field", "is no field of this object")
		}
	}
	if t == locationType {
		c.checkPair(at, members, "latitude", "longitude")
	}
}

// checkPair requires both members or none.
func (c *checker) checkPair(at []string, members map[string]any, one, other string) {
	for _, names := range [][2]string{{one, other}, {other, one}} {
		if members[names[0]] != nil && members[names[1]] == nil {
			c.add(slices.Concat(at, []string{names[1]}), "missing_field", "is required with "+names[0])
		}
	}
}

func fieldsOf(t reflect.Type) map[string]reflect.Type {
	known := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" {
			known[name] = f.Type
		}
	}
	return known
}
