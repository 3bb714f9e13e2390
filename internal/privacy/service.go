// Package privacy exports and erases a tenant's data about one phone number, as LGPD
// (Lei 13.709/2018) articles 16 and 18 require.
//
// Each step of an erasure leaves the data of others complete. After a crash or an
// error, a repeated erasure does the rest; data that cannot be read does not stop the
// other steps. Data that arrives during an erasure may not be erased.
package privacy

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/ledger"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/exports/export"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/phone"
	"campaign-dispatch/internal/reach/lists"
	"campaign-dispatch/internal/webhook/delivery"
)

// Store has the rows with personal data, by subject.
type Store struct {
	Campaigns Campaigns
	Outcomes  Outcomes
	Erasure   Erasure
}

// Campaigns reads tenants with their campaigns, and changes their saved numbers for tests.
type Campaigns interface {
	port.SentBatches

	// Tenant returns a tenant. The error wraps campaign.ErrNotFound if there is none.
	Tenant(ctx context.Context, id string) (campaign.Tenant, error)
	// AgentsOf returns the IDs of the current and former agents of a tenant.
	AgentsOf(ctx context.Context, tenant string) ([]string, error)
	// ListCampaigns returns up to limit campaigns after a cursor, "" for the beginning, those that go last first.
	ListCampaigns(ctx context.Context, tenant, after string, limit int32) ([]campaign.Listed, error)
	// Dispatched returns a campaign without its outcomes. The error wraps campaign.ErrNotFound if there is none.
	Dispatched(ctx context.Context, id campaign.ID) (campaign.Campaign, error)
	// PackedSets returns the numbers of each batch of a campaign.
	PackedSets(ctx context.Context, id campaign.ID) ([]acceptance.PackedSet, error)
	// TestNumbers returns the saved numbers, of revision 0 for none. The error wraps campaign.ErrDamaged if they cannot be read.
	TestNumbers(ctx context.Context, tenant string) (account.TestNumbers, error)
	// SaveTestNumbers returns an error that wraps campaign.ErrLostRace after a concurrent change.
	SaveTestNumbers(ctx context.Context, tenant string, n account.TestNumbers, audit ...account.AuditEntry) error
}

// Outcomes reads what became of messages, and deletes replies, logged opt-outs and kept posts.
type Outcomes interface {
	ledger.TapLogs

	// Changes returns up to limit changes after a sequence. The error wraps campaign.ErrExpired if the batch has expired.
	Changes(ctx context.Context, b campaign.Batch, after, limit int) ([]campaign.Change, error)
	// RepliesOf returns what a phone number, given in any forms, wrote to the tenant. DeleteReplies deletes it.
	RepliesOf(ctx context.Context, tenant string, phones []string) ([]reaction.Reply, error)
	// DeleteReplies deletes what a phone number, given in any forms, wrote, and returns how many replies there were.
	DeleteReplies(ctx context.Context, tenant string, phones []string) (int, error)
	// EraseLoggedOptOuts erases a phone number, given in any forms, from the log of opt-outs. Counts stay.
	EraseLoggedOptOuts(ctx context.Context, tenant string, phones []string) (int, error)
	// AllKeptPosts yields the kept posts of all endpoints of a tenant.
	AllKeptPosts(ctx context.Context, tenant string) iter.Seq2[delivery.KeptPost, error]
	// DeleteKeptPost deletes a kept post. A missing one is not an error.
	DeleteKeptPost(ctx context.Context, p delivery.KeptPost) error
}

// Erasure replaces what batches, submissions and exports have of a number, and the stored answers of
// idempotency keys.
type Erasure interface {
	// Submissions returns the submissions of a tenant. The error wraps campaign.ErrDamaged if one cannot be read.
	Submissions(ctx context.Context, tenant string) ([]submission.Submission, error)
	// SaveSubmission returns an error that wraps campaign.ErrLostRace if the submission changed since it was read.
	SaveSubmission(ctx context.Context, i submission.Submission) (submission.Submission, error)
	// Exports returns the exports of a campaign, in no order.
	Exports(ctx context.Context, id campaign.ID) ([]export.Export, error)
	// Export returns an export. The error wraps campaign.ErrNotFound if there is none.
	Export(ctx context.Context, id string) (export.Export, error)
	// SaveExport returns an error that wraps campaign.ErrLostRace if the export changed since it was read.
	SaveExport(ctx context.Context, e export.Export) (export.Export, error)
	// ReplacePayload replaces the payload, which becomes the former one. It reports whether the batch has the new one.
	ReplacePayload(ctx context.Context, b campaign.Batch, key string, offsets []int) (bool, error)
	// ClearFormerPayload removes the reference to the former payload. It can be repeated.
	ClearFormerPayload(ctx context.Context, b campaign.Batch) error
	// ReplaceSet replaces a set that has not changed, and reports whether it did: perhaps false after a lost answer.
	ReplaceSet(ctx context.Context, id campaign.ID, read acceptance.PackedSet, packed []byte) (bool, error)
	// KeptAnswers yields the stored answers of all idempotency keys, and tells progress the number of rows that it read.
	KeptAnswers(ctx context.Context, progress func(rows int)) iter.Seq2[acceptance.KeptAnswer, error]
	// ReplaceAnswer replaces an answer that has not changed, and reports whether it did.
	ReplaceAnswer(ctx context.Context, a acceptance.KeptAnswer, body []byte) (bool, error)
}

