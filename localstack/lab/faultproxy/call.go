package faultproxy

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
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

var services = map[string]string{
	"DynamoDB_20120810": "DynamoDB", "AmazonSQS": "SQS", "TrentService": "KMS", "AmazonSSM": "SSM",
}

// nameCall returns the operation and the subject of a call.
func nameCall(r *http.Request, body []byte) (operation, subject string) {
	if service, action, ok := strings.Cut(r.Header.Get("X-Amz-Target"), "."); ok {
		if known, ok := services[service]; ok {
			service = known
		}
		return service + "." + action, subjectOf(service, body)
	}
	scope := r.Header.Get("Authorization")
	switch {
	case strings.Contains(scope, "/scheduler/"):
		return "Scheduler." + r.Method, ""
	case strings.Contains(scope, "/s3/"):
		return "S3." + r.Method, folder(r.URL.Path)
	}
	return "HTTP." + r.Method, r.URL.Path
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

// rows returns the kinds of rows of a DynamoDB call: the prefixes of its keys, and the index
// that it reads.
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
