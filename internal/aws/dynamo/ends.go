package dynamo

import (
	"time"
)

// setEnd sets when DynamoDB deletes a row; the zero time is never.
func setEnd(row Item, at time.Time) {
	if !at.IsZero() {
		row[TTL] = number(at.Unix())
	}
}

func getEnd(row Item) time.Time {
	if row[TTL] == nil {
		return time.Time{}
	}
	return time.Unix(getNumber(row, TTL), 0).UTC()
}

// alive returns the row, or nil for one past its time that DynamoDB has not
// deleted yet.
func (s *Store) alive(row Item) Item {
	if end := getEnd(row); !end.IsZero() && !end.After(s.Now()) {
		return nil
	}
	return row
}

// live leaves out the rows past their time.
func (s *Store) live(rows []Item) []Item {
	kept := rows[:0]
	for _, row := range rows {
		if s.alive(row) != nil {
			kept = append(kept, row)
		}
	}
	return kept
}

// withEnd adds what alive looks at to the attributes that are read of rows; none
// are all of them.
func withEnd(attributes []string) []string {
	if len(attributes) == 0 {
		return nil
	}
	return append([]string{TTL}, attributes...)
}