// Blobs stores payloads, error files, long answers, uploads, exports and event contents. Change repeats
// change after a concurrent write.
type Blobs interface {
	port.Blobs
	payload.Blobs

	// List yields the objects with the prefix, ordered by key.
	List(ctx context.Context, prefix string) iter.Seq2[campaign.Blob, error]
	// Change replaces an object by what change returns, unless that is nil. The error wraps campaign.ErrNotFound for none.
	Change(ctx context.Context, key, contentType string, change func(body []byte) ([]byte, error)) error
	// AbortFile deletes the parts of an upload. Missing uploads are not an error.
	AbortFile(ctx context.Context, key, upload string) error
}

// OptOuts reads and changes a tenant's opt-outs.
type OptOuts interface {
	// FirstOut returns the first of several numbers that is opted out, "" for none, and since when.
	FirstOut(ctx context.Context, tenant string, phones []string) (phone string, since time.Time, err error)
	// Origin returns where the opt-out of a number comes from, 0 for none.
	Origin(ctx context.Context, tenant, phone string) (campaign.Origin, error)
	// EraseOptIn deletes when a number opted in again, and reports whether it did.
	EraseOptIn(ctx context.Context, tenant, phone string) (bool, error)
}

// Lists reads the tenant's lists of numbers that get no messages.
type Lists interface {
	// ListsOf returns the names of the lists that a number is on.
	ListsOf(ctx context.Context, tenant string, number uint64) ([]string, error)
	// Lists returns all lists, deleted ones included.
	Lists(ctx context.Context, tenant string) ([]lists.List, error)
}

// Service exports and erases personal data. Its errors are one line, name the remedy, and contain no number.
type Service struct {
	Store   Store
	Blobs   Blobs
	OptOuts OptOuts
	Lists   Lists
	Now     func() time.Time
	// Progress receives the number of items searched. of is 0 if the total is unknown. It is called concurrently.
	Progress func(what string, done, of int)
}

type person struct {
	*Service
	tenant campaign.Tenant
	agents []string // current and former agents of the tenant
	sought phone.Sought
	phones []string // the numbers of sought in E.164
	// listNames are the names of the tenant's lists by number, for exports.
	listNames map[int]string
}

// errNoPhone does not contain the input.
var errNoPhone = errors.New("invalid phone number: it has no digits. Use E.164, + and digits with the country code")

// is reports whether a number in E.164 is the person's.
func (p *person) is(phone string) bool { return slices.Contains(p.phones, phone) }

func (d *Service) open(ctx context.Context, tenantID, number string) (*person, error) {
	sought, found := phone.Seek(number)
	if !found {
		return nil, errNoPhone
	}
	tenant, err := d.Store.Campaigns.Tenant(ctx, tenantID)
	if errors.Is(err, campaign.ErrNotFound) {
		return nil, fmt.Errorf("tenant %.60q does not exist: list the tenants", tenantID)
	}
	if err != nil {
		return nil, err
	}
	agents, err := d.Store.Campaigns.AgentsOf(ctx, tenantID)
	return &person{Service: d, tenant: tenant, agents: append(agents, tenant.AgentID), sought: sought, phones: sought.E164()}, err
}

// counted adds to a count if there is no error, and returns the error.
func counted(err error, count *int, more int) error {
	if err == nil {
		*count += more
	}
	return err
}

// errorCollector collects the errors of independent steps. It is safe for concurrent use.
type errorCollector struct {
	mu    sync.Mutex
	first error
	count int
}

func (t *errorCollector) add(err error) {
	if err == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.count++; t.count == 1 {
		t.first = err
	}
}

func (t *errorCollector) err() error {
	if t.count > 1 {
		return fmt.Errorf("%w (the first of %d errors)", t.first, t.count)
	}
	return t.first
}
