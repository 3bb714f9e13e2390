package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// apiError is an error response: problem details or an OAuth error.
type apiError struct {
	status           int
	Detail           string `json:"detail"`
	ErrorDescription string `json:"error_description"`
	Errors           []violation
}

// violation is an entry of the problem's errors.
type violation struct {
	Pointer string `json:"pointer"`
	Code    string `json:"code"`
	Detail  string `json:"detail"`
}

func (e apiError) Error() string {
	status := fmt.Sprintf("the service returned status %d", e.status)
	for _, text := range []string{e.Detail, e.ErrorDescription} {
		if text != "" {
			return status + ": " + text
		}
	}
	return status
}

// errorOf returns the error of a response.
func errorOf(status int, body []byte) error {
	if status == http.StatusTooManyRequests {
		return errors.New("too many calls within a minute: wait a minute, then try again")
	}
	e := apiError{}
	_ = json.Unmarshal(body, &e) // another body leaves the status only
	e.status = status
	return e
}

// inFile returns the first violation of an apiError with its place in the campaign
// file, or err.
func inFile(err error, messages []Message) error {
	e, ok := errors.AsType[apiError](err)
	if !ok || len(e.Errors) == 0 {
		return err
	}
	first := e.Errors[0].in(messages)
	if more := len(e.Errors) - 1; more > 0 {
		first += fmt.Sprintf(" (and %d more)", more)
	}
	return errors.New(first)
}

// in describes the violation with its place in the campaign file.
func (v violation) in(messages []Message) string {
	tokens := strings.Split(strings.TrimPrefix(v.Pointer, "/"), "/")
	if len(tokens) < 2 || tokens[0] != "messages" {
		return strings.TrimPrefix(v.Pointer+": ", ": ") + v.Detail
	}
	i, err := strconv.Atoi(tokens[1])
	if err != nil || i < 0 || i >= len(messages) {
		return v.Pointer + ": " + v.Detail
	}
	name := tokens[len(tokens)-1]
	if v.Code == "missing_variable" {
		return fmt.Sprintf("%s has no variable %s, which the template requires: add a column or variable %[2]s", messages[i].place, name)
	}
	return fmt.Sprintf("%s: %s: %s", messages[i].place, name, v.Detail)
}
