// Package wired checks at the start of a function that its services have all that they need.
package wired

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Complete returns the service. It panics if an exported field of it is a nil pointer, interface or function, or the number
// 0, except those named in without, which the function does not use. Fields of structs are checked too. A duration can
// be 0, and a text can be empty: they are settings.
func Complete[T any](service *T, without ...string) *T {
	missing := slices.DeleteFunc(unset("", reflect.ValueOf(service).Elem()), func(field string) bool {
		return slices.Contains(without, field)
	})
	if len(missing) > 0 {
		panic(fmt.Sprintf("%s lacks %s", reflect.TypeFor[T](), strings.Join(missing, ", ")))
	}
	return service
}

// unset returns the names of the fields that are not set, such as Store and Reach.Lists.
func unset(prefix string, service reflect.Value) (fields []string) {
	for i := range service.NumField() {
		field, value := service.Type().Field(i), service.Field(i)
		switch name := prefix + field.Name; {
		case !field.IsExported(), field.Type == reflect.TypeFor[time.Duration]():
		case value.Kind() == reflect.Struct:
			fields = append(fields, unset(name+".", value)...)
		case isNeeded(value.Kind()) && value.IsZero():
			fields = append(fields, name)
		}
	}
	return fields
}

func isNeeded(kind reflect.Kind) bool {
	return slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Interface, reflect.Func, reflect.Int}, kind)
}
