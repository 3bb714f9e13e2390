package openapitest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemas are the compiled schemas of bodies. openapi3 compiles a schema each time it checks a body, which takes
// longer than the calls that most tests make.
var schemas sync.Map

var errMediaType = errors.New("the document does not have this media type")

// isJSON reports whether a media type is JSON.
func isJSON(mediaType string) bool {
	return mediaType == "application/json" || strings.HasSuffix(mediaType, "+json")
}

// checkJSON checks a body against the schema of a media type.
func checkJSON(doc *openapi3.T, media *openapi3.MediaType, body []byte) error {
	if media == nil {
		return errMediaType
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("read the body: %w", err)
	}
	compile, _ := schemas.LoadOrStore(media.Schema, sync.OnceValues(func() (*jsonschema.Schema, error) { return compiled(doc, media.Schema) }))
	schema, err := compile.(func() (*jsonschema.Schema, error))()
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

// compiled compiles a schema of the document.
func compiled(doc *openapi3.T, schema *openapi3.SchemaRef) (*jsonschema.Schema, error) {
	text, err := json.Marshal(map[string]any{"components": doc.Components, "schema": schema})
	if err != nil {
		return nil, fmt.Errorf("encode the schema: %w", err)
	}
	resource, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	const name = "file:///openapi.json"
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	if err := c.AddResource(name, resource); err != nil {
		return nil, fmt.Errorf("add the schema: %w", err)
	}
	return c.Compile(name + "#/schema")
}

// mediaOf returns the schema of an answer with a status, nil if the document does not have it.
func mediaOf(op *openapi3.Operation, status int, mediaType string) *openapi3.MediaType {
	answer := cmp.Or(op.Responses.Value(strconv.Itoa(status)), op.Responses.Default())
	if answer == nil {
		return nil
	}
	return answer.Value.Content[mediaType]
}
