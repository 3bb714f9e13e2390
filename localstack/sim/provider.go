package sim

import (
	"net/http"
	"regexp"
	"strings"
	"time"
)

var (
	e164   = regexp.MustCompile(`^\+[1-9]\d{6,14}$`)
	uuidV4 = regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-4[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}$`)
)

// features are what every simulated device can do.
var features = []string{
	"RICHCARD_STANDALONE", "RICHCARD_CAROUSEL", "ACTION_CREATE_CALENDAR_EVENT", "ACTION_DIAL",
	"ACTION_OPEN_URL", "ACTION_SHARE_LOCATION", "ACTION_VIEW_LOCATION", "REVOCATION",
}

// recipient checks what all requests about one number have in common, and
// returns the number and the agent that asks.
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
	m := Message{MessageID: id, Phone: phone, Text: content.text()}
	return s.send(w, r, messageKey{agentID, strings.ToLower(id)}, m, content.lifetime())
}

// send settles an attempt, and answers after the latency: a caller that did not
// wait cannot know what became of its message.
func (s *Sim) send(w http.ResponseWriter, r *http.Request, key messageKey, m Message, ttl time.Duration) error {
	b, f := s.behaviour.Load(), s.fateOf(m.Phone)
	cut := false
	now := s.options.Now()
	accepted, err := s.messages.attempt(key, m, now, func(attempt int) error {
		cut = f.cut && attempt == 1
		return s.judge(b, f, attempt)
	})
	if accepted != nil {
		s.announce(key, accepted, f, ttl)
	}
	wait(r, time.Duration(b.LatencyMs)*time.Millisecond)
	if cut {
		panic(http.ErrAbortHandler)
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

// judge returns the error of an attempt, by the number's fate and the
// provider's behaviour.
func (s *Sim) judge(b *Behaviour, f fate, attempt int) error {
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

// wait returns after the time, or when the client is gone.
func wait(r *http.Request, d time.Duration) {
	if d == 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	}
}

// revokeMessage answers the same whether or not it was in time: the event tells.
func (s *Sim) revokeMessage(w http.ResponseWriter, r *http.Request) error {
	_, agentID, err := s.recipient(r)
	if err != nil {
		return err
	}
	key := messageKey{agentID, strings.ToLower(r.PathValue("id"))}
	if !s.takeBack(key) {
		return &apiError{Code: http.StatusNotFound, Message: "Requested entity was not found."}
	}
	writeJSON(w, http.StatusOK, struct{}{})
	return nil
}

func (s *Sim) capabilities(w http.ResponseWriter, r *http.Request) error {
	phone, _, err := s.recipient(r)
	if err != nil {
		return err
	}
	if r.URL.Query().Get("requestId") == "" {
		return invalid("requestId is required.")
	}
	if f := s.fateOf(phone); f.status == http.StatusNotFound {
		return &apiError{Code: f.status, Message: f.message}
	}
	writeJSON(w, http.StatusOK, map[string][]string{"features": features})
	return nil
}

// maxUsers is the number of phone numbers that one users:batchGet may ask for.
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
