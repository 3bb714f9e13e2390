package templates

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/httpapi"
)

// templateAnswer is a version of a template.
type templateAnswer struct {
	ID      string `json:"id"`
	Version int    `json:"version"`
	saved
	Variables []string   `json:"variables"`
	CreatedAt *time.Time `json:"createdAt,omitempty"`
}

// saved is what a client saves of a template.
type saved struct {
	Name    string           `json:"name"`
	Traffic campaign.Traffic `json:"traffic"`
	content.Content
}

func newAnswer(t campaign.Template) templateAnswer {
	return templateAnswer{
		ID: t.ID, Version: t.Version, saved: savedOf(t),
		Variables: append([]string{}, t.Variables()...), CreatedAt: instant(t.CreatedAt),
	}
}

func savedOf(t campaign.Template) saved {
	return saved{t.Name, cmp.Or(t.Traffic, campaign.Promotion), published(t.Content)}
}

// published returns the content with its defaults and without internal fields. The table
// may store a default as an absent value.
func published(c content.Content) content.Content {
	if c.Card != nil {
		card := publishedCard(*c.Card)
		c.Card = &card
	}
	if c.Carousel != nil {
		carousel := content.Carousel{Width: cmp.Or(c.Carousel.Width, content.MediumWidth), Cards: make([]content.Card, len(c.Carousel.Cards))}
		for i, card := range c.Carousel.Cards {
			carousel.Cards[i] = publishedCard(card)
		}
		c.Carousel = &carousel
	}
	return c
}

func publishedCard(c content.Card) content.Card {
	c.MediaRight = c.MediaRight && c.Horizontal
	if c.Media != nil {
		media := *c.Media
		media.Height = cmp.Or(media.Height, content.Medium)
		c.Media = &media
	}
	return c
}

func instant(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	at = at.UTC()
	return &at
}

func (s *Service) serveTemplate(w http.ResponseWriter, r *http.Request) error {
	claims, _, err := s.open(r, nil)
	if err != nil {
		return err
	}
	t, err := s.own(r, claims.Tenant)
	if err != nil {
		return err
	}
	httpapi.WriteJSON(w, http.StatusOK, newAnswer(t))
	return nil
}

func (s *Service) serveVersion(w http.ResponseWriter, r *http.Request) error {
	claims, _, err := s.open(r, nil)
	if err != nil {
		return err
	}
	newest, err := s.own(r, claims.Tenant)
	if err != nil {
		return err
	}
	number, err := strconv.Atoi(r.PathValue("version"))
	if err != nil {
		return noVersion()
	}
	t, err := s.version(r.Context(), newest, number)
	if err != nil {
		return err
	}
	httpapi.WriteJSON(w, http.StatusOK, newAnswer(t))
	return nil
}

const (
	usualLimit = 100 // default templates per page
	maxLimit   = 500
)

var listing = httpapi.Parameters{"limit": "invalid_limit", "cursor": "invalid_cursor"}

type pageAnswer struct {
	Templates  []entryAnswer `json:"templates"`
	NextCursor string        `json:"nextCursor,omitempty"`
}

// entryAnswer is the newest version of a template, without its content.
type entryAnswer struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Version   int        `json:"version"`
	CreatedAt *time.Time `json:"createdAt,omitempty"`
}

func (s *Service) serveList(w http.ResponseWriter, r *http.Request) error {
	claims, query, err := s.open(r, listing)
	if err != nil {
		return err
	}
	after, limit, err := readListing(query)
	if err != nil {
		return err
	}
	page, more, err := s.Store.TemplatePage(r.Context(), claims.Tenant, after, limit)
	if err != nil {
		return fmt.Errorf("list templates: %w", err)
	}
	answer := pageAnswer{Templates: make([]entryAnswer, len(page))}
	for i, t := range page {
		answer.Templates[i] = entryAnswer{t.ID, t.Name, t.Version, instant(t.CreatedAt)}
	}
	if more {
		answer.NextCursor = page[len(page)-1].ID
	}
	httpapi.WriteJSON(w, http.StatusOK, answer)
	return nil
}

// readListing returns the ID after which the page starts, and the page's length.
func readListing(query httpapi.Query) (after string, limit int, err error) {
	if limit, err = strconv.Atoi(cmp.Or(query.Get("limit"), strconv.Itoa(usualLimit))); err != nil || limit < 1 || limit > maxLimit {
		return "", 0, badRequest("invalid_limit", fmt.Sprintf("limit must be a number from 1 to %d.", maxLimit))
	}
	after, ok := campaign.ParseUUID(query.Get("cursor"))
	if !ok && query.Get("cursor") != "" {
		return "", 0, badRequest("invalid_cursor", "cursor must be the nextCursor of an answer to this request.")
	}
	return after, limit, nil
}
