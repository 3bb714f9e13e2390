package delivery

// NotifyTask asks to post webhooks to an endpoint: those of a delivery or of log entries. A
// task with neither asks to check the endpoint's circuit. It can arrive more than once.
type NotifyTask struct {
	DeliveryID string `json:"deliveryId,omitempty"`
	// Entries are log entries that were not posted yet, in base64; see ledger.PackNewEntries.
	// They have no delivery row.
	Entries    string `json:"entries,omitempty"`
	Tenant     string `json:"tenant"`
	EndpointID string `json:"endpointId"`
	// Receives is the number of times the task was received, including this one.
	Receives int `json:"-"`
}

// Received sets the number of times the task was received.
func (t *NotifyTask) Received(times int) { t.Receives = times }

// OfCircuit reports whether the task asks to check the endpoint's circuit.
func (t NotifyTask) OfCircuit() bool {
	return t.DeliveryID == "" && t.Entries == ""
}

// NotifyMessage is a message of the notify queue. Also lists tasks for other endpoints of
// the tenant about the same batches, so that the recipients are read once.
type NotifyMessage struct {
	NotifyTask
	Also []NotifyTask `json:"also,omitempty"`
}

// Tasks returns all tasks of the message, each with the receive count of the message.
func (m NotifyMessage) Tasks() []NotifyTask {
	tasks := append([]NotifyTask{m.NotifyTask}, m.Also...)
	for i := range tasks {
		tasks[i].Receives = m.Receives
	}
	return tasks
}
