package dispatch

import (
	"net/http"
	"strconv"

	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/httpapi/jsonscan"
)

// violation is one error in a call.
type violation struct {
	status                int
	pointer, code, detail string
}

type violations []violation

// add appends a violation with status 400.
func (v *violations) add(pointer, code, detail string) {
	*v = append(*v, violation{http.StatusBadRequest, pointer, code, detail})
}

func (v violations) has(pointer string) bool {
	for _, each := range v {
		if each.pointer == pointer {
			return true
		}
	}
	return false
}

// problem returns a Problem for the first violation, with all violations of the same
// status. It returns nil if there are none.
func (v violations) problem() *httpapi.Problem {
	if len(v) == 0 {
		return nil
	}
	p := &httpapi.Problem{Status: v[0].status, Code: v[0].code, Detail: v[0].detail}
	for _, each := range v {
		if each.status == p.Status {
			p.Errors = append(p.Errors, httpapi.Violation{Pointer: each.pointer, Code: each.code, Detail: each.detail})
		}
	}
	return p
}

func messagePointer(i int, tokens ...string) string {
	return jsonscan.Pointer(append([]string{"messages", strconv.Itoa(i)}, tokens...)...)
}
