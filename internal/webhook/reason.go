package webhook

// reasons say what the codes mean, to a person.
var reasons = map[string]string{
	"opted_out":          "The recipient has opted out of messages.",
	"unreachable":        "The number cannot be reached by RCS.",
	"unsupported":        "The recipient's device or the provider does not support the message.",
	"agent_not_launched": "The sender may not send to this number yet.",
	"rejected":           "The provider refused the message.",
	"cancelled":          "The campaign was cancelled before the message was sent.",
	"revoked":            "The message was taken back before it was delivered.",
	"not_after_passed":   "The time until which the message might be sent has passed.",
	"no_answer":          "The provider never told what became of the message.",
	"ttl_passed":         "The message could not be delivered in time.",
}

// Reason returns the sentence of a code, or a general one.
func Reason(code string) string {
	if r := reasons[code]; r != "" {
		return r
	}
	return "The message could not be delivered."
}
