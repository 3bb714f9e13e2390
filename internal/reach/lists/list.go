// Package lists describes lists of numbers that get no messages, such as a state's list of people
// who want none. The rows of the lists name immutable objects with the numbers, the segments.
package lists

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"campaign-dispatch/internal/base/inputerr"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/pattern"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/phone/numberset"
	"campaign-dispatch/internal/reach/area"
)

// Limits of lists.
const (
	MaxLists    = 64         // of a tenant, deleted ones excluded
	MaxNumber   = 255        // of a tenant's lists, deleted ones included
	MaxSegments = 16         // of a list
	MaxNumbers  = 15_000_000 // on all lists of a tenant, so that they fit in the memory of a sender
	MaxText     = 200        // characters of a reason and of a source
	MaxName     = 40

	maxAreaCodes = 99 - 11 + 1 // more are repeated; a row has room for 400 KB, and is read for each batch

	lastYear = 9999 // JSON has no later ones
)

// List is a list of numbers that get no messages.
type List struct {
	Tenant string
	// Name identifies the list, also after its deletion. A list that is created again is the same list.
	Name    string
	Number  int // stands for the list in ledgers, 1 to MaxNumber
	Version int // counts the changes
	Settings

	Segments  []Segment // oldest first
	ChangedAt time.Time
	Deleted   bool // a deleted list has only its name and number
}

// Settings say why a list exists and to which messages it applies. An empty field sets no limit.
type Settings struct {
	Reason, Source string
	AreaCodes      []int              // of Brazil
	Traffic        []campaign.Traffic // purposes of messages
	Until          time.Time          // when the list ends
}

// Edit changes settings. Nil fields stay as they are, and empty ones set no limit.
type Edit struct {
	Reason, Source *string
	AreaCodes      *[]int
	Traffic        *[]campaign.Traffic
	Until          *time.Time
}

// Apply returns the settings after the edit.
func (e Edit) Apply(s Settings) Settings {
	set(&s.Reason, e.Reason)
	set(&s.Source, e.Source)
	set(&s.AreaCodes, e.AreaCodes)
	set(&s.Traffic, e.Traffic)
	set(&s.Until, e.Until)
	return s
}

func set[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}

// Segment is an object with numbers that were added to a list, or removed from it. A later segment
// prevails over an earlier one until it ends.
type Segment struct {
	ID      string // key of the object
	Remove  bool
	Until   time.Time // zero for no end
	Numbers int
}

// Change is a change of a list. The removed numbers are removed after the others are added.
type Change struct {
	Version     *int      // that the list must have, 0 if it must not exist, nil for any
	Settings    *Settings // replaces the settings; nil leaves them as they are
	Edit        *Edit     // changes the settings; without it and Settings, the list must exist
	Replace     bool      // the list has only the added numbers then
	Add, Remove numberset.Set
	Until       time.Time // when the change of the numbers ends, zero for never
}

// Errors of changes.
var (
	ErrName     = &inputerr.Error{Code: "name", Detail: "a list's name has 1 to 40 of a-z, 0-9 and -, and begins with a letter"}
	ErrText     = &inputerr.Error{Code: "text", Detail: "a reason has 1 to 200 characters, and a source at most 200"}
	ErrAreaCode = &inputerr.Error{Code: "area_code", Detail: "areaCodes must be Brazilian area codes of two digits, such as 11"}
	ErrTraffic  = &inputerr.Error{Code: "traffic", Detail: "a purpose is promotion, transaction, authentication or serviceRequest"}
	ErrUntil    = &inputerr.Error{Code: "until", Detail: "until must be in the future, and not after the year 9999"}
	ErrTooMany  = &inputerr.Error{Code: "too_many", Detail: "a tenant can have 64 lists, and 255 different names of lists: " +
		"delete a list, or use a former name"}
	ErrTooLarge = &inputerr.Error{Code: "too_large", Detail: "the lists of a tenant can have 15000000 numbers in total: " +
		"delete a list, or replace one by fewer numbers"}
	ErrChanged  = &inputerr.Error{Code: "changed", Detail: "somebody else changed the list"}
	ErrManyEnds = &inputerr.Error{Code: "many_ends", Detail: "the changes of the list have too many different ends: replace the whole list"}
)

var name = pattern.AtFirstUse(`^[a-z][a-z0-9-]*$`)

