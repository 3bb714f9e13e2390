// Package link serves the links that count clicks: it redirects each to the URL that the
// message's suggestion was sent with, and queues the click.
package link

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/campaign/reaction"
)

// Store reads batches and templates.
type Store interface {
	port.SentBatches

	// FindBatch returns the batch with a key. The error wraps campaign.ErrNotFound if there is none.
	FindBatch(ctx context.Context, key campaign.BatchKey) (campaign.Batch, error)
}

// Service serves links.
type Service struct {
	Store  Store
	Blobs  payload.Blobs
	Events port.Queue
	Now    func() time.Time

	templates port.Templates
}

// queueFor is the timeout of queueing a click. The recipient waits for it.
const queueFor = 2 * time.Second

// errInvalid reports a link that this service did not make. Its batch may also be deleted.
var errInvalid = errors.New("no such link")

// errGone reports a link whose message is erased or expired.
var errGone = errors.New("the link has ended")

// ServeLink redirects the link with the path value "token". It answers 404 for links that
// this service did not make, and 410 for erased and expired messages.
func (s *Service) ServeLink(w http.ResponseWriter, r *http.Request) error {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	l, b, err := s.find(r.Context(), r.PathValue("token"))
	var target string
	if err == nil {
		target, err = s.target(r.Context(), l, b)
	}
	switch {
	case errors.Is(err, errInvalid):
		writePage(w, http.StatusNotFound, "Este link não existe.")
		return nil
	case errors.Is(err, errGone):
		writePage(w, http.StatusGone, "Este link não está mais disponível.")
		return nil
	case err != nil:
		return err
	}
	if byPerson(r) {
		s.queueClick(r.Context(), l, b)
	}
	http.Redirect(w, r, target, http.StatusFound) //nolint:gosec // the URL of the message, which its token proves
	return nil
}

func (s *Service) find(ctx context.Context, token string) (l reaction.Tap, b campaign.Batch, err error) {
	l, proof, ok := reaction.ParseLinkToken(token)
	if !ok {
		return l, b, errInvalid
	}
	b, err = s.Store.FindBatch(ctx, l.Key)
	switch {
	case errors.Is(err, campaign.ErrExpired):
		return l, b, errGone
	case errors.Is(err, campaign.ErrNotFound):
		return l, b, errInvalid
	case err != nil:
		return l, b, fmt.Errorf("read the batch of a link: %w", err)
	case !reaction.ProvesLink(b, l, proof):
		return l, b, errInvalid
	case !b.ExpiresAt().After(s.Now()):
		return l, b, errGone
	}
	return l, b, nil
}

func (s *Service) target(ctx context.Context, l reaction.Tap, b campaign.Batch) (string, error) {
	template, err := s.templates.OfBatch(ctx, s.Store, b, s.Now())
	var m campaign.Message
	if err == nil {
		m, err = payload.LatestMessage(ctx, s.Store.Batch, s.Blobs, b, l.Index) // not cached: an erasure ends it
	}
	switch {
	case errors.Is(err, campaign.ErrNotFound):
		return "", errGone
	case err != nil:
		return "", fmt.Errorf("read the message of a link: %w", err)
	case m.Erased():
		return "", errGone
	}
	sent := template.Render(m.Values)
	target := sent.Target(l.Suggestion)
	if target == "" || sent.Unsendable() != "" {
		return "", errInvalid
	}
	return target, nil
}

// queueClick queues the click. The recipient is redirected even if that fails.
func (s *Service) queueClick(ctx context.Context, l reaction.Tap, b campaign.Batch) {
	ctx, cancel := context.WithTimeout(ctx, queueFor)
	defer cancel()
	task := reaction.EventTask{
		Kind: reaction.EventClick, AgentID: b.AgentID, MessageID: b.Key.MessageID(l.Index), Suggestion: l.Suggestion, At: s.Now().UTC(),
	}
	if err := port.Send(ctx, s.Events, "", task, 0); err != nil {
		slog.ErrorContext(ctx, "click not counted", "batch_id", b.BatchID, "error", err)
	}
}

func writePage(w http.ResponseWriter, status int, sentence string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'")
	w.WriteHeader(status)
	const page = `<!doctype html><html lang="pt-BR"><meta name="viewport" content="width=device-width"><title>%s</title><p>%[1]s</p></html>`
	_, _ = fmt.Fprintf(w, page+"\n", sentence)
}
