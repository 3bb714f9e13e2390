package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// refusal is an answer other than a success: a problem, or an OAuth error.
type refusal struct {
	status           int
	Detail           string `json:"detail"`
	ErrorDescription string `json:"error_description"`
	Errors           []fault
}

// fault is one thing that is wrong with a call.
type fault struct {
	Pointer string `json:"pointer"`
	Code    string `json:"code"`
	Detail  string `json:"detail"`
}

func (r refusal) Error() string {
	said := fmt.Sprintf("the service answered %d", r.status)
	for _, text := range []string{r.Detail, r.ErrorDescription} {
		if text != "" {
			return said + ": " + text
		}
	}
	return said
}

func refused(status int, body []byte) error {
	if status == http.StatusTooManyRequests {
		return errors.New("too many calls within a minute: wait a minute, then try again")
	}
	r := refusal{}
	_ = json.Unmarshal(body, &r) // what is no problem has a status at least
	r.status = status
	return r
}

// inFile says of a refusal where in the campaign's file its cause is.
func inFile(err error, messages []Message) error {
	r, ok := errors.AsType[refusal](err)
	if !ok || len(r.Errors) == 0 {
		return err
	}
	first := r.Errors[0].in(messages)
	if more := len(r.Errors) - 1; more > 0 {
		first += fmt.Sprintf(" (and %d more)", more)
	}
	return errors.New(first)
}

func (f fault) in(messages []Message) string {
	tokens := strings.Split(strings.TrimPrefix(f.Pointer, "/"), "/")
	if len(tokens) < 2 || tokens[0] != "messages" {
		return strings.TrimPrefix(f.Pointer+": ", ": ") + f.Detail
	}
	i, err := strconv.Atoi(tokens[1])
	if err != nil || i < 0 || i >= len(messages) {
		return f.Pointer + ": " + f.Detail
	}
	name := tokens[len(tokens)-1]
	if f.Code == "missing_variable" {
		return fmt.Sprintf("%s has no %s, which the template needs: add a column or variable %[2]s", messages[i].place, name)
	}
	return fmt.Sprintf("%s: %s: %s", messages[i].place, name, f.Detail)
}
