package sim

import (
	"net/http"
	"regexp"
	"strings"
	"time"

	"campaign-dispatch/internal/base/retry"
)

var (
	e164   = regexp.MustCompile(`^\+[1-9]\d{6,14}$`)
	uuidV4 = regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-4[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}$`)
)

// recipient returns the phone number and the authorized agent of a request.
func (s *Sim) recipient(r *http.Request) (phone, agentID string, err error) {
	agentID, err = s.authorize(r, r.URL.Query().Get("agentId"))
	if err != nil {
		return "", "", err
	}
	phone = strings.Clone(r.PathValue("phone"))
	if !e164.MatchString(phone) {
		return "", "", invalid("The phone number is not in E.164.")
	}
	return phone, agentID, nil
}

func (s *Sim) createMessage(w http.ResponseWriter, r *http.Request) error {
	phone, agentID, err := s.recipient(r)
	if err != nil {
		return err
	}
	id := strings.Clone(r.URL.Query().Get("messageId"))
	if !uuidV4.MatchString(id) {
		return invalid("messageId is required, a UUID.")
	}
	content, err := readAgentMessage(w, r)
	if err != nil {
		return err
	}
	m := record{Message: Message{MessageID: id, Phone: phone, Text: content.text()}, content: content.ContentMessage}
	return s.send(w, r, messageKey{agentID, strings.ToLower(id)}, m, content.lifetime())
}

// send makes an attempt, waits for the latency and writes the response. A client that
// times out before the response does not learn the result.
func (s *Sim) send(w http.ResponseWriter, r *http.Request, key messageKey, m record, ttl time.Duration) error {
	b, f := s.behaviour.Load(), s.fateOf(m.Phone)
	answerLost := false
	now := s.options.Now()
	accepted, err := s.messages.attempt(key, m, now, func(attempt int) error {
		answerLost = f.answerLost && attempt == 1
		return s.failure(b, f, attempt)
	})
	if accepted != nil {
		s.scheduleEvents(key, accepted, f, ttl, reactionOf(f, m.content)) //nolint:contextcheck // the events follow after the response
	}
	_ = retry.Sleep(r.Context(), time.Duration(b.LatencyMs)*time.Millisecond) // ends early if the client disconnects
	if answerLost {
		panic(http.ErrAbortHandler)
	}
	if err == nil && accepted == nil && f.conflicts {
		err = &apiError{Code: http.StatusConflict, Message: "Requested entity already exists."}
	}
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, map[string]string{
		"name":     "phones/" + m.Phone + "/agentMessages/" + m.MessageID,
		"sendTime": now.UTC().Format(time.RFC3339Nano),
	})
	return nil
}

// failure returns the error of an attempt that the number's fate or the behaviour selects.
func (s *Sim) failure(b *Behaviour, f fate, attempt int) error {
	if attempt <= f.failures {
		return &apiError{Code: f.status, Message: f.message}
	}
	switch chance := s.options.Random(); {
	case chance < b.ErrorRate:
		return &apiError{Code: http.StatusServiceUnavailable, Message: "The service is currently unavailable."}
	case chance < b.ErrorRate+b.ThrottleRate:
		return &apiError{Code: http.StatusTooManyRequests, Message: "Resource has been exhausted."}
	}
	return nil
}

// revokeMessage returns 200 for delivered messages too. Only the event shows whether the message was revoked.
func (s *Sim) revokeMessage(w http.ResponseWriter, r *http.Request) error {
	_, agentID, err := s.recipient(r)
	if err != nil {
		return err
	}
	key := messageKey{agentID, strings.ToLower(r.PathValue("id"))}
	if !s.revoke(key) {
		return &apiError{Code: http.StatusNotFound, Message: "Requested entity was not found."}
	}
	writeJSON(w, http.StatusOK, struct{}{})
	return nil
}

const maxUsers = 10000

func (s *Sim) reachableUsers(w http.ResponseWriter, r *http.Request) error {
	var query struct {
		Users   []string `json:"users"`
		AgentID string   `json:"agentId"`
	}
	if err := readJSON(w, r, 1<<20, &query); err != nil {
		return err
	}
	if _, err := s.authorize(r, query.AgentID); err != nil {
		return err
	}
	if len(query.Users) > maxUsers {
		return invalid("At most %d users.", maxUsers)
	}
	reachable := []string{}
	for _, phone := range query.Users {
		if e164.MatchString(phone) && s.fateOf(phone).status != http.StatusNotFound {
			reachable = append(reachable, phone)
		}
	}
	writeJSON(w, http.StatusOK, map[string][]string{"reachableUsers": reachable})
	return nil
}
