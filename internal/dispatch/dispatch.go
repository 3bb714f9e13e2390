// Package dispatch accepts dispatch calls. It validates a call against the stored
// campaign, writes the batch in one transaction, and schedules its release.
package dispatch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/oauth/accesstoken"
	"campaign-dispatch/internal/phone/numberset"
	"campaign-dispatch/internal/port"
	"campaign-dispatch/internal/retry"
)

// MaxBody is the maximum size of a request body in bytes, decoded.
const MaxBody = 4 << 20

// Store reads and writes the rows of a dispatch call.
type Store interface {
	Snapshot(ctx context.Context, q campaign.AcceptQuery) (campaign.AcceptState, error)
	// Accept returns an error that wraps campaign.ErrLostRace if a row has changed
	// since it was read. Nothing is written then.
	Accept(ctx context.Context, a campaign.AcceptCommand, token string) error
}

// Service serves POST /api/v1/external/campaigns/dispatch and the dispatch calls of the
// dashboard.
type Service struct {
	Tokens      accesstoken.Authorizer
	Store       Store
	Blobs       port.Blobs
	Releases    port.Releases
	SeenNumbers *SeenNumbers
	Now         func() time.Time
	BaseURL     string        // configured base URL, or ""
	Lead        time.Duration // minimum time from now to a schedule
	// Grace is the time after its due time at which sweep releases a batch whose release
	// task was lost.
	Grace time.Duration
	// Limiter limits the calls of each tenant's clients; nil means no limit. Calls from
	// the dashboard are not limited.
	Limiter *Limiter
}

// call is the state of one dispatch call.
type call struct {
	tenant       string
	clientID     string // "" for a call from the dashboard
	key          string // Idempotency-Key
	bodyHash     [sha256.Size]byte
	base         string
	lines        []int // line of each message in an uploaded file, or nil
	version      int   // of the template that the call needs, 0 for any
	now          time.Time
	dryRun       bool
	scopeErr     error        // the token lacks the scope
	precheckErr  error        // invalid query, or body larger than MaxBody
	waitForCount func() error // waits for the count, see Service.limit
	req          *request
	unknown      *unknownNames // nil unless this is a dry run
	violations   violations    // found in the body alone
	times        times
	numbers      numberset.Set // accepted numbers
	bill         bill
	staged       staged
	accepted     bool
}

// ServeDispatch serves one dispatch call. A refused call returns a *httpapi.Problem.
func (s *Service) ServeDispatch(w http.ResponseWriter, r *http.Request) error {
	base := httpapi.BaseURL(r, s.BaseURL)
	claims, err := s.Tokens.Authorize(r, base, campaign.ScopeDispatch)
	if claims.ClientID == "" {
		return err
	}
	c := &call{tenant: claims.Tenant, clientID: claims.ClientID, base: base, now: s.Now(), req: &request{}, scopeErr: err}
	if c.scopeErr == nil {
		c.dryRun, c.precheckErr = isDryRun(r)
	}
	if c.scopeErr == nil && c.precheckErr == nil {
		s.receive(c, r)
	}
	body, status, err := s.decide(r.Context(), c)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, err = w.Write(body)
	return err
}

var parameters = httpapi.Parameters{"dryRun": "invalid_dry_run"}

func isDryRun(r *http.Request) (bool, error) {
	query, err := parameters.Read(r)
	if err != nil {
		return false, err
	}
	return query.Switch("dryRun")
}

// Dispatch serves a call made in the dashboard, by the same rules as a client's call
// but without a credential. base is the base URL of the service. A refused call returns the
// *httpapi.Problem that a client would get. The answer to a dry run lists all violations.
func (s *Service) Dispatch(ctx context.Context, tenant, base string, body []byte, o campaign.PageCall) ([]byte, error) {
	c := &call{tenant: tenant, base: base, lines: o.Lines, version: o.TemplateVersion, now: s.Now(), dryRun: o.DryRun, key: o.Key}
	if c.key != "" {
		c.bodyHash = sha256.Sum256(body)
	}
	s.read(c, body)
	answer, _, err := s.decide(ctx, c)
	return answer, err
}

// receive reads a client's call. It stores the violations in c; they are reported later
// because a revoked credential takes precedence and its row is not read yet.
func (s *Service) receive(c *call, r *http.Request) {
	var ok bool
	if c.key, ok = httpapi.IdempotencyKey(r.Header); !ok {
		c.violations.add("", "invalid_idempotency_key", "Idempotency-Key must have 1 to 255 visible ASCII characters")
	}
	body, err := httpapi.Body(r, MaxBody)
	if err != nil {
		c.precheckErr = err
		return
	}
	if c.dryRun {
		c.key = "" // a dry run stores no answer to repeat
	}
	if c.key != "" {
		c.bodyHash = sha256.Sum256(body)
	}
	s.read(c, body)
}

// read parses and validates the body.
func (s *Service) read(c *call, body []byte) {
	if c.dryRun {
		c.unknown = &unknownNames{}
	}
	req, found := readRequest(body, c.unknown)
	c.req, c.violations = req, append(c.violations, found...)
	var late violations
	c.times, late = req.checkTimes(c.now, s.Lead)
	c.violations = append(c.violations, late...)
	c.numbers = req.numbers()
}

// maxRaces is the maximum number of attempts after lost races.
const maxRaces = 40

