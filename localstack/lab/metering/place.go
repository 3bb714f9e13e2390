package metering

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Place is where units of rows fall.
type Place struct {
	Table string `json:"table"`
	// Index is the key attribute of an index whose entries are written, or the name of
	// an index that is read. It is empty for the table itself.
	Index string `json:"index,omitempty"`
	// Kind is the kind of row, the beginning of its sort key or else of its hash key.
	// It is empty for rows that are absent and for answers without keys.
	Kind string `json:"kind"`
}

// wrote returns the units of writing a row, or its entry in an index.
func (r Rules) wrote(table *string, index string, row Item, units float64) Units {
	u := Units{Writes: units}
	if index != "" {
		u = Units{IndexWrites: units}
	}
	r.spend(Place{Table: aws.ToString(table), Index: index, Kind: kindOf(row)}, u)
	return u.Times(r.times())
}

func (r Rules) read(table, index *string, row Item, units float64) float64 {
	r.spend(Place{Table: aws.ToString(table), Index: aws.ToString(index), Kind: kindOf(row)}, Units{Reads: units})
	return units
}

func (r Rules) spend(at Place, u Units) {
	if r.Spend != nil && u != (Units{}) {
		r.Spend(at, u.Times(r.times()))
	}
}

// twice are the rules of a transaction's writes, which cost two units each.
func (r Rules) twice() Rules {
	r.transaction = true
	return r
}

func (r Rules) times() float64 {
	if r.transaction {
		return 2
	}
	return 1
}

// kindOf is the kind of a row by its keys: "HEAD", or "LOG" for LOG#00000001. A sort
// key that begins with a digit is a time or a number, and the hash key says the kind.
func kindOf(row Item) string {
	for _, name := range []string{"sk", "pk"} {
		key, _ := row[name].(*types.AttributeValueMemberS)
		if key == nil || key.Value == "" || key.Value[0] < 'A' || key.Value[0] > 'Z' {
			continue
		}
		kind, _, _ := strings.Cut(key.Value, "#")
		return kind
	}
	return ""
}
