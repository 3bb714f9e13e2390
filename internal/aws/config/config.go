// Package config builds the AWS client configuration from Lambda's environment variables.
// It replaces config.LoadDefaultConfig of the SDK, which also checks files and metadata
// endpoints and adds 6 ms to a cold start.
package config

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
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

// HTTPClientFor returns an HTTP client for the SDK. longest is the timeout for the start of
// a response.
//
// It works around lost responses: the SDK closes the request body when the response starts,
// while net/http may still check the body for its end. Read then returns io.EOF, which is
// harmless, but WriteTo returns io.EOF as a failure: net/http aborts the connection, and
// the SDK repeats a completed call.
func HTTPClientFor(longest time.Duration) *http.Client {
	return &http.Client{Transport: readBodies{byTime{transport(longest), transport(max(longest, longestCopy))}}}
}

// longestCopy is the timeout for the start of the response to a copy of an object on S3, which can begin
// after the copy: S3 copies 200 MB in some seconds.
const longestCopy = 20 * time.Second

// byTime has another transport for copies.
type byTime struct{ usual, copies http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t byTime) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("X-Amz-Copy-Source") != "" {
		return t.copies.RoundTrip(r)
	}
	return t.usual.RoundTrip(r)
}

// readBodies hides the WriteTo method of request bodies.
type readBodies struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t readBodies) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, writes := r.Body.(io.WriterTo); writes && r.Body != http.NoBody {
		r = r.WithContext(r.Context())
		r.Body = struct{ io.ReadCloser }{r.Body}
	}
	return t.RoundTripper.RoundTrip(r)
}

// Logger returns a logger in Lambda's JSON log format, from which CloudWatch reads the time
// and the level of a line. level is a value of AWS_LAMBDA_LOG_LEVEL: TRACE, DEBUG, INFO,
// WARN, ERROR or FATAL. Other values mean INFO.
func Logger(w io.Writer, level string) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{
		Level: levels[level], ReplaceAttr: lambdacontext.ReplaceAttr,
	}))
}

// levels are the levels of AWS_LAMBDA_LOG_LEVEL but INFO, the zero level.
var levels = map[string]slog.Level{
	"TRACE": slog.LevelDebug, "DEBUG": slog.LevelDebug, "WARN": slog.LevelWarn, "ERROR": slog.LevelError, "FATAL": slog.LevelError,
}

// WebClient returns an HTTP client for AWS endpoints without an SDK, such as a user pool's
// OpenID endpoints. AWS_ENDPOINT_URL redirects requests to AWS.
func WebClient() *http.Client {
	const timeout = 5 * time.Second
	client := &http.Client{Transport: transport(timeout), Timeout: timeout}
	if to, err := url.Parse(os.Getenv("AWS_ENDPOINT_URL")); err == nil && to.Host != "" {
		client.Transport = emulated{client.Transport, to}
	}
	return client
}

// emulated redirects requests for AWS to an emulator.
type emulated struct {
	http.RoundTripper
	to *url.URL
}

// RoundTrip implements http.RoundTripper.
func (t emulated) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Hostname(), ".amazonaws.com") {
		r = r.Clone(r.Context())
		r.URL.Scheme, r.URL.Host, r.Host = t.to.Scheme, t.to.Host, ""
	}
	return t.RoundTripper.RoundTrip(r)
}
