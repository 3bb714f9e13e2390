package webhooks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/webhook"
	"campaign-dispatch/internal/webhook/delivery"
)

type postDetails struct {
	view
	Post    row
	Header  []headerLine
	Payload string // formatted JSON
	Answer  string // without control characters
	Once    string
}

type headerLine struct{ Name, Value string }

func (s *Pages) showPost(p *web.Page, e delivery.Endpoint) error {
	place, err := readPlace(p.R.PathValue("post"))
	if err != nil || place == (delivery.Place{}) {
		return campaign.ErrNotFound
	}
	a, err := s.attempt(p.R.Context(), e, place)
	if err != nil {
		return err
	}
	rows, err := s.rows(p, e, []attempt{a})
	if err != nil {
		return err
	}
	return p.Render("webhooks.post", "webhooks_post.html", postDetails{
		s.view(e, delivery.Circuit{}), rows[0], headerOf(a), indented(a.Payload), printable(a.Answer.Text), web.FormToken(),
	})
}

// attempt reads the attempt at a place. The error wraps campaign.ErrNotFound if it is not stored.
func (s *Pages) attempt(ctx context.Context, e delivery.Endpoint, at delivery.Place) (attempt, error) {
	post, errOfPost := s.Store.KeptPost(ctx, e.Tenant, e.ID, at.WebhookID, at.At)
	if campaign.IgnoreNotFound(errOfPost) != nil {
		return attempt{}, errOfPost
	}
	a := attempt{KeptPost: post, Kept: errOfPost == nil}
	f, err := s.Store.Failure(ctx, e.Tenant, e.ID, at.WebhookID, at.At)
	if errors.Is(err, campaign.ErrNotFound) {
		return a, errOfPost
	}
	a.addFailure(f)
	return a, err
}

// headerOf returns the headers of an attempt but its signature, in order.
func headerOf(a attempt) (lines []headerLine) {
	header := webhook.Header(a.WebhookID, a.At)
	for _, name := range slices.Sorted(maps.Keys(header)) {
		lines = append(lines, headerLine{strings.ToLower(name), header.Get(name)})
	}
	return lines
}

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

// day counts the posts to an endpoint in the last 24 hours, as a bar chart.
type day struct {
	Hours            []bar
	Accepted, Failed int
	Most             int // posts of the busiest hour
}

// bar is one hour of the chart, in units of the drawing.
type bar struct {
	delivery.HourlyPosts
	X                         int
	AcceptedY, AcceptedHeight int
	FailedY, FailedHeight     int
	Labelled                  bool
}

// The drawing has 24 bars of barWidth. The busiest hour has the full height.
const (
	hours     = 24
	barStep   = 30
	barHeight = 120
	labelEach = 6
)

// Any reports whether there were posts.
func (d day) Any() bool { return d.Accepted+d.Failed > 0 }

// day reads the last 24 hours, including the current one.
func (s *Pages) day(ctx context.Context, e delivery.Endpoint) (day, error) {
	first := s.Now().Truncate(time.Hour).Add(-(hours - 1) * time.Hour)
	posts, err := s.Store.HourlyPosts(ctx, e.Tenant, e.ID, first)
	if err != nil {
		return day{}, err
	}
	return chart(first, posts), nil
}

// chart draws the hours from first on.
func chart(first time.Time, posts []delivery.HourlyPosts) day {
	d := day{Hours: make([]bar, hours)}
	for i := range d.Hours {
		d.Hours[i].Hour = first.Add(time.Duration(i) * time.Hour)
	}
	for _, p := range posts {
		i := int(p.Hour.Sub(first) / time.Hour)
		if i < 0 || i >= hours {
			continue
		}
		d.Hours[i].HourlyPosts = p
		d.Accepted, d.Failed, d.Most = d.Accepted+p.Accepted, d.Failed+p.Failed, max(d.Most, p.Accepted+p.Failed)
	}
	for i := range d.Hours {
		d.Hours[i].draw(i, d.Most)
	}
	return d
}

// draw places the hour's bar: delivered posts at the bottom, failed ones above. A count
// above zero is always visible.
func (b *bar) draw(i, most int) {
	b.X, b.Labelled = i*barStep, i%labelEach == 0
	height := func(n int) int {
		if n == 0 {
			return 0
		}
		return max(2, n*barHeight/most)
	}
	b.AcceptedHeight, b.FailedHeight = height(b.Accepted), height(b.Failed)
	b.AcceptedY = barHeight - b.AcceptedHeight
	b.FailedY = b.AcceptedY - b.FailedHeight
}
