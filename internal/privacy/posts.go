package privacy

import (
	"context"
	"encoding/json"
	"time"

	"campaign-dispatch/internal/webhook/delivery"
)

// Post is a webhook that was posted to an endpoint of the tenant, with the endpoint's answer.
type Post struct {
	At         time.Time       `json:"at"`
	EndpointID string          `json:"endpointId"`
	Kind       delivery.Kind   `json:"kind"`
	Status     int             `json:"status,omitempty"`  // HTTP status of the answer
	Payload    json.RawMessage `json:"payload,omitempty"` // absent if only the answer contains the number
	Answer     string          `json:"answer,omitempty"`
}

func (p *person) eachPost(ctx context.Context, visit func(delivery.KeptPost) error) error {
	var found errorCollector
	for post, err := range p.Store.Outcomes.AllKeptPosts(ctx, p.tenant.ID) {
		if err != nil {
			return err
		}
		if p.sought.WrittenIn(string(post.Payload)) || p.sought.WrittenIn(post.Answer.Text) {
			found.add(visit(post))
		}
	}
	return found.err()
}

func (p *person) exportPosts(ctx context.Context, x *Export) error {
	return p.eachPost(ctx, func(k delivery.KeptPost) error {
		post := Post{At: k.At, EndpointID: k.EndpointID, Kind: k.Kind, Status: k.Status, Answer: k.Answer.Text}
		if p.sought.WrittenIn(string(k.Payload)) {
			post.Payload = k.Payload
		}
		x.Posts = append(x.Posts, post)
		return nil
	})
}

func (e *erasure) erasePosts(ctx context.Context) error {
	return e.eachPost(ctx, func(k delivery.KeptPost) error {
		return counted(e.Store.Outcomes.DeleteKeptPost(ctx, k), &e.done.Posts, 1)
	})
}
