package webhooks

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/webhook/delivery"
)

// shownPosts is the number of kept posts on an endpoint's page.
const shownPosts = 20

// kept is a kept post in the reader's language.
type kept struct {
	delivery.KeptPost
	Reason string
	Number int    // of the attempt, from 1
	Millis int    // duration of the attempt
	Path   string // of its page
}

func newKept(p *web.Page, post delivery.KeptPost) kept {
	return kept{
		post, reason(p, post.Status, post.Code), post.Attempt + 1, int(post.Took.Milliseconds()),
		postPath(post.EndpointID, post.WebhookID, post.At),
	}
}

// postPath returns the path of a kept post's page.
func postPath(endpointID, webhookID string, at time.Time) string {
	return Path + "/" + endpointID + "/posts/" + strconv.FormatInt(at.UnixMilli(), 10) + "-" + webhookID
}

// posts returns the last kept posts to an endpoint.
func (s *Pages) posts(p *web.Page, e delivery.Endpoint) (shown []kept, err error) {
	posts, err := s.Store.KeptPosts(p.R.Context(), e.Tenant, e.ID, shownPosts)
	for _, post := range posts {
		shown = append(shown, newKept(p, post))
	}
	return shown, err
}

// postDetails is the data of a kept post's page.
type postDetails struct {
	view
	Post    kept
	Payload string // formatted JSON
	Answer  string // without control characters
}

// showPost shows a kept post with its payload and its answer.
func (s *Pages) showPost(p *web.Page, e delivery.Endpoint) error {
	millis, id, _ := strings.Cut(p.R.PathValue("post"), "-")
	at, err := strconv.ParseInt(millis, 10, 64)
	if err != nil || len(id) > maxWebhookID {
		return campaign.ErrNotFound
	}
	post, err := s.Store.KeptPost(p.R.Context(), e.Tenant, e.ID, id, time.UnixMilli(at))
	if err != nil {
		return err
	}
	return p.Render("webhooks.post", "webhooks_post.html", postDetails{
		s.view(e, delivery.Circuit{}), newKept(p, post), indented(post.Payload), printable(post.Answer.Text),
	})
}

// indented formats JSON.
func indented(payload []byte) string {
	var out bytes.Buffer
	if err := json.Indent(&out, payload, "", "  "); err != nil {
		return string(payload)
	}
	return out.String()
}

// printable replaces characters that cannot be seen, such as those that change the order of
// a text.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) || r == '\n' || r == '\r' || r == '\t' {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}
