package campaign

// Why returns the code and the reason, a sentence, of a message that ended undelivered.
// Both are empty for other outcomes. A change without a code gets the default code of its
// outcome.
func (c Change) Why() (code, reason string) {
	switch c.Outcome {
	case OutcomeSent, OutcomeDelivered, OutcomeRead, OutcomeTapped, OutcomeClicked:
		return "", ""
	case OutcomeRevoked:
		return CodeRevoked, reasonOf(CodeRevoked)
	case OutcomeStopped:
		code = CodeCancelled
	case OutcomeExpired:
		code = CodeTTLPassed
	case OutcomeFailed:
		code = CodeFailed
	}
	if c.Code != "" {
		code = c.Code
	}
	return code, reasonOf(code)
}

func reasonOf(code string) string {
	row, _ := DescribeCode(code)
	return row.Reason.English
}
