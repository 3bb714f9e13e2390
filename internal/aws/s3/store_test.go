package s3_test

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/middleware"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/s3"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/localstack/stackenv"
)

// store returns a store whose S3 gives the same response to every call.
func store(t *testing.T, status int, body string) *s3.Store {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	client := awss3.New(awss3.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(server.URL), UsePathStyle: true, Retryer: aws.NopRetryer{},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "id", SecretAccessKey: "secret"}, nil
		}),
	})
	return &s3.Store{Client: client, Bucket: "bucket"}
}

func TestGet_Errors(t *testing.T) {
	t.Parallel()
	const (
		noSuchKey = `<Error><Code>NoSuchKey</Code><Message>m</Message></Error>`
		denied    = `<Error><Code>AccessDenied</Code><Message>m</Message></Error>`
		skewed    = `<Error><Code>RequestTimeTooSkewed</Code><Message>m</Message></Error>`
	)
	for name, c := range map[string]struct {
		status  int
		body    string
		missing bool
	}{
		"missing":         {http.StatusNotFound, noSuchKey, true},
		"denied":          {http.StatusForbidden, denied, false},
		"another refusal": {http.StatusForbidden, skewed, false},
		"a fault":         {http.StatusInternalServerError, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := store(t, c.status, c.body).Get(t.Context(), "key")
			if err == nil || errors.Is(err, campaign.ErrNotFound) != c.missing {
				t.Errorf("got %v, missing: %v", err, c.missing)
			}
		})
	}
}

func TestGetSince(t *testing.T) {
	t.Parallel()
	env := stackenv.Load(t)
	blobs := &s3.Store{Client: awss3.NewFromConfig(env.AWS(), func(o *awss3.Options) { o.UsePathStyle = true }), Bucket: env["BUCKET"]}
	key := "errors/" + rand.Text()
	if err := blobs.Put(t.Context(), key, []byte("a"), "text/csv"); err != nil {
		t.Fatal(err)
	}
	if got, err := blobs.GetSince(t.Context(), key, time.Now().Add(-time.Hour)); err != nil || string(got) != "a" {
		t.Errorf("a new object: %q, %v", got, err)
	}
	if _, err := blobs.GetSince(t.Context(), key, time.Now().Add(time.Hour)); !errors.Is(err, campaign.ErrNotFound) {
		t.Errorf("an old object: %v, want it not found", err)
	}
}

// S3 pages end after 1,000 objects, here after two.
func TestList_ManyPages(t *testing.T) {
	t.Parallel()
	env := stackenv.Load(t)
	blobs := &s3.Store{Bucket: env["BUCKET"], Client: awss3.NewFromConfig(env.AWS(), func(o *awss3.Options) {
		o.UsePathStyle = true
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("small pages",
				func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
					if asked, ok := in.Parameters.(*awss3.ListObjectsV2Input); ok {
						asked.MaxKeys = aws.Int32(2)
					}
					return next.HandleInitialize(ctx, in)
				}), middleware.After)
		})
	})}
	prefix := "uploads/" + rand.Text() + "/"
	var want, got []string
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		want = append(want, prefix+name)
		if err := blobs.Put(t.Context(), prefix+name, []byte("x"), "text/csv"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = blobs.Delete(context.WithoutCancel(t.Context()), prefix+name) })
	}
	for o, err := range blobs.List(t.Context(), prefix) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, o.Key)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}

// A renewed object has the same content and a later time.
func TestRenew(t *testing.T) {
	t.Parallel()
	env := stackenv.Load(t)
	blobs := &s3.Store{Client: awss3.NewFromConfig(env.AWS(), func(o *awss3.Options) { o.UsePathStyle = true }), Bucket: env["BUCKET"]}
	prefix := "lists/renew-" + rand.Text() + "/"
	if err := blobs.Put(t.Context(), prefix+"a", []byte("a"), "application/octet-stream"); err != nil {
		t.Fatal(err)
	}
	at := func() (at time.Time) {
		for o, err := range blobs.List(t.Context(), prefix) {
			if err != nil {
				t.Fatal(err)
			}
			at = o.At
		}
		return at
	}
	for written := at(); !at().After(written); { // S3 has times in seconds
		if err := blobs.Renew(t.Context(), prefix+"a"); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := blobs.Get(t.Context(), prefix+"a"); err != nil || string(got) != "a" {
		t.Errorf("the renewed object is %q, %v", got, err)
	}
	if err := blobs.Renew(t.Context(), prefix+"none"); !errors.Is(err, campaign.ErrNotFound) {
		t.Errorf("an object that does not exist: %v", err)
	}
}
