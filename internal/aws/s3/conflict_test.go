package s3_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"campaign-dispatch/internal/aws/s3"
	"campaign-dispatch/internal/campaign"
)

// conflicting returns a store without objects, whose first puts meet another put that does not succeed.
func conflicting(t *testing.T, puts int) *s3.Store {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch puts--; {
		case r.Method != http.MethodPut:
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`<Error><Code>NoSuchKey</Code></Error>`))
		case puts >= 0:
			w.WriteHeader(http.StatusConflict)
			_, _ = w.Write([]byte(`<Error><Code>ConditionalRequestConflict</Code></Error>`))
		}
	}))
	t.Cleanup(server.Close)
	return s3.New(aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String(server.URL), Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
		Retryer: func() aws.Retryer {
			return retry.NewStandard(func(o *retry.StandardOptions) {
				o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
			})
		},
	}, "bucket", true)
}

// S3 refuses a conditional put that meets another one, and says that it should be repeated.
func TestPutOnce_Conflict(t *testing.T) {
	t.Parallel()
	if err := conflicting(t, 1).PutOnce(t.Context(), "key", []byte("a"), "text/csv"); err != nil {
		t.Errorf("after a conflict: %v", err)
	}
	err := conflicting(t, 100).PutOnce(t.Context(), "key", []byte("a"), "text/csv")
	if err == nil || errors.Is(err, campaign.ErrNotFound) || errors.Is(err, campaign.ErrLostRace) {
		t.Errorf("a conflict that lasts: %v, want another error, after which it is tried again", err)
	}
}
