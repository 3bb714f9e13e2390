package campaign

import (
	"errors"
	"fmt"
)

// ErrNotFound says that what was asked for does not exist.
var ErrNotFound = errors.New("not found")

// ErrEnded is an ErrNotFound of what has ended and is not deleted yet.
var ErrEnded = fmt.Errorf("its time is over: %w", ErrNotFound)

// ErrLostRace says that a write was refused because another call changed the
// rows it rests on. Nothing was written: read again and judge again.
var ErrLostRace = errors.New("another call was faster")

// ErrDamaged says that what is kept is not what was written: to read it again is
// of no use.
var ErrDamaged = errors.New("damaged")
