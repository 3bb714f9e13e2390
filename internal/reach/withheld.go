package reach

import (
	"context"
	"fmt"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/phone/e164"
)

// Withheld returns why a person gets no message. A nil Withheld withholds from nobody.
type Withheld func(phone e164.Number) Why

// Why is why a person gets no message. The zero Why is that of a person who gets one.
type Why struct {
	Code string // campaign.CodeOptedOut or campaign.CodeSuppressed
	List int    // the number of the list of campaign.CodeSuppressed
}

// None reports whether the person gets the message.
func (w Why) None() bool { return w.Code == "" }

// Lookup reads who gets no messages of a tenant. Everything that shows, prices or sends messages asks it.
type Lookup struct {
	OptOuts OptOuts
	Lists   Lists
}

// OptOuts reads which phone numbers of a tenant opted out.
type OptOuts interface {
	// OptedOut returns a function that reports whether a number opted out of the tenant's messages, as
	// of since or later.
	OptedOut(ctx context.Context, tenant string, since time.Time) (func(phone e164.Number) bool, error)
}

// Lists reads the lists of numbers that get no messages.
type Lists interface {
	// KeptBy returns a function that returns the number of the list that keeps a message of a purpose from
	// a number, 0 for none, as of since or later.
	KeptBy(ctx context.Context, tenant string, traffic campaign.Traffic, since time.Time) (func(phone e164.Number) (list int), error)
}

// Withheld returns who gets no messages of a purpose, as of since or later. Opt-outs come before lists.
func (l Lookup) Withheld(ctx context.Context, tenant string, traffic campaign.Traffic, since time.Time) (Withheld, error) {
	optedOut, err := l.OptOuts.OptedOut(ctx, tenant, since)
	if err != nil {
		return nil, fmt.Errorf("look up who may be reached: %w", err)
	}
	keptBy, err := l.Lists.KeptBy(ctx, tenant, traffic, since)
	if err != nil {
		return nil, fmt.Errorf("look up who may be reached: %w", err)
	}
	return func(phone e164.Number) Why {
		if optedOut(phone) {
			return Why{Code: campaign.CodeOptedOut}
		}
		if list := keptBy(phone); list != 0 {
			return Why{campaign.CodeSuppressed, list}
		}
		return Why{}
	}, nil
}

// OnLists returns the purposes of messages that lists keep from a phone number, by the number of the list, as of
// since or later.
func (l Lookup) OnLists(
	ctx context.Context, tenant string, phone e164.Number, purposes []campaign.Traffic, since time.Time,
) (map[int][]campaign.Traffic, error) {
	kept := map[int][]campaign.Traffic{}
	for _, traffic := range purposes {
		keptBy, err := l.Lists.KeptBy(ctx, tenant, traffic, since)
		if err != nil {
			return nil, fmt.Errorf("look up the lists of a number: %w", err)
		}
		if list := keptBy(phone); list != 0 {
			kept[list] = append(kept[list], traffic)
		}
		since = time.Time{} // they were read for the first purpose
	}
	return kept, nil
}

// why returns why a person gets no message.
func (w Withheld) why(phone e164.Number) Why {
	if w == nil {
		return Why{}
	}
	return w(phone)
}
