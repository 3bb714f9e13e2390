// Package config builds the configuration of the AWS clients from the
// environment that Lambda gives a function. It stands in for the SDK's
// config.LoadDefaultConfig, which looks in files and at metadata endpoints that
// a function does not have, and costs a cold start 6 ms to do so.
package config

import (
	"net"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// FromEnv returns the configuration for the region and the credentials of the
// environment. AWS_ENDPOINT_URL, where set, replaces every service's endpoint.
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

// Local reports whether the clients talk to an emulator of AWS.
func Local() bool { return os.Getenv("AWS_ENDPOINT_URL") != "" }

// longestReply is how long a function waits for a reply to begin. On AWS it leaves
// the shortest function, of 10 seconds, time for a second try: the SDK's pause
// before it is 2 seconds at most. An emulator may be slow, and is not given up.
func longestReply() time.Duration {
	if Local() {
		return 10 * time.Second
	}
	return 3 * time.Second
}

// idleAtMost is less than AWS keeps idle connections: DynamoDB closes them after
// 60 seconds (https://github.com/aws/aws-sdk-java/issues/1365). net/http judges it by
// the wall clock, so it also holds for a process that Lambda froze between calls.
const idleAtMost = 50 * time.Second

// transport keeps enough idle connections for the calls a function makes side
// by side, and gives up on a reply that does not begin in time.
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
