package lambdahttp

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"campaign-dispatch/internal/httpapi/jsonscan"
)

// event is a request in payload format 2.0, as sent by HTTP APIs and function URLs.
type event struct {
	rawPath        string
	rawQueryString string
	header         http.Header
	cookies        []string
	body           []byte
	base64         bool

	domainName string
	requestID  string
	method     string
	sourceIP   string
	protocol   string
}

// parseEvent decodes an event. Its body is a slice of data if it contains no JSON escapes.
func parseEvent(data []byte) (*event, error) {
	e := &event{header: make(http.Header, 16)}
	p := parser{jsonscan.New(data)}
	if err := p.members(e.field); err != nil {
		return nil, fmt.Errorf("read event: %w", err)
	}
	if err := p.End(); err != nil {
		return nil, fmt.Errorf("read event: %w", err)
	}
	if e.method == "" {
		return nil, errors.New("read event: not a request in payload format 2.0")
	}
	if err := e.decodeBody(); err != nil {
		return nil, err
	}
	return e, nil
}

func (e *event) field(p parser, name string) (err error) {
	switch name {
	case "rawPath":
		return p.text(&e.rawPath)
	case "rawQueryString":
		return p.text(&e.rawQueryString)
	case "headers":
		return p.members(e.headerField)
	case "cookies":
		return p.texts(&e.cookies)
	case "requestContext":
		return p.members(e.contextField)
	case "body":
		e.body, err = p.bytes()
		return err
	case "isBase64Encoded":
		raw, err := p.Raw()
		e.base64 = string(raw) == "true"
		return err
	}
	_, err = p.Raw()
	return err
}

func (e *event) headerField(p parser, name string) error {
	var value string
	if err := p.text(&value); err != nil {
		return err
	}
	e.header.Add(name, value)
	return nil
}

func (e *event) contextField(p parser, name string) error {
	switch name {
	case "domainName":
		return p.text(&e.domainName)
	case "requestId":
		return p.text(&e.requestID)
	case "http":
		return p.members(e.httpField)
	}
	_, err := p.Raw()
	return err
}

func (e *event) httpField(p parser, name string) error {
	switch name {
	case "method":
		return p.text(&e.method)
	case "sourceIp":
		return p.text(&e.sourceIP)
	case "protocol":
		return p.text(&e.protocol)
	}
	_, err := p.Raw()
	return err
}

func (e *event) decodeBody() error {
	if !e.base64 {
		return nil
	}
	decoded, err := base64.StdEncoding.AppendDecode(nil, e.body)
	if err != nil {
		return fmt.Errorf("decode base64 body of event: %w", err)
	}
	e.body = decoded
	return nil
}

func (e *event) headers() http.Header {
	if len(e.cookies) > 0 {
		e.header.Set("Cookie", strings.Join(e.cookies, "; "))
	}
	return e.header
}

// parser decodes values. Null and values of another type count as absent.
type parser struct{ *jsonscan.Scanner }

func (p parser) bytes() ([]byte, error) {
	if p.Peek() == jsonscan.String {
		return p.String()
	}
	_, err := p.Raw()
	return nil, err
}

func (p parser) text(to *string) error {
	b, err := p.bytes()
	*to = string(b)
	return err
}

func (p parser) texts(to *[]string) error {
	if p.Peek() != jsonscan.Array {
		_, err := p.Raw()
		return err
	}
	return p.Elements(func() error {
		var text string
		err := p.text(&text)
		*to = append(*to, text)
		return err
	})
}

func (p parser) members(read func(parser, string) error) error {
	if p.Peek() != jsonscan.Object {
		_, err := p.Raw()
		return err
	}
	return p.Members(func(name []byte) error { return read(p, string(name)) })
}