// decide attempts the call until it is accepted or refused, at most maxRaces times.
func (s *Service) decide(ctx context.Context, c *call) (body []byte, status int, err error) {
	for race := range maxRaces {
		if err = retry.Wait(ctx, race); err != nil {
			break
		}
		body, status, err = s.attempt(ctx, c)
		if !errors.Is(err, campaign.ErrLostRace) {
			break
		}
	}
	if !c.accepted && !errors.Is(err, errUnsettled) {
		s.discard(ctx, c)
	}
	if problem := (*httpapi.Problem)(nil); err != nil && !errors.As(err, &problem) {
		slog.ErrorContext(ctx, "dispatch call failed", "error", err)
		return nil, 0, httpapi.TryAgain()
	}
	return body, status, err
}

// errUnsettled means that the outcome of the transaction is unknown. The staged objects
// may belong to an accepted batch.
var errUnsettled = errors.New("the outcome of the transaction is unknown")

// attempt reads and validates the call, and accepts it if there is no violation.
func (s *Service) attempt(ctx context.Context, c *call) (body []byte, status int, err error) {
	snapshot, earlier, err := s.loadState(ctx, c)
	if err != nil {
		return nil, 0, err
	}
	if !c.credentialActive(snapshot.Credential) {
		return nil, 0, accesstoken.InvalidToken()
	}
	if c.scopeErr != nil {
		return nil, 0, c.scopeErr
	}
	if err := s.limit(ctx, c, snapshot.Calls); err != nil {
		return nil, 0, err
	}
	body, status, err = s.answer(ctx, c, snapshot, earlier)
	if limited := c.waitForCount(); limited != nil {
		return nil, 0, limited
	}
	return body, status, err
}

// answer validates an authorized call, and accepts it if there is no violation.
func (s *Service) answer(ctx context.Context, c *call, snapshot campaign.AcceptState, earlier numberset.Set) (body []byte, status int, err error) {
	if c.precheckErr != nil {
		return nil, 0, c.precheckErr
	}
	if snapshot.Answer != nil {
		body, err = s.repeat(ctx, c, *snapshot.Answer)
		return body, http.StatusAccepted, err
	}
	found := validate(c, snapshot, earlier)
	if c.dryRun || len(found) == 0 {
		c.bill = price(c, snapshot)
		found = append(found, c.bill.violations()...) // after all others
	}
	if c.dryRun {
		body, err = encodeJSON(newDryAnswer(c, snapshot.Template, found))
		return body, http.StatusOK, err
	}
	if problem := found.problem(); problem != nil {
		if problem.Code == campaign.CodeBudgetExceeded {
			problem.Budget = c.bill.budget.Figures()
		}
		return nil, 0, problem
	}
	body, err = s.accept(ctx, c, snapshot)
	return body, http.StatusAccepted, err
}

// credentialActive reports whether the caller's credential is active. A call from the
// dashboard has no credential.
func (c *call) credentialActive(credential *campaign.Credential) bool {
	return c.clientID == "" || (credential != nil && !credential.Revoked() && credential.Tenant == c.tenant)
}

// loadState reads the rows that the call depends on. It also returns the
// subset of the call's numbers that earlier batches contain.
func (s *Service) loadState(ctx context.Context, c *call) (campaign.AcceptState, numberset.Set, error) {
	q := campaign.AcceptQuery{
		Tenant: c.tenant, ClientID: c.clientID, IdempotencyKey: c.key,
		TemplateID: c.req.template(), CampaignID: c.req.id(), Name: c.req.name.value,
		BatchID: campaign.BatchID(c.req.batch.value),
		Date:    localtime.Day(c.times.due),
		Calls:   s.mustCount(c),
	}
	id := campaign.ID{Tenant: c.tenant, CampaignID: q.CampaignID}
	for range maxReads {
		q.KnownSets = s.SeenNumbers.Known(id)
		snapshot, err := s.Store.Snapshot(ctx, q)
		if err != nil || snapshot.Meta == nil {
			return snapshot, nil, err
		}
		earlier, complete, err := s.SeenNumbers.Find(id, *snapshot.Meta, snapshot.Sets, c.numbers)
		if err != nil || complete {
			return snapshot, earlier, err
		}
		q.Consistent = true
	}
	return campaign.AcceptState{}, nil, fmt.Errorf("campaign %s: %w", id.CampaignID, errIncomplete)
}

// maxReads is the maximum number of reads of a call's rows while they and the sets show
// different batches. An eventually consistent read may miss the newest set, and a
// consistent read may miss a set, or return one, that is added between the reads.
const maxReads = 4

var errIncomplete = errors.New("a set of numbers is missing")

// repeat returns the stored answer of an idempotency key.
func (s *Service) repeat(ctx context.Context, c *call, a campaign.Answer) ([]byte, error) {
	if !bytes.Equal(a.BodyHash, c.bodyHash[:]) {
		return nil, &httpapi.Problem{
			Status: http.StatusUnprocessableEntity, Code: "idempotency_key_reused",
			Detail: "This Idempotency-Key was used with another body. Use a new key for a new call.",
		}
	}
	if a.BlobKey == "" {
		return a.Body, nil
	}
	body, err := s.Blobs.Get(ctx, a.BlobKey)
	if err != nil {
		return nil, fmt.Errorf("get the stored answer of an idempotency key: %w", err)
	}
	return body, nil
}
