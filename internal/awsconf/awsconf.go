// Package awsconf builds the configuration of the AWS clients from the
// environment that Lambda gives a function. It stands in for the SDK's
// config.LoadDefaultConfig, which looks in files and at metadata endpoints that
// a function does not have, and costs a cold start 6 ms to do so.
package awsconf

import (
	"net"
	"net/http"
	"os"
	"strconv"
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

// Local tells whether the clients talk to an emulator of AWS.
func Local() bool { return os.Getenv("AWS_ENDPOINT_URL") != "" }

// LocalSwitch reports whether a variable switches something on that only a local
// stack may have, such as webhooks to this machine: it is "1", and the clients talk
// to an emulator. On AWS it is off whatever the variable says.
func LocalSwitch(variable string) bool { return Local() && os.Getenv(variable) == "1" }

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

// Instant returns the instant that the variable gives (RFC 3339), or the zero time
// where it gives none.
func Instant(variable string) time.Time {
	at, err := time.Parse(time.RFC3339, os.Getenv(variable))
	if err != nil {
		return time.Time{}
	}
	return at
}

// Seconds returns the duration that the variable gives in whole seconds, or
// fallback seconds where it gives none.
func Seconds(variable string, fallback int) time.Duration {
	return time.Duration(Number(variable, fallback)) * time.Second
}

// Number returns the whole number that the variable gives, or fallback where it
// gives none.
func Number(variable string, fallback int) int {
	n, err := strconv.Atoi(os.Getenv(variable))
	if err != nil {
		return fallback
	}
	return n
}
