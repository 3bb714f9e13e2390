package dynamo

import (
	"slices"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
)

// fields are the addresses of variables by the names of their attributes, so that a row is written and read by one list. An
// attribute whose name ends in a question mark, which is no part of it, is left out while it is empty, 0 or false.
type fields map[string]any

// item returns the attributes of the variables.
func (f fields) item() Item {
	row := make(Item, len(f))
	for name, variable := range f {
		name, optional := strings.CutSuffix(name, "?")
		if value := attributeOf(variable); !optional || !isZero(value) {
			row[name] = value
		}
	}
	return row
}

func attributeOf(variable any) attribute {
	switch v := variable.(type) {
	case *string:
		return text(*v)
	case *int:
		return number(*v)
	case *int64:
		return number(*v)
	case *bool:
		return boolean(*v)
	case *[]byte:
		return bytesOf(*v)
	case *time.Time:
		return millis(*v)
	case *campaign.Cells:
		return text(v.String())
	}
	return nil // which DynamoDB rejects
}

// readFrom sets the variables.
func (f fields) readFrom(row Item) {
	for name, variable := range f {
		name = strings.TrimSuffix(name, "?")
		switch v := variable.(type) {
		case *string:
			*v = getText(row, name)
		case *int:
			*v = getInt(row, name)
		case *int64:
			*v = getNumber(row, name)
		case *bool:
			*v = getBool(row, name)
		case *[]byte:
			*v = getBinary(row, name)
		case *time.Time:
			*v = getMillis(row, name)
		case *campaign.Cells:
			*v = campaign.ParseCells(getText(row, name))
		}
	}
}

// names returns the names of the attributes, in order.
func (f fields) names() (names []string) {
	for name := range f {
		names = append(names, strings.TrimSuffix(name, "?"))
	}
	slices.Sort(names)
	return names
}

// fill returns a value with the fields that a row has of it.
func fill[T any](value T, fieldsOf func(*T) fields, row Item) T {
	fieldsOf(&value).readFrom(row)
	return value
}
