package sns_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/sns"
)

const arn = "arn:aws:sns:sa-east-1:123456789012:tickets"

// topic returns a topic whose service answers with a status, and what it was sent.
func topic(t *testing.T, arn string, status int) (*sns.Topic, *[]url.Values) {
	t.Helper()
	var sent []url.Values
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		form, _ := url.ParseQuery(string(body))
		if sent = append(sent, form); !strings.Contains(r.Header.Get("Authorization"), "/sa-east-1/sns/aws4_request") {
			t.Errorf("signed by %q", r.Header.Get("Authorization"))
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(server.Close)
	cfg := aws.Config{
		Region: "sa-east-1", BaseEndpoint: &server.URL, HTTPClient: server.Client(),
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	}
	return sns.New(cfg, arn, func() time.Time { return time.Unix(1_700_000_000, 0) }), &sent
}

func TestAnnounce(t *testing.T) {
	t.Parallel()
	to, sent := topic(t, arn, http.StatusOK)
	if err := to.Announce(t.Context(), "Endpoint disabled", "tenant acme & co"); err != nil {
		t.Fatal(err)
	}
	want := []url.Values{{
		"Action": {"Publish"}, "Version": {"2010-03-31"}, "TopicArn": {arn}, "Subject": {"Endpoint disabled"}, "Message": {"tenant acme & co"},
	}}
	if diff := cmp.Diff(want, *sent); diff != "" {
		t.Errorf("published (-want +got):\n%s", diff)
	}
}

func TestAnnounce_Refused(t *testing.T) {
	t.Parallel()
	to, _ := topic(t, arn, http.StatusForbidden)
	if err := to.Announce(t.Context(), "s", "m"); err == nil || !strings.Contains(err.Error(), "403") || !strings.Contains(err.Error(), arn) {
		t.Errorf("a refusal gives %v", err)
	}
}

func TestAnnounce_WithoutTopic(t *testing.T) {
	t.Parallel()
	to, sent := topic(t, "", http.StatusOK)
	if err := to.Announce(t.Context(), "s", "m"); err != nil || len(*sent) > 0 {
		t.Errorf("published %v (%v) without a topic", *sent, err)
	}
}
