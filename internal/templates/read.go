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

type templateAnswer struct {
	ID      string `json:"id"`
	Version int    `json:"version"`
	saved
	Variables []string  `json:"variables"`
	CreatedAt time.Time `json:"createdAt,omitzero"`
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
		Variables: append([]string{}, t.Variables()...), CreatedAt: t.CreatedAt.UTC(),
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
		carousel := content.Carousel{Width: cmp.Or(c.Carousel.Width, content.MediumWidth), Cards: []content.Card{}}
		for _, card := range c.Carousel.Cards {
			carousel.Cards = append(carousel.Cards, publishedCard(card))
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

func (s *Service) serveTemplate(w http.ResponseWriter, r *http.Request) error {
	_, t, err := s.openOwn(r, nil)
	if err != nil {
		return err
	}
	httpapi.WriteJSON(w, http.StatusOK, newAnswer(t))
	return nil
}

func (s *Service) serveVersion(w http.ResponseWriter, r *http.Request) error {
	_, newest, err := s.openOwn(r, nil)
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

var listing = httpapi.Parameters{"limit": "invalid_limit", "cursor": "invalid_cursor"}

type pageAnswer struct {
	Templates  []entryAnswer `json:"templates"`
	NextCursor string        `json:"nextCursor,omitempty"`
}

// entryAnswer is the newest version of a template, without its content.
type entryAnswer struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Version   int       `json:"version"`
	CreatedAt time.Time `json:"createdAt,omitzero"`
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
		answer.Templates[i] = entryAnswer{t.ID, t.Name, t.Version, t.CreatedAt.UTC()}
	}
	if more {
		answer.NextCursor = page[len(page)-1].ID
	}
	httpapi.WriteJSON(w, http.StatusOK, answer)
	return nil
}

// readListing returns the ID after which the page starts, and the page's length.
func readListing(query httpapi.Query) (after string, limit int, err error) {
	if limit, err = query.Limit(); err != nil {
		return "", 0, err
	}
	after, ok := campaign.ParseUUID(query.Get("cursor"))
	if !ok && query.Get("cursor") != "" {
		return "", 0, httpapi.BadRequest("invalid_cursor", httpapi.BadCursor)
	}
	return after, limit, nil
}
