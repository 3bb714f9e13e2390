package web

import (
	"errors"

	"campaign-dispatch/internal/campaign"
)

// Setting is a form about a setting that colleagues can change at the same time. The one who saves first wins. The
// others see their form again, which says so, unless the setting is already what they entered.
type Setting[T any] struct {
	// Read reads the stored setting.
	Read func() (T, error)
	// Has reports whether the stored setting is what the form says.
	Has func(stored T) bool
	// Stale reports whether the setting has changed since the form was shown.
	Stale func(stored T) bool
	// Ask asks for a confirmation before the change if that is necessary, and reports whether it did. It is nil for none.
	Ask func(stored T) (asked bool, err error)
	// Save changes the stored setting and writes the entry of the audit log, both or nothing. The error wraps
	// campaign.ErrLostRace if the setting is not the stored one any more.
	Save func(stored T) error
	// Saved answers that the form was saved.
	Saved func() error
	// Overtaken shows the form again beside the setting of a colleague.
	Overtaken func(stored T) error
}

// Change saves the form over the stored setting, which was read before.
func (s Setting[T]) Change(stored T) error {
	switch {
	case s.Has(stored):
		return s.Saved()
	case s.Stale(stored):
		return s.Overtaken(stored)
	}
	if s.Ask != nil {
		if asked, err := s.Ask(stored); asked || err != nil {
			return err
		}
	}
	err := s.Save(stored)
	if errors.Is(err, campaign.ErrLostRace) {
		return s.lost()
	}
	if err != nil {
		return err
	}
	return s.Saved()
}

// lost answers a form whose change lost a race: to itself, if it was sent twice.
func (s Setting[T]) lost() error {
	stored, err := s.Read()
	if err != nil {
		return err
	}
	if s.Has(stored) {
		return s.Saved()
	}
	return s.Overtaken(stored)
}
