package dynamo

import (
	"context"
	"iter"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/campaign/reaction"
)

// The OPTOUTLOG rows of a tenant are people's own opt-outs, in the order in which their events arrived. A row is written
// when its event is applied: some seconds after its arrival, or later after an outage. A reader that continues from a
// place must stay two minutes behind the clock, and misses the rows of events that waited longer. A reader that counts
// reads whole days again.

// LogOptOut writes an opt-out to a tenant's log. The same opt-out can be written again.
func (s *RecipientStore) LogOptOut(ctx context.Context, tenant string, o reaction.LoggedOptOut) error {
	row := with(optOutLogKey(tenant, o.ID), Item{"phone": text(o.Phone), "at": millis(o.At)})
	setEnd(row, o.At.Add(campaign.OptOutLogLife))
	return s.tryWrite(ctx, "log an opt-out of tenant "+tenant, s.put(row))
}

// LoggedOptOuts yields the opt-outs of a tenant's log that arrived at an instant or later, consistently and in order. It
// includes expired ones that are not deleted yet.
func (s *RecipientStore) LoggedOptOuts(ctx context.Context, tenant string, arrived time.Time) iter.Seq2[reaction.LoggedOptOut, error] {
	in := queryOf(s.Campaigns, "pk = :pk AND sk >= :from", Item{
		":pk": optOutLogKey(tenant, "")["pk"], ":from": text(reaction.LoggedFrom(arrived)),
	})
	return decoded(s.eachLogged(ctx, tenant, in), readLoggedOptOut)
}

func (s *RecipientStore) eachLogged(ctx context.Context, tenant string, in *dynamodb.QueryInput) iter.Seq2[Item, error] {
	in.ConsistentRead = aws.Bool(true)
	return s.each(ctx, "read the log of opt-outs of tenant "+tenant, in)
}

func readLoggedOptOut(row Item) (reaction.LoggedOptOut, error) {
	return reaction.LoggedOptOut{ID: getText(row, "sk"), Phone: getText(row, "phone"), At: getMillis(row, "at")}, nil
}

// EraseLoggedOptOuts erases a phone number, given in any forms, from a tenant's log, and returns how many rows it had. One
// row of each day and form stays without the number, so that a recount of the day counts as before. It loses its number
// after the others are deleted, so that a repeated call after a crash leaves no second one.
func (s *RecipientStore) EraseLoggedOptOuts(ctx context.Context, tenant string, phones []string) (erased int, err error) {
	if len(phones) == 0 {
		return 0, nil
	}
	in := queryOf(s.Campaigns, "pk = :pk", Item{":pk": optOutLogKey(tenant, "")["pk"]})
	onlyOf(in, phones)
	doing, kept := "erase a number from the log of opt-outs of tenant "+tenant, map[string]Item{}
	for row, err := range s.eachLogged(ctx, tenant, in) {
		if err != nil {
			return erased, err
		}
		key, counted := optOutLogKey(tenant, getText(row, "sk")), localtime.Day(getMillis(row, "at"))+getText(row, "phone")
		if kept[counted] == nil {
			kept[counted] = key
			continue
		}
		if err := s.tryWrite(ctx, doing, s.remove(key)); err != nil {
			return erased, err
		}
		erased++
	}
	for _, key := range kept {
		if err := s.tryWrite(ctx, doing, s.update(key, "REMOVE #phone", present, nil)); err != nil {
			return erased, err
		}
		erased++
	}
	return erased, nil
}
