package metrics

// Metric is the name of a metric.
type Metric string

// The metrics.
const (
	TokensIssued      Metric = "TokensIssued"
	CallsRefused      Metric = "CallsRefused"   // 4xx except 429
	CallsLimited      Metric = "CallsLimited"   // 429 by this service
	CallsFailed       Metric = "CallsFailed"    // 5xx
	CallsUncounted    Metric = "CallsUncounted" // accepted without a check of the tenant's limit, because the check failed
	TasksFailed       Metric = "TasksFailed"    // retried
	MessagesAccepted  Metric = "MessagesAccepted"
	HandoffsFailed    Metric = "HandoffsFailed" // batches left to sweep
	MessagesSent      Metric = "MessagesSent"
	MessagesEnded     Metric = "MessagesEnded"     // refused, expired or stopped before sending
	MessagesUntaken   Metric = "MessagesUntaken"   // transient failures, retried
	MessagesThrottled Metric = "MessagesThrottled" // 429 by the provider, retried
	EventsApplied     Metric = "EventsApplied"
	EventsDropped     Metric = "EventsDropped" // unreadable, or of unknown messages
	WebhooksTaken     Metric = "WebhooksTaken"
	WebhooksRefused   Metric = "WebhooksRefused"
	WebhooksGivenUp   Metric = "WebhooksGivenUp"
	CircuitsOpened    Metric = "CircuitsOpened"
	EndpointsOff      Metric = "EndpointsOff"
	ExportsCompleted  Metric = "ExportsCompleted"
	SubmissionsSent   Metric = "SubmissionsSent"
	SubmissionsFailed Metric = "SubmissionsFailed" // the file could not be read
	ExportsFailed     Metric = "ExportsFailed"     // the data could not be read
	SweepFound        Metric = "SweepFound"        // lost work found
	SweepFailed       Metric = "SweepFailed"       // due items that failed; they stay due
)
