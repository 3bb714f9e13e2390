package campaign

import (
	"errors"
	"fmt"
)

// ErrNotFound reports that an item does not exist.
var ErrNotFound = errors.New("not found")

// ErrExpired is an ErrNotFound for an expired item that is not deleted yet.
var ErrExpired = fmt.Errorf("expired: %w", ErrNotFound)

// ErrLostRace reports that a conditional write failed because another call changed the
// rows. Nothing was written. Read the rows and decide again.
var ErrLostRace = errors.New("concurrent update")

// ErrDamaged reports that stored data is corrupt. A retry does not help.
var ErrDamaged = errors.New("damaged")

// ErrNoMedia reports that a template shows an uploaded file that its tenant does not have, or
// that is being deleted.
var ErrNoMedia = errors.New("the template shows a file that was not uploaded, or was deleted")
