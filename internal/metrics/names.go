package metrics

// Metric is something that is counted.
type Metric string

// The metrics.
const (
	TokensIssued      Metric = "TokensIssued"
	CallsRefused      Metric = "CallsRefused"   // 4xx but 429
	CallsLimited      Metric = "CallsLimited"   // 429, the service's own
	CallsFailed       Metric = "CallsFailed"    // 5xx
	CallsUncounted    Metric = "CallsUncounted" // passed though the tenant's limit could not be judged
	TasksFailed       Metric = "TasksFailed"    // they come again
	MessagesAccepted  Metric = "MessagesAccepted"
	HandoffsFailed    Metric = "HandoffsFailed" // sweep will release those batches
	MessagesSent      Metric = "MessagesSent"
	MessagesEnded     Metric = "MessagesEnded"     // not sent: refused for good, expired or stopped
	MessagesUntaken   Metric = "MessagesUntaken"   // the provider failed, they are tried again
	MessagesThrottled Metric = "MessagesThrottled" // the provider said 429, they are tried again
	EventsApplied     Metric = "EventsApplied"
	EventsDropped     Metric = "EventsDropped" // unreadable, or of messages that nobody knows
	WebhooksTaken     Metric = "WebhooksTaken"
	WebhooksRefused   Metric = "WebhooksRefused"
	WebhooksGivenUp   Metric = "WebhooksGivenUp"
	CircuitsOpened    Metric = "CircuitsOpened"
	EndpointsOff      Metric = "EndpointsOff"
	SweepFound        Metric = "SweepFound"  // batches that were left behind
	SweepFailed       Metric = "SweepFailed" // due items that could not be swept, they stay due
)
