package ssmparam_test

import (
	"crypto/rand"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"campaign-dispatch/internal/ssmparam"
	"campaign-dispatch/localstack/stackenv"
)

func TestKeyDocument(t *testing.T) {
	t.Parallel()
	client := ssm.NewFromConfig(stackenv.Load(t).AWS())
	parameter := "/campaign-dispatch/test/agents/" + rand.Text()
	_, err := client.PutParameter(t.Context(), &ssm.PutParameterInput{
		Name: aws.String(parameter), Value: aws.String(`{"type":"service_account"}`), Type: types.ParameterTypeSecureString,
	})
	if err != nil {
		t.Fatalf("put the parameter: %v", err)
	}
	reader := ssmparam.Reader{Client: client}

	got, err := reader.KeyDocument(t.Context(), parameter)
	if want := `{"type":"service_account"}`; err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if _, err := reader.KeyDocument(t.Context(), parameter+"-missing"); err == nil || !strings.Contains(err.Error(), parameter) {
		t.Errorf("got %v, want an error that names the parameter", err)
	}
}
