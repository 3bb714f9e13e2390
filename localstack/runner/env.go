package runner

import (
	"path/filepath"
	"strings"

	"campaign-dispatch/localstack/stackenv"
)

// addresses returns the stack.env entries of the addresses and the deployment's outputs.
func (s Stack) addresses(outputs map[string]string) stackenv.Env {
	env := s.aws()
	env["STACK_NAME"] = s.Name
	env["BASE_URL"] = url(s.Ports.Base)
	env["RCS_URL"] = url(s.Ports.RCS)
	env["WEBHOOK_SINK_URL"] = url(s.Ports.Sink)
	env["LOCAL_WEBHOOKS"] = "1"  // allows endpoints on this machine
	env["LOCAL_PASSWORDS"] = "1" // prints passwords, because the emulator sends no mail
	if python, err := filepath.Abs(filepath.Join(s.venv(), "bin", "python")); err == nil {
		env["PYTHON"] = python // has the packages of requirements.txt
	}
	for key, output := range map[string]string{
		"AUTH_TABLE":               "AuthTableName",
		"CAMPAIGNS_TABLE":          "CampaignsTableName",
		"OUTCOMES_TABLE":           "OutcomesTableName",
		"WEBHOOKS_TABLE":           "WebhooksTableName",
		"BUCKET":                   "BucketName",
		"MEDIA_BUCKET":             "MediaBucketName",
		"MEDIA_URL":                "MediaUrl",
		"RELEASE_QUEUE_URL":        "ReleaseQueueUrl",
		"SEND_QUEUE_URL":           "SendQueueUrl",
		"RELEASE_DEAD_LETTERS_URL": "ReleaseDeadLettersUrl",
		"SEND_DEAD_LETTERS_URL":    "SendDeadLettersUrl",
		"EVENTS_QUEUE_URL":         "EventsQueueUrl",
		"NOTIFY_QUEUE_URL":         "NotifyQueueUrl",
		"REVOKE_QUEUE_URL":         "RevokeQueueUrl",
		"EXPORTS_QUEUE_URL":        "ExportsQueueUrl",
		"EXPORTS_DEAD_LETTERS_URL": "ExportsDeadLettersUrl",
		"INTAKE_QUEUE_URL":         "IntakeQueueUrl",
		"INTAKE_DEAD_LETTERS_URL":  "IntakeDeadLettersUrl",
		"EVENTS_DEAD_LETTERS_URL":  "EventsDeadLettersUrl",
		"NOTIFY_DEAD_LETTERS_URL":  "NotifyDeadLettersUrl",
		"REVOKE_DEAD_LETTERS_URL":  "RevokeDeadLettersUrl",
		"FEED_DEAD_LETTERS_URL":    "FeedDeadLettersUrl",
		"SIGNING_KEY_ID":           "SigningKeyId",
		"SESSION_KEY_ID":           "SessionKeyId",
		"SCHEDULE_GROUP":           "ScheduleGroupName",
		"USER_POOL_ID":             "UserPoolId",
		"DASHBOARD_URL":            "DashboardUrl",
		"DASHBOARD_FUNCTION":       "DashboardFunctionName",
		"TOKEN_FUNCTION":           "TokenFunctionName",
		"DISPATCH_FUNCTION":        "DispatchFunctionName",
		"CAMPAIGNS_FUNCTION":       "CampaignsFunctionName",
		"RELEASE_FUNCTION":         "ReleaseFunctionName",
		"SEND_FUNCTION":            "SendFunctionName",
		"SWEEP_FUNCTION":           "SweepFunctionName",
		"EVENTS_FUNCTION":          "EventsFunctionName",
		"OUTCOMES_FUNCTION":        "OutcomesFunctionName",
		"NOTIFY_FUNCTION":          "NotifyFunctionName",
		"REVOKE_FUNCTION":          "RevokeFunctionName",
		"EXPORTS_FUNCTION":         "ExportsFunctionName",
		"INTAKE_FUNCTION":          "IntakeFunctionName",
		"FEED_FUNCTION":            "FeedFunctionName",
	} {
		env[key] = outputs[output]
	}
	env["EVENTS_URL"] = functionURL(s.Ports.AWS, outputs["EventsUrl"])
	return env
}

// functionURL returns the emulator's address of a function URL, without a trailing
// slash. The address has the id in its path because not every client resolves the
// emulator's host names.
func functionURL(port int, output string) string {
	_, host, _ := strings.Cut(output, "://")
	id, _, _ := strings.Cut(host, ".")
	return url(port) + "/_aws/lambda-url/" + id
}

func (s Stack) writeEnv(env stackenv.Env) error { return writeFile(s.EnvFile(), env.String()) }
