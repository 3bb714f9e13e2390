// Package dispatch accepts dispatch calls: it judges a call by the rows that it
// rests on, writes all of it or nothing in one transaction, and hands the batch
// on to be released.
package dispatch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/oauth/accesstoken"
	"campaign-dispatch/internal/phone/numberset"
	"campaign-dispatch/internal/retry"
)

// MaxBody is the size of a request's body in bytes, decoded, that is read.
const MaxBody = 4 << 20

// Store reads and writes what a dispatch call rests on.
type Store interface {
	Snapshot(ctx context.Context, q campaign.AcceptQuery) (campaign.AcceptState, error)
	// Accept returns an error that wraps campaign.ErrLostRace when nothing was
	// written because a row has changed since it was read.
	Accept(ctx context.Context, a campaign.AcceptCommand, token string) error
	// AddCall counts a call in the tenant's bucket as it was read, or returns the
	// bucket as it is now.
	AddCall(ctx context.Context, tenant string, read campaign.CallBucket, l campaign.CallLimit, now time.Time) (current campaign.CallBucket, counted bool, err error)
}

// Blobs keeps payloads, error files and long answers.
type Blobs interface {
	Put(ctx context.Context, key string, body []byte, contentType string) error
	Get(ctx context.Context, key string) ([]byte, error)
	Delete(ctx context.Context, key string) error
}

// Tokens tells whose a request's access token is; beside the error of a token
// that lacks the scope stand its claims.
type Tokens interface {
	Authorize(r *http.Request, issuer, scope string) (accesstoken.Claims, error)
}

// Releases passes an accepted batch on to be released when it is due.
type Releases interface {
	Schedule(ctx context.Context, b campaign.Batch) error
}

// Service answers POST /api/v1/external/campaigns/dispatch, and the same calls made
// in the dashboard.
type Service struct {
	Tokens      Tokens
	Store       Store
	Blobs       Blobs
	Releases    Releases
	SeenNumbers *SeenNumbers
	Now         func() time.Time
	Random      io.Reader
	BaseURL     string        // configured address of the service, or ""
	Lead        time.Duration // a schedule is at least this far ahead
	// Grace is how long after its due time an unreleased batch is left to the
	// hand-off before sweep takes care of it.
	Grace time.Duration
	// Limiter limits the calls of each tenant's clients, nil for no limit. People's
	// calls are not limited.
	Limiter *Limiter
}

// call is one dispatch call on its way through the rules.
type call struct {
	tenant   string
	clientID string // of the credential, "" for a person who has signed in
	key      string // Idempotency-Key
	bodyHash [sha256.Size]byte
	base     string
	lines    []int // where the messages stand for a person, nil for their positions
	now      time.Time
	dryRun   bool
	unscoped error        // the answer to a token without the scope
	unfit    error        // the answer to a mistyped query, or to a body over MaxBody
	counted  func() error // waits until the call is counted, see Service.limit
	req      *request
	unknown  *unknownNames // of a dry run, else nil
	wrong    violations    // of the body alone
	times    times
	numbers  numberset.Set // the accepted ones
	staged   staged
	accepted bool
}

// ServeDispatch answers one dispatch call, or returns the *httpapi.Problem to
// answer.
func (s *Service) ServeDispatch(w http.ResponseWriter, r *http.Request) error {
	base := httpapi.BaseURL(r, s.BaseURL)
	claims, err := s.Tokens.Authorize(r, base, campaign.ScopeDispatch)
	if claims.ClientID == "" {
		return err
	}
	c := &call{tenant: claims.Tenant, clientID: claims.ClientID, base: base, now: s.Now(), req: &request{}, unscoped: err}
	if c.unscoped == nil {
		c.dryRun, c.unfit = isDryRun(r)
	}
	if c.unscoped == nil && c.unfit == nil {
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

// Dispatch answers a call that a person of the tenant makes who has signed in: as
// a client's, by the same rules, but without a credential. base is the service's
// address; lines are those of the person's file that the messages stand in, one for
// each, nil where there is no file: the error file names them. The error of a
// refused call is the *httpapi.Problem that a client would get. A dry run's answer
// tells all that speaks against the call.
func (s *Service) Dispatch(ctx context.Context, tenant, base string, body []byte, lines []int, dryRun bool) ([]byte, error) {
	c := &call{tenant: tenant, base: base, lines: lines, now: s.Now(), dryRun: dryRun}
	s.read(c, body)
	answer, _, err := s.decide(ctx, c)
	return answer, err
}

// receive takes a client's call in. What is wrong with it is noted, not answered:
// a revoked credential comes first, and takes a look at its row.
func (s *Service) receive(c *call, r *http.Request) {
	key, sent := idempotencyKey(r.Header)
	if c.key = key; sent && !validKey(key) {
		c.key = ""
		c.wrong.add("", "invalid_idempotency_key", "Idempotency-Key must have 1 to 255 visible ASCII characters")
	}
	body, err := httpapi.Body(r, MaxBody)
	if err != nil {
		c.unfit = err
		return
	}
	if c.dryRun {
		c.key = "" // nothing is kept, so nothing is repeated
	}
	if c.key != "" {
		c.bodyHash = sha256.Sum256(body)
	}
	s.read(c, body)
}

// read takes in what is asked for.
func (s *Service) read(c *call, body []byte) {
	if c.dryRun {
		c.unknown = &unknownNames{}
	}
	req, wrong := readRequest(body, c.unknown)
	c.req, c.wrong = req, append(c.wrong, wrong...)
	var late violations
	c.times, late = req.checkTimes(c.now, s.Lead)
	c.wrong = append(c.wrong, late...)
	c.numbers = req.numbers()
}

func idempotencyKey(h http.Header) (key string, sent bool) {
	values := h.Values("Idempotency-Key")
	if len(values) == 0 {
		return "", false
	}
	return values[0], true
}

func validKey(key string) bool {
	visible := func(c rune) bool { return c > ' ' && c <= '~' }
	return key != "" && len(key) <= 255 && strings.IndexFunc(key, func(c rune) bool { return !visible(c) }) < 0
}

// maxRaces bounds how often a call is judged again because another was faster.
const maxRaces = 40

// decide judges the call until it is accepted, refused, or has lost too many
// races.
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
		slog.ErrorContext(ctx, "a dispatch call could not be decided", "error", err)
		return nil, 0, tryAgain()
	}
	return body, status, err
}

