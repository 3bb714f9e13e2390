package campaign

import "errors"

// ErrNotFound says that what was asked for does not exist.
var ErrNotFound = errors.New("not found")

// ErrLostRace says that a write was refused because another call changed the
// rows it rests on. Nothing was written: read again and judge again.
var ErrLostRace = errors.New("another call was faster")

// ErrDamaged says that what is kept is not what was written: to read it again is
// of no use.
var ErrDamaged = errors.New("damaged")
