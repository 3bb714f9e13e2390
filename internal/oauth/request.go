package oauth

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/httpapi/jsonscan"
)

// maxBody far exceeds the longest valid token request.
const maxBody = 64 << 10

// tokenRequest is a parsed token request. An empty field was not sent.
type tokenRequest struct {
	GrantType    string
	ClientID     string
	ClientSecret string
	RefreshToken string
	Scope        string
}

// parameter returns the field for a parameter name, or nil if the name is unknown.
func (q *tokenRequest) parameter(name string) *string {
	return map[string]*string{
		"grant_type": &q.GrantType, "client_id": &q.ClientID, "client_secret": &q.ClientSecret, "refresh_token": &q.RefreshToken,
		"scope": &q.Scope,
	}[name]
}

// readRequest parses a token request, JSON or form, with client authentication in the
// body or the Authorization header. With an error, a *failure, it returns the fields
// parsed so far.
func readRequest(r *http.Request) (tokenRequest, error) {
	body, err := httpapi.JSONBody(r, maxBody)
	if err != nil {
		return tokenRequest{}, invalidRequest("The body could not be read, or is too large.")
	}
	q, err := readBody(r.Header.Get("Content-Type"), body)
	if httpapi.Encoded(r.Header) && q.GrantType == "" && !json.Valid(body) {
		return q, invalidRequest("The body has a Content-Encoding. Send it without compression.")
	}
	if err == nil {
		err = q.authenticate(r)
	}
	if err == nil {
		err = q.validate()
	}
	return q, err
}

// readBody detects JSON by the body's first character: many clients send JSON with a
// form's content type or with none.
func readBody(contentType string, body []byte) (tokenRequest, error) {
	mediaType, _, _ := mime.ParseMediaType(contentType) // a malformed type counts as unknown
	start := bytes.TrimLeft(body, " \t\r\n")
	if mediaType == "application/json" || (len(start) > 0 && start[0] == '{') {
		return readJSON(body)
	}
	return readForm(body)
}

func readJSON(body []byte) (tokenRequest, error) {
	var q tokenRequest
	s := jsonscan.New(body)
	err := s.Members(func(name []byte) error { return q.scanValue(s, string(name)) })
	if err == nil {
		err = s.End()
	}
	if _, told := errors.AsType[*failure](err); err != nil && !told {
		return q, invalidRequest("The body is not a JSON object with unique names.")
	}
	return q, err
}

func (q *tokenRequest) scanValue(s *jsonscan.Scanner, name string) error {
	field := q.parameter(name)
	if field == nil || s.Peek() == jsonscan.Null {
		_, err := s.Raw()
		return err
	}
	if s.Peek() != jsonscan.String {
		if _, err := s.Raw(); err != nil {
			return err
		}
		return invalidRequest("The parameter " + name + " must be a string.")
	}
	value, err := s.String()
	*field = string(value)
	return err
}

func readForm(body []byte) (tokenRequest, error) {
	var q tokenRequest
	values, err := url.ParseQuery(string(body))
	if err != nil {
		return q, invalidRequest("The body is neither JSON nor a form.")
	}
	for name, sent := range values {
		field := q.parameter(name)
		if field == nil {
			continue
		}
		switch {
		case len(sent) > 1:
			err = invalidRequest("The parameter " + name + " was sent more than once.")
		case !utf8.ValidString(sent[0]):
			err = invalidRequest("The parameter " + name + " is not valid UTF-8.")
		default:
			*field = sent[0]
		}
	}
	return q, err
}

// authenticate reads the client ID and secret from a Basic Authorization header, if
// there is one.
func (q *tokenRequest) authenticate(r *http.Request) error {
	if !usesBasic(r) {
		return nil
	}
	id, secret, ok := basicAuth(r)
	if !ok {
		return invalidClient()
	}
	if differ(q.ClientID, id) || differ(q.ClientSecret, secret) {
		return invalidRequest("The body and the Authorization header name different clients.")
	}
	q.ClientID, q.ClientSecret = id, secret
	return nil
}

func differ(body, header string) bool { return body != "" && body != header }

func usesBasic(r *http.Request) bool {
	scheme, _, _ := strings.Cut(strings.TrimSpace(r.Header.Get("Authorization")), " ")
	return strings.EqualFold(scheme, "Basic")
}

// basicAuth reads ID and secret, which are form-urlencoded in the header (RFC 6749
// §2.3.1). It also accepts clients that do not encode them, where that is unambiguous.
func basicAuth(r *http.Request) (id, secret string, ok bool) {
	_, encoded, _ := strings.Cut(strings.TrimSpace(r.Header.Get("Authorization")), " ")
	pair, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
	if err != nil {
		return "", "", false
	}
	id, secret, ok = strings.Cut(string(pair), ":")
	id, secret = unescape(id), unescape(secret)
	ok = ok && id != "" && secret != "" && utf8.ValidString(id) && utf8.ValidString(secret)
	return id, secret, ok
}

func unescape(s string) string {
	plain, err := url.QueryUnescape(s)
	if err != nil {
		return s
	}
	return plain
}

func (q *tokenRequest) validate() error {
	needed := map[string][]string{
		"": {"grant_type"}, grantClientCredentials: {"client_id", "client_secret"}, grantRefreshToken: {"refresh_token"},
	}
	names, known := needed[q.GrantType]
	if !known {
		return &failure{
			status: http.StatusBadRequest, Code: "unsupported_grant_type",
			Description: "The grant_type must be client_credentials or refresh_token.",
		}
	}
	for _, name := range names {
		if *q.parameter(name) == "" {
			return invalidRequest("The parameter " + name + " is missing.")
		}
	}
	return nil
}
