package dynamo

import (
	"time"
)

// setEnd sets the TTL of a row. The zero time means no expiry.
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

// alive returns the row, or nil if it has expired.
func (s *Store) alive(row Item) Item {
	if end := getEnd(row); !end.IsZero() && !end.After(s.Now()) {
		return nil
	}
	return row
}

// live removes expired rows.
func (s *Store) live(rows []Item) []Item {
	kept := rows[:0]
	for _, row := range rows {
		if s.alive(row) != nil {
			kept = append(kept, row)
		}
	}
	return kept
}

// withEnd adds the TTL to the attributes to read. No attributes mean all.
func withEnd(attributes []string) []string {
	if len(attributes) == 0 {
		return nil
	}
	return append([]string{TTL}, attributes...)
}