// ValidName reports whether a list can have the name.
func ValidName(s string) bool { return len(s) <= MaxName && name().MatchString(s) }

// CheckEnd returns why a list or a change cannot end at a time, or nil. The zero time is no end.
func CheckEnd(until, now time.Time) error {
	if until.IsZero() || until.After(now) && until.UTC().Year() <= lastYear {
		return nil
	}
	return ErrUntil
}

// CheckAfter returns why a list with former settings cannot get these now, or nil. What stays is not checked:
// the list may have ended, and earlier releases saved area codes that do not exist.
func (s Settings) CheckAfter(was Settings, now time.Time) error {
	changed := s
	if slices.Equal(s.AreaCodes, was.AreaCodes) {
		changed.AreaCodes = nil
	}
	if err := changed.Check(); err != nil || s.Until.Equal(was.Until) {
		return err
	}
	return CheckEnd(s.Until, now)
}

// Check returns why no list can have the settings, or nil.
func (s Settings) Check() error {
	switch {
	case s.Reason == "", utf8.RuneCountInString(s.Reason) > MaxText, utf8.RuneCountInString(s.Source) > MaxText:
		return ErrText
	case len(s.AreaCodes) > maxAreaCodes, slices.ContainsFunc(s.AreaCodes, func(code int) bool { return !e164.HasAreaCode(code) }):
		return ErrAreaCode
	case len(s.Traffic) > len(Traffics), slices.ContainsFunc(s.Traffic, func(t campaign.Traffic) bool { return !slices.Contains(Traffics, t) }):
		return ErrTraffic
	case !s.Until.IsZero() && (s.Until.UTC().Year() < 2000 || s.Until.UTC().Year() > lastYear):
		return ErrUntil
	}
	return nil
}

// Traffics are the purposes of messages that a list can apply to.
var Traffics = []campaign.Traffic{
	campaign.Promotion, campaign.Transaction, campaign.Authentication, campaign.ServiceRequest,
}

// AppliesTo reports whether the list applies to messages of a purpose, "" for promotion.
func (l List) AppliesTo(t campaign.Traffic, now time.Time) bool {
	t = cmp.Or(t, campaign.Promotion)
	return !l.Deleted && !l.Over(now) && (len(l.Traffic) == 0 || slices.Contains(l.Traffic, t))
}

// Covers reports whether the list applies to the area code of a number.
func (l List) Covers(number uint64) bool {
	return len(l.AreaCodes) == 0 || slices.Contains(l.AreaCodes, area.Code(number))
}

func ended(until, now time.Time) bool { return !until.IsZero() && !now.Before(until) }

// Count returns how many numbers the list has at a time. exact is false if numbers were changed in
// several segments: their repeated numbers count twice then.
func (l List) Count(now time.Time) (numbers int, exact bool) {
	current := Effective(l.Segments, now)
	for _, s := range current {
		if !s.Remove {
			numbers += s.Numbers
		}
	}
	return numbers, len(current) <= 1
}

// Live returns the lists that are not deleted.
func Live(lists []List) []List {
	return slices.DeleteFunc(slices.Clone(lists), func(l List) bool { return l.Deleted })
}

// Find returns the list of a name, also a deleted one.
func Find(lists []List, name string) (l List, found bool) {
	at := slices.IndexFunc(lists, func(l List) bool { return l.Name == name })
	if at < 0 {
		return l, false
	}
	return lists[at], true
}

// Names reads the names of a tenant's lists, deleted ones included, by their numbers.
func Names(ctx context.Context, tenant string, read func(ctx context.Context, tenant string) ([]List, error)) (map[int]string, error) {
	all, err := read(ctx, tenant)
	if err != nil {
		return nil, fmt.Errorf("read the names of lists: %w", err)
	}
	names := make(map[int]string, len(all))
	for _, l := range all {
		names[l.Number] = l.Name
	}
	return names, nil
}

// Over reports whether the list ended before now.
func (l List) Over(now time.Time) bool { return ended(l.Until, now) }

// Effective omits segments that ended, and numbers that were removed from an empty list.
func Effective(segments []Segment, now time.Time) []Segment {
	segments = slices.DeleteFunc(slices.Clone(segments), func(s Segment) bool { return s.Numbers == 0 || ended(s.Until, now) })
	for len(segments) > 0 && segments[0].Remove {
		segments = segments[1:]
	}
	return segments
}
