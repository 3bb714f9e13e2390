// Package app configures and starts the Lambda functions. Each is wired in its main. The packages below this one have
// what several mains share, so that a binary holds only what it uses.
package app

import (
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/aws/config"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/base/metrics"
	"campaign-dispatch/internal/base/trace"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/dispatch/acceptance"
)

// Start runs the handler that wire returns, and does not return. Logs go to standard
// error, and the metrics of each call to standard output. Without TRACED=1 it adds nothing to traces and passes none on.
func Start(wire func(c Config) lambda.Handler) {
	c := FromEnv()
	if c.Local {
		content.AllowLoopback()
	}
	slog.SetDefault(config.Logger(os.Stderr, c.LogLevel))
	counted := metrics.NewHandler(wire(c).Invoke, os.Stdout, time.Now)
	if os.Getenv("TRACED") == "1" {
		lambda.Start(trace.NewHandler(counted.Invoke, trace.ToDaemon(os.Getenv("AWS_XRAY_DAEMON_ADDRESS")), time.Now))
	}
	lambda.Start(counted)
}

// Tables returns the tables that the environment names.
func (c Config) Tables() dynamo.Tables {
	return dynamo.FromEnv(dynamodb.NewFromConfig(c.AWS), os.Getenv, time.Now)
}

// Config is the environment of a function. Settings that template.yaml does not give the function are empty.
type Config struct {
	AWS   aws.Config
	Local bool // AWS is an emulator
	// LocalWebhooks allows webhooks to endpoints on this machine. It is false on AWS.
	LocalWebhooks bool
	LogLevel      string
	BaseURL       string // of the API and the dashboard, without a trailing slash; may be empty
	Bucket        string
	MediaBucket   string // of the files that messages show
	RCSURL        string
	LinkURL       string // base URL of links that count clicks, without a trailing slash; "" for none

	EventsQueueURL, NotifyQueueURL, ReleaseQueueURL, RevokeQueueURL, SendQueueURL string
	ExportsQueueURL, IntakeQueueURL, FeedDeadLettersURL                           string

	ScheduleGroup, ScheduleRoleARN, ReleaseQueueARN string
	TicketTopicARN                                  string // of the operators, "" for none

	SigningKeyID, PreviousSigningKeyID string
	SessionKeyID, PreviousSessionKeyID string
	KeysSwitchAt                       time.Time // when the keys replace the previous ones, zero for no rotation

	SignInIssuer, SignInClientID, SignInOrigin string
	UserPoolID                                 string

	MinLead    time.Duration // between a dispatch call and the start of a scheduled batch
	SweepAfter time.Duration // how long a batch may stay unfinished before sweep checks it
	WavesFrom  int           // see intake.Worker
	// TenantDispatch limits the dispatch calls of a tenant.
	TenantDispatch acceptance.CallLimit
	// TenantRead limits the requests of a tenant that read, in each process of the campaigns function.
	TenantRead acceptance.CallLimit
}

// FromEnv returns the Config of the process. A number that is missing or malformed has the default of template.yaml.
func FromEnv() Config {
	local := config.Local()
	return Config{
		AWS: config.FromEnv(), Local: local,
		LocalWebhooks: local && os.Getenv("LOCAL_WEBHOOKS") == "1",
		LogLevel:      os.Getenv("AWS_LAMBDA_LOG_LEVEL"),
		BaseURL:       os.Getenv("BASE_URL"),
		Bucket:        os.Getenv("BUCKET"),
		MediaBucket:   os.Getenv("MEDIA_BUCKET"),
		RCSURL:        os.Getenv("RCS_URL"),
		LinkURL:       os.Getenv("LINK_URL"),

		EventsQueueURL: os.Getenv("EVENTS_QUEUE_URL"), NotifyQueueURL: os.Getenv("NOTIFY_QUEUE_URL"),
		ReleaseQueueURL: os.Getenv("RELEASE_QUEUE_URL"), RevokeQueueURL: os.Getenv("REVOKE_QUEUE_URL"),
		SendQueueURL: os.Getenv("SEND_QUEUE_URL"), FeedDeadLettersURL: os.Getenv("FEED_DEAD_LETTERS_URL"),
		ExportsQueueURL: os.Getenv("EXPORTS_QUEUE_URL"), IntakeQueueURL: os.Getenv("INTAKE_QUEUE_URL"),

		ScheduleGroup: os.Getenv("SCHEDULE_GROUP"), ScheduleRoleARN: os.Getenv("SCHEDULE_ROLE_ARN"),
		ReleaseQueueARN: os.Getenv("RELEASE_QUEUE_ARN"), TicketTopicARN: os.Getenv("TICKET_TOPIC_ARN"),

		SigningKeyID: os.Getenv("SIGNING_KEY_ID"), PreviousSigningKeyID: os.Getenv("PREVIOUS_SIGNING_KEY_ID"),
		SessionKeyID: os.Getenv("SESSION_KEY_ID"), PreviousSessionKeyID: os.Getenv("PREVIOUS_SESSION_KEY_ID"),
		KeysSwitchAt: timeIn("SIGNING_KEYS_SWITCH_AT"),

		SignInIssuer: os.Getenv("SIGN_IN_ISSUER"), SignInClientID: os.Getenv("SIGN_IN_CLIENT_ID"),
		SignInOrigin: os.Getenv("SIGN_IN_ORIGIN"), UserPoolID: os.Getenv("USER_POOL_ID"),

		MinLead:    seconds("MIN_LEAD_SECONDS", 300),
		SweepAfter: seconds("SWEEP_AFTER_SECONDS", 600),
		WavesFrom:  number("WAVES_FROM", 100_000),
		TenantDispatch: acceptance.CallLimit{
			Rate: number("TENANT_DISPATCH_RATE", 25), Burst: number("TENANT_DISPATCH_BURST", 50),
		},
		TenantRead: acceptance.CallLimit{Rate: number("TENANT_READ_RATE", 20), Burst: number("TENANT_READ_RATE", 20)},
	}
}

// SweepDelay returns how long after its due time sweep releases a batch whose release task was lost.
func (c Config) SweepDelay() time.Duration { return min(c.SweepAfter, 2*time.Minute) }

// timeIn returns the instant of the variable (RFC 3339), or the zero time.
func timeIn(variable string) time.Time {
	at, err := time.Parse(time.RFC3339, os.Getenv(variable))
	if err != nil {
		return time.Time{}
	}
	return at
}

func seconds(variable string, fallback int) time.Duration {
	return time.Duration(number(variable, fallback)) * time.Second
}

func number(variable string, fallback int) int {
	n, err := strconv.Atoi(os.Getenv(variable))
	if err != nil {
		return fallback
	}
	return n
}
