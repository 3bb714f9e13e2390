// Package config builds the AWS client configuration from Lambda's environment variables.
// It replaces config.LoadDefaultConfig of the SDK, which also checks files and metadata
// endpoints and adds 6 ms to a cold start.
package config

import (
	"net"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// FromEnv returns the configuration for the region and credentials of the environment.
// AWS_ENDPOINT_URL overrides the endpoint of every service.
func FromEnv() aws.Config {
	cfg := aws.Config{
		Region: os.Getenv("AWS_REGION"),
		Credentials: credentials.NewStaticCredentialsProvider(
			os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY"), os.Getenv("AWS_SESSION_TOKEN")),
		HTTPClient: HTTPClientFor(longestReply()),
	}
	if url := os.Getenv("AWS_ENDPOINT_URL"); url != "" {
		cfg.BaseEndpoint = aws.String(url)
	}
	return cfg
}

// Local reports whether the clients use an AWS emulator.
func Local() bool { return os.Getenv("AWS_ENDPOINT_URL") != "" }

// longestReply is the timeout for the start of a response. On AWS it leaves a function with
// a 10-second timeout time for a second attempt: the SDK's backoff is at most 2 seconds.
// Emulators can be slow.
func longestReply() time.Duration {
	if Local() {
		return 10 * time.Second
	}
	return 3 * time.Second
}

// idleAtMost is shorter than the idle timeout of AWS: DynamoDB closes connections after 60
// seconds (https://github.com/aws/aws-sdk-java/issues/1365). net/http uses the wall clock,
// so it also applies to frozen processes.
const idleAtMost = 50 * time.Second

// transport returns a transport with enough idle connections for concurrent calls. longest
// is the timeout for the start of a response.
func transport(longest time.Duration) *http.Transport {
	return &http.Transport{
		DialContext:           (&net.Dialer{Timeout: 2 * time.Second}).DialContext,
		TLSHandshakeTimeout:   3 * time.Second,
		ResponseHeaderTimeout: longest,
		MaxIdleConnsPerHost:   64,
		IdleConnTimeout:       idleAtMost,
		ForceAttemptHTTP2:     true,
	}
}