// errUnsettled says that it is unknown whether a call was accepted: its blobs
// may belong to an accepted batch.
var errUnsettled = errors.New("the outcome of the transaction is unknown")

func tryAgain() *httpapi.Problem {
	return &httpapi.Problem{
		Status: http.StatusServiceUnavailable, Code: "try_again",
		Detail: "the call could not be decided in time: repeat it, with the same Idempotency-Key where you use one",
		Header: http.Header{"Retry-After": {"1"}},
	}
}

// attempt reads, judges and, where nothing speaks against it, accepts the call.
func (s *Service) attempt(ctx context.Context, c *call) (body []byte, status int, err error) {
	snapshot, earlier, err := s.look(ctx, c)
	if err != nil {
		return nil, 0, err
	}
	if !c.mayCall(snapshot.Credential) {
		return nil, 0, accesstoken.InvalidToken()
	}
	if c.unscoped != nil {
		return nil, 0, c.unscoped
	}
	if err := s.limit(ctx, c, snapshot.Calls); err != nil {
		return nil, 0, err
	}
	body, status, err = s.answer(ctx, c, snapshot, earlier)
	if limited := c.counted(); limited != nil {
		return nil, 0, limited
	}
	return body, status, err
}

// answer judges a call that may be made and, where nothing speaks against it,
// accepts it.
func (s *Service) answer(ctx context.Context, c *call, snapshot campaign.AcceptState, earlier numberset.Set) (body []byte, status int, err error) {
	if c.unfit != nil {
		return nil, 0, c.unfit
	}
	if snapshot.Answer != nil {
		body, err = s.repeat(ctx, c, *snapshot.Answer)
		return body, http.StatusAccepted, err
	}
	wrong := judge(c, snapshot, earlier)
	if c.dryRun {
		body, err = encodeJSON(newDryAnswer(c, snapshot.Template, wrong))
		return body, http.StatusOK, err
	}
	if problem := wrong.problem(); problem != nil {
		return nil, 0, problem
	}
	body, err = s.accept(ctx, c, snapshot)
	return body, http.StatusAccepted, err
}

// mayCall reports whether the caller's credential still stands. A person has none.
func (c *call) mayCall(credential *campaign.Credential) bool {
	return c.clientID == "" || (credential != nil && !credential.Revoked() && credential.Tenant == c.tenant)
}

// look reads what the call rests on, and which of its numbers an earlier batch
// holds.
func (s *Service) look(ctx context.Context, c *call) (campaign.AcceptState, numberset.Set, error) {
	q := campaign.AcceptQuery{
		Tenant: c.tenant, ClientID: c.clientID, IdempotencyKey: c.key,
		TemplateID: c.req.template(), CampaignID: c.req.id(), Name: c.req.name.value,
		BatchID: campaign.BatchID(c.req.batch.value),
		Calls:   s.limits(c),
	}
	id := campaign.ID{Tenant: c.tenant, CampaignID: q.CampaignID}
	for range maxLooks {
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

// maxLooks is how often the sets of a campaign are read again where one is
// missing: the first reading may have been too early for the newest, and a
// consistent one beside a call that adds one as well.
const maxLooks = 4

var errIncomplete = errors.New("a set of numbers is missing")

// repeat answers a call whose idempotency key has an answer already.
func (s *Service) repeat(ctx context.Context, c *call, a campaign.Answer) ([]byte, error) {
	if !bytes.Equal(a.BodyHash, c.bodyHash[:]) {
		return nil, &httpapi.Problem{
			Status: http.StatusUnprocessableEntity, Code: "idempotency_key_reused",
			Detail: "this Idempotency-Key was used with another body: use a new key for a new call",
		}
	}
	if a.BlobKey == "" {
		return a.Body, nil
	}
	body, err := s.Blobs.Get(ctx, a.BlobKey)
	if err != nil {
		return nil, fmt.Errorf("get the answer of an idempotency key: %w", err)
	}
	return body, nil
}
