package ssmwriter_test

import (
	"crypto/rand"
	"strings"
	"testing"
	"time"

	awsssm "github.com/aws/aws-sdk-go-v2/service/ssm"

	"campaign-dispatch/internal/aws/ssm"
	"campaign-dispatch/internal/aws/ssm/ssmwriter"
	"campaign-dispatch/localstack/stackenv"
)

func TestPutKeyDocument(t *testing.T) {
	t.Parallel()
	cfg := stackenv.Load(t).AWS()
	reader := ssm.New(cfg, time.Now)
	writer := ssmwriter.Writer{Client: awsssm.NewFromConfig(cfg)}
	name := "/campaign-dispatch/test/agents/" + strings.ToLower(rand.Text())
	if _, err := reader.KeyDocument(t.Context(), name); err == nil {
		t.Fatal("a parameter that does not exist was read")
	}
	for _, document := range []string{`{"a":"ção"}`, `{"private_key":"` + strings.Repeat("k", 5000) + `"}`} {
		if err := writer.PutKeyDocument(t.Context(), name, []byte(document)); err != nil {
			t.Fatal(err)
		}
		got, err := reader.KeyDocument(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != document {
			t.Errorf("got %d bytes, want the %d that were written", len(got), len(document))
		}
	}
}
