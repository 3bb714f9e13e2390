package campaign

// InputError describes invalid input from a user.
type InputError struct {
	Code   string // stable, for example name_blank
	Detail string // a sentence that says what to do; it contains no secret
}

func (e *InputError) Error() string { return e.Detail }
