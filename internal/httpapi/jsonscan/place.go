package jsonscan

import "strconv"

// maxToken is the maximum number of characters of a name in a place.
const maxToken = 100

// Place returns the reference tokens of the innermost value at which the error is, and the detail. It returns no tokens
// for the whole text, and for a value that is too deep to be named. The detail has the position in the text if the error
// is not within a string, a number or a literal. data is the text.
func (e *Error) Place(data []byte) (tokens []string, detail string) {
	located := e.Detail + " (at byte " + strconv.Itoa(e.Offset) + ")"
	if e.Code == TooDeep {
		return nil, located
	}
	if value, _ := New(data).locate(&tokens); value && len(tokens) > 0 {
		return tokens, e.Detail
	}
	return tokens, located
}

// locate reads a value. At an error, path has the tokens of the innermost value at which it is, and value is true if
// that is no object and no array.
func (s *Scanner) locate(path *[]string) (value bool, err error) {
	within := func(token string) (err error) {
		*path = append(*path, token)
		if value, err = s.locate(path); err == nil {
			*path, value = (*path)[:len(*path)-1], false
		}
		return err
	}
	switch s.Peek() { //nolint:exhaustive // the others contain no value
	case Object:
		err = s.Members(func(name []byte) error { return within(cut(name)) })
	case Array:
		n := -1
		err = s.Elements(func() error { n++; return within(strconv.Itoa(n)) })
	default:
		_, err = s.Raw()
		return true, err
	}
	return value, err
}

func cut(name []byte) string {
	if len(name) <= maxToken {
		return string(name)
	}
	runes := []rune(string(name))
	return string(runes[:min(len(runes), maxToken)])
}
