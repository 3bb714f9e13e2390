package apidocs

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
)

// field is a row of a table: a parameter, or a member of an object at any depth.
type field struct {
	Name     string
	Depth    int // of the object that it belongs to
	In       string
	Type     string
	Limits   string
	Required string // "required" in the document's language, or ""
	Text     template.HTML
}

// deepest is the maximum depth that the tables show.
const deepest = 5

// fields lists the members of a schema's objects, outer ones first. The members of a
// component are listed once.
func (d *document) fields(s *schema) []field { return d.fieldsAt(s, 0, map[string]bool{}) }

func (d *document) fieldsAt(s *schema, depth int, seen map[string]bool) []field {
	s = d.target(s)
	if depth > deepest {
		return nil
	}
	if s.Items != nil {
		return d.fieldsAt(s.Items, depth, seen)
	}
	var all []field
	for _, p := range s.Properties {
		inner := d.target(p.Value)
		f := field{
			Name: p.Name, Depth: depth, Type: d.typeOf(inner), Limits: d.limits(inner),
			Required: d.required(slices.Contains(s.Required, p.Name)), Text: d.firstParagraph(inner.Description),
		}
		name := component(p.Value)
		if seen[name] {
			f.Text += d.firstParagraph("Its members are listed above.")
			all = append(all, f)
			continue
		}
		seen[name] = name != "" && len(d.target(d.Components.Schemas[name]).Properties) > 1
		all = append(append(all, f), d.fieldsAt(inner, depth+1, seen)...)
	}
	return all
}

// component returns the name of the component that a schema, or its items, refer to, or "".
func component(s *schema) string {
	switch {
	case s.Items != nil:
		return component(s.Items)
	case s.Ref != "":
		return last(s.Ref)
	case len(s.AllOf) > 0:
		return component(s.AllOf[0])
	}
	return ""
}

func (d *document) required(yes bool) string {
	if !yes {
		return ""
	}
	return d.in("required")
}

// target resolves a reference, or returns the first part of an allOf or anyOf. A
// description beside them replaces the one of the target.
func (d *document) target(s *schema) *schema {
	if s == nil {
		return &schema{}
	}
	found := s
	switch {
	case s.Ref != "":
		found = d.target(d.Components.Schemas[last(s.Ref)])
	case len(s.AllOf) > 0:
		found = d.target(s.AllOf[0])
	case len(s.AnyOf) > 0:
		found = d.target(s.AnyOf[0])
	}
	if s.Description == "" || s == found {
		return found
	}
	described := *found
	described.Description = s.Description
	return &described
}

func (d *document) typeOf(s *schema) string {
	if s.Items != nil {
		inner := d.target(s.Items)
		if len(inner.Properties) > 0 {
			return d.in("array of objects")
		}
		return fmt.Sprintf(d.in("array of %ss"), d.typeOf(inner))
	}
	kind := strings.Join(slices.DeleteFunc(slices.Clone(s.Type), func(n string) bool { return n == "null" }), " or ")
	if kind == "" && (len(s.Enum) > 0 || s.Const != nil) {
		kind = "string"
	}
	kind = d.in(kind)
	if s.Format != "" {
		kind += " (" + s.Format + ")"
	}
	return kind
}

// longestEnum is the maximum number of values that the tables list. The codes of errors
// are more, and are listed below the tables and on the page of errors.
const longestEnum = 20

// limits returns the constraints of a value in one line.
func (d *document) limits(s *schema) string {
	var all []string
	if s.Const != nil {
		all = append(all, fmt.Sprint(s.Const))
	}
	if n := len(s.Enum); n > 0 && n <= longestEnum {
		values := make([]string, len(s.Enum))
		for i, v := range s.Enum {
			values[i] = fmt.Sprint(v)
		}
		all = append(all, strings.Join(values, ", "))
	}
	all = append(all, d.span(s.Minimum, s.Maximum, ""), d.span(s.MinLength, s.MaxLength, " characters"), d.span(s.MinItems, s.MaxItems, " items"))
	if s.Default != nil {
		all = append(all, fmt.Sprintf(d.in("default %v"), s.Default))
	}
	return strings.Join(slices.DeleteFunc(all, func(t string) bool { return t == "" }), "; ")
}

func (d *document) span(least, most *int, unit string) string {
	if most == nil && least != nil && *least == 1 && unit != "" {
		return d.in("not empty")
	}
	unit = d.in(unit)
	switch {
	case least != nil && most != nil && *least == *most:
		return fmt.Sprintf("%d%s", *least, unit)
	case least != nil && most != nil:
		return fmt.Sprintf(d.in("%d to %d%s"), *least, *most, unit)
	case most != nil:
		return fmt.Sprintf(d.in("up to %d%s"), *most, unit)
	case least != nil:
		return fmt.Sprintf(d.in("from %d%s"), *least, unit)
	default:
		return ""
	}
}

func (d *document) parameters(all []parameter) []field {
	rows := make([]field, len(all))
	for i, p := range all {
		s := d.target(p.Schema)
		rows[i] = field{
			Name: p.Name, In: d.in(p.In), Type: d.typeOf(s), Limits: d.limits(s),
			Required: d.required(p.Required), Text: d.prose(p.Description),
		}
	}
	return rows
}
