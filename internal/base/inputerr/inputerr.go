// Package inputerr defines the error of invalid input.
package inputerr

// Error describes invalid input from a user.
type Error struct {
	Code   string // stable, for example name_blank
	Detail string // a sentence that says what to do; it contains no secret
}

func (e *Error) Error() string { return e.Detail }
