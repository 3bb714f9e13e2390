package campaign

// InputError says what is wrong with something that a person entered.
type InputError struct {
	Code   string // a stable word, such as name_blank
	Detail string // the same in a sentence that says what to do, and repeats no secret
}

func (e *InputError) Error() string { return e.Detail }
