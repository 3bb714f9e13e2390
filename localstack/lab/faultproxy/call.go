package faultproxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"campaign-dispatch/localstack/forward"
)

// Call names a call to AWS by what identifies the place in the program that makes it. All
// calls of one place have one name.
type Call struct {
	Function  string // as the template names it, in lower case and without "function"
	Operation string // DynamoDB.UpdateItem
	Subject   string // kinds of rows, a queue, or a folder of the bucket
}

// String returns the call for people.
func (c Call) String() string {
	return strings.TrimSpace(c.Function + " " + c.Operation + " " + c.Subject)
}

func nameCall(r *http.Request, body []byte) (operation, subject string) {
	service, action := forward.Operation(r)
	switch service {
	case "Scheduler":
	case "S3":
		subject = folder(r.URL.Path)
	case "HTTP":
		subject = r.URL.Path
	default:
		subject = subjectOf(service, body)
	}
	return service + "." + action, subject
}

// folder is the first part of an object's key.
func folder(path string) string {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	if len(parts) < 2 {
		return ""
	}
	return parts[1]
}

func subjectOf(service string, body []byte) string {
	var said any
	decoder := json.NewDecoder(bytes.NewReader(body))
	if decoder.Decode(&said) != nil {
		return ""
	}
	switch service {
	case "SQS":
		if m, ok := said.(map[string]any); ok {
			url, _ := m["QueueUrl"].(string)
			return queueName.FindString(url)
		}
	case "DynamoDB":
		return strings.Join(rows(said), " ")
	}
	return ""
}

var (
	queueName = regexp.MustCompile(`[A-Z][a-z]+Queue`)
	rowKind   = regexp.MustCompile(`^[A-Z]+(#|$)`)
)

// rows returns the kinds of rows of a DynamoDB call: the prefixes of its keys, and the index that it reads.
func rows(said any) []string {
	found := map[string]bool{}
	collect(said, "", found)
	return slices.Sorted(maps.Keys(found))
}

func collect(value any, name string, found map[string]bool) {
	switch v := value.(type) {
	case map[string]any:
		if text, ok := v["S"].(string); ok && (name == "pk" || name == "sk" || strings.HasPrefix(name, ":")) {
			if kind := rowKind.FindString(text); kind != "" {
				found[strings.TrimSuffix(kind, "#")] = true
			}
		}
		for key, inner := range v {
			collect(inner, key, found)
		}
	case []any:
		for _, inner := range v {
			collect(inner, name, found)
		}
	case string:
		if name == "IndexName" {
			found["index "+v] = true
		}
	}
}

// Kind is a kind of fault.
type Kind string

// The kinds of faults. The retries of an AWS client belong to its call.
const (
	Throttled Kind = "throttled"               // with every retry
	Refused   Kind = "refused"                 // by missing permissions
	Lost      Kind = "answer lost"             // applied, the connection closed before the first byte of the first answer
	Cut       Kind = "answer cut"              // applied, and closed in the middle of the first answer
	AllLost   Kind = "every answer lost"       // of the call and its retries; each is applied
	Slow      Kind = "slow beyond the timeout" // applied; every answer comes after the timeout
	Killed    Kind = "process killed after it" // applied; the calling process dies before the answer
)

// Kinds are all kinds of faults.
func Kinds() []Kind { return []Kind{Throttled, Refused, Lost, Cut, AllLost, Killed, Slow} }

// patience is longer than the timeout of the functions' AWS clients.
const patience = 13 * time.Second

// Fault fails the next call of a name, once.
type Fault struct {
	Kind Kind
	Call Call
}

// String returns the fault for people.
func (f Fault) String() string { return fmt.Sprintf("%s: %s", f.Call, f.Kind) }

// Armed is a fault that waits for its call.
type Armed struct {
	Fault

	happened   chan struct{}
	invocation string // of the call that it met, "" until then
	met        bool
}

// Happened is closed when the fault meets its call.
func (a *Armed) Happened() <-chan struct{} { return a.happened }

// takes reports whether the fault applies to a request: to the first one of its name, and
// for some kinds to the retries of that one.
func (a *Armed) takes(c Call, invocation string) bool {
	if !a.met {
		if c != a.Call {
			return false
		}
		a.met, a.invocation = true, invocation
		close(a.happened)
		return true
	}
	stays := a.Kind == Throttled || a.Kind == AllLost || a.Kind == Slow
	return stays && invocation != "" && invocation == a.invocation
}

func refusal(operation string, kind Kind) (status int, header http.Header, body string) {
	service, _, _ := strings.Cut(operation, ".")
	code, status := "AccessDeniedException", http.StatusBadRequest
	if kind == Throttled {
		code = "ThrottlingException"
	}
	header = http.Header{"Content-Type": {"application/x-amz-json-1.0"}}
	switch {
	case service == "S3":
		code, status = "AccessDenied", http.StatusForbidden
		if kind == Throttled {
			code, status = "SlowDown", http.StatusServiceUnavailable
		}
		header.Set("Content-Type", "application/xml")
		return status, header, "<Error><Code>" + code + "</Code><Message>a fault of the proxy</Message></Error>"
	case service == "DynamoDB" && kind == Throttled:
		code = "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"
	case service == "SQS" && kind == Throttled:
		code = "com.amazonaws.sqs#RequestThrottled"
	case service == "Scheduler" && kind == Throttled:
		status = http.StatusTooManyRequests
	case service == "Scheduler", service == "HTTP":
		status = http.StatusForbidden
	}
	header.Set("X-Amzn-Errortype", code)
	return status, header, `{"__type":"` + code + `","message":"a fault of the proxy"}`
}
