// Package privacy finds, exports and erases what the service holds of one
// person: of one phone number, within one tenant. LGPD (Lei 13.709/2018) gives
// people a right to both, in its articles 16 and 18.
//
// Each step of an erasure leaves everybody else's data whole, and whoever dies at
// one of them erases the rest by beginning again. What cannot be read keeps nothing
// else from being erased. What is accepted or arrives while
// it runs is new data, which it need not find.
package privacy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/phone/e164"
)

// Store keeps campaigns, batches with their ledger, and the answers to
// idempotency keys.
type Store interface {
	Tenant(ctx context.Context, id string) (campaign.Tenant, error)
	// AgentsOf returns the agents that a tenant has or had.
	AgentsOf(ctx context.Context, tenant string) ([]string, error)
	ListCampaigns(ctx context.Context, tenant, after string, limit int32) ([]campaign.Listed, error)
	Dispatched(ctx context.Context, id campaign.ID) (campaign.Campaign, error)
	PackedSets(ctx context.Context, id campaign.ID) ([]campaign.PackedSet, error)
	Batch(ctx context.Context, ref campaign.BatchRef) (campaign.Batch, error)
	TemplateVersion(ctx context.Context, id string, version int) (campaign.Template, error)
	// Changes returns up to limit changes of a batch's log after a sequence.
	Changes(ctx context.Context, b campaign.Batch, after, limit int) ([]campaign.Change, error)
	KeptAnswers(ctx context.Context, progress func(rows int)) iter.Seq2[campaign.KeptAnswer, error]
	ReplacePayload(ctx context.Context, b campaign.Batch, key string, offsets []int) (bool, error)
	ForgetFormerPayload(ctx context.Context, b campaign.Batch) error
	ReplaceSet(ctx context.Context, id campaign.ID, read campaign.PackedSet, packed []byte) (bool, error)
	ReplaceAnswer(ctx context.Context, a campaign.KeptAnswer, body []byte) (bool, error)
}

// Blobs keeps payloads, error files, long answers, uploads and the contents of
// events. Get, GetRange and Change return an error that wraps campaign.ErrNotFound for
// what does not exist; Delete does not. Change calls change again where others wrote
// the object meanwhile, and leaves it as it is where that returns nil.
type Blobs interface {
	List(ctx context.Context, prefix string) iter.Seq2[campaign.Blob, error]
	Get(ctx context.Context, key string) ([]byte, error)
	GetRange(ctx context.Context, key string, from, to int) ([]byte, error)
	Put(ctx context.Context, key string, body []byte, contentType string) error
	Change(ctx context.Context, key, contentType string, change func(body []byte) ([]byte, error)) error
	Delete(ctx context.Context, key string) error
}

// OptOuts knows who opted out of a tenant's messages.
type OptOuts interface {
	Since(ctx context.Context, tenant, phone string) (out bool, since time.Time, err error)
	Forget(ctx context.Context, tenant, phone string) (bool, error)
}

// Service carries out what people ask for. Its errors say in one line what to do, and
// hold no number.
type Service struct {
	Store   Store
	Blobs   Blobs
	OptOuts OptOuts
	Random  io.Reader
	Now     func() time.Time
	// Progress is told how much of something was looked through, from any number of
	// goroutines; of is 0 where it is not known how much there is.
	Progress func(what string, done, of int)
}

// person is the number that somebody asks for.
type person struct {
	*Service
	tenant campaign.Tenant
	agents []string // of the tenant, also those that it gave up
	number e164.Number
}

// shortest is how few digits a number has with its country's code.
const shortest = 8

// errNoPhone does not repeat what was given.
var errNoPhone = errors.New("the phone is no number in E.164: write it with + and its country code, digits only")

func (d *Service) open(ctx context.Context, tenantID, phone string) (*person, error) {
	number, rejection := e164.Parse([]byte(phone), e164.AsWritten)
	if rejection != nil || len(number.String()) <= shortest {
		return nil, errNoPhone
	}
	tenant, err := d.Store.Tenant(ctx, tenantID)
	if errors.Is(err, campaign.ErrNotFound) {
		return nil, fmt.Errorf("tenant %.60q does not exist: list them", tenantID)
	}
	if err != nil {
		return nil, err
	}
	agents, err := d.Store.AgentsOf(ctx, tenantID)
	return &person{d, tenant, append(agents, tenant.AgentID), number}, err
}
