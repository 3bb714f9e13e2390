package dynamo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/webhook/delivery"
)

// maxAdditions is the maximum number of attempts after concurrent additions.
const maxAdditions = 100

// AddEndpoint writes a new endpoint if its tenant has fewer than most, disabled ones
// included. It returns their number before the addition.
func (s *EndpointStore) AddEndpoint(ctx context.Context, e delivery.Endpoint, most int) (has int, err error) {
	for try := range maxAdditions {
		if err := retry.Wait(ctx, try); err != nil {
			return has, fmt.Errorf("add endpoint %s: %w", e.ID, err)
		}
		has, err = s.addEndpoint(ctx, e, most)
		if !errors.Is(err, campaign.ErrLostRace) {
			return has, err
		}
	}
	return has, err
}

// addEndpoint makes one attempt. The error wraps campaign.ErrLostRace after a concurrent
// addition.
func (s *EndpointStore) addEndpoint(ctx context.Context, e delivery.Endpoint, most int) (has int, err error) {
	guard, err := s.get(ctx, endpointGuardKey(e.Tenant))
	if err != nil && !errors.Is(err, campaign.ErrNotFound) {
		return 0, fmt.Errorf("add endpoint %s: %w", e.ID, err)
	}
	all, err := s.Endpoints(ctx, e.Tenant)
	if err != nil || len(all) >= most {
		return len(all), err
	}
	additions := getNumber(guard, "additions")
	return len(all), s.writeAll(ctx, "add endpoint "+e.ID, s.nextAddition(endpointGuardKey(e.Tenant), additions), s.putNew(endpointRow(e)))
}

// nextAddition increments a guard row if it is unchanged.
func (t *table) nextAddition(guard Item, before int64) types.TransactWriteItem {
	row := withValue(guard, "additions", number(before+1))
	if before == 0 {
		return t.putNew(row)
	}
	return types.TransactWriteItem{Put: &types.Put{
		TableName: &t.Campaigns, Item: row, ConditionExpression: aws.String("additions = :before"),
		ExpressionAttributeValues: Item{":before": number(before)},
	}}
}

// SaveEndpoint creates or replaces an endpoint.
func (s *EndpointStore) SaveEndpoint(ctx context.Context, e delivery.Endpoint) error {
	return s.writeAll(ctx, "save endpoint "+e.ID, s.put(endpointRow(e)))
}

// Endpoint reads an endpoint consistently. The error wraps campaign.ErrNotFound if it does
// not exist.
func (s *EndpointStore) Endpoint(ctx context.Context, tenant, id string) (delivery.Endpoint, error) {
	row, err := s.get(ctx, endpointKey(tenant, id))
	if err != nil {
		return delivery.Endpoint{}, fmt.Errorf("read endpoint %s: %w", id, err)
	}
	return readEndpoint(tenant, id, row), nil
}

// Endpoints returns a tenant's endpoints, disabled ones included, ordered by ID.
func (s *EndpointStore) Endpoints(ctx context.Context, tenant string) ([]delivery.Endpoint, error) {
	return list(ctx, &s.table, "TEN#"+tenant, "ENDPOINT#", func(id string, row Item) delivery.Endpoint {
		return readEndpoint(tenant, id, row)
	})
}

// RotateEndpoint replaces an endpoint's signing secret. The previous secret also signs
// until previousUntil. The error wraps campaign.ErrNotFound if the endpoint does not exist.
func (s *EndpointStore) RotateEndpoint(ctx context.Context, tenant, id, secret string, previousUntil time.Time) error {
	_, err := s.Client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.Campaigns, Key: endpointKey(tenant, id),
		UpdateExpression:                    aws.String("SET previousSecret = secret, previousUntil = :until, secret = :new"),
		ConditionExpression:                 aws.String("attribute_exists(pk) AND secret <> :new"),
		ExpressionAttributeValues:           Item{":until": millis(previousUntil), ":new": text(secret)},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if refused, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		// The SDK repeats updates without a response: the first one succeeded.
		if getText(refused.Item, "secret") == secret {
			return nil
		}
		err = campaign.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("rotate the secret of endpoint %s: %w", id, err)
	}
	return nil
}

// SwitchEndpoint disables an endpoint for a reason, or enables it if the reason is empty.
// It reports whether the endpoint exists.
func (s *EndpointStore) SwitchEndpoint(ctx context.Context, tenant, id, offReason string) (bool, error) {
	in := &dynamodb.UpdateItemInput{
		TableName: &s.Campaigns, Key: endpointKey(tenant, id),
		UpdateExpression:    aws.String("REMOVE offReason, offAt"),
		ConditionExpression: aws.String("attribute_exists(pk)"),
	}
	if offReason != "" {
		in.UpdateExpression = aws.String("SET offReason = :reason, offAt = :at")
		in.ExpressionAttributeValues = Item{":reason": text(offReason), ":at": millis(s.Now())}
	}
	_, err := s.Client.UpdateItem(ctx, in)
	return conditionHeld(err, "switch endpoint "+id)
}

// SetKinds sets the webhook event types of an endpoint, none for the default. It reports
// whether the endpoint exists.
func (s *EndpointStore) SetKinds(ctx context.Context, tenant, id string, kinds []string) (bool, error) {
	_, err := s.Client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.Campaigns, Key: endpointKey(tenant, id),
		UpdateExpression: aws.String("SET kinds = :kinds"), ConditionExpression: aws.String("attribute_exists(pk)"),
		ExpressionAttributeValues: Item{":kinds": text(strings.Join(kinds, ","))},
	})
	return conditionHeld(err, "change the kinds of endpoint "+id)
}

func endpointRow(e delivery.Endpoint) Item {
	row := endpointKey(e.Tenant, e.ID)
	row["url"], row["secret"] = text(e.URL), text(e.Secret)
	row["kinds"] = text(strings.Join(e.Kinds, ","))
	if e.PreviousSecret != "" {
		row["previousSecret"], row["previousUntil"] = text(e.PreviousSecret), millis(e.PreviousUntil)
	}
	if e.Off() {
		row["offReason"], row["offAt"] = text(e.OffReason), millis(e.OffAt)
	}
	return row
}

func readEndpoint(tenant, id string, row Item) delivery.Endpoint {
	e := delivery.Endpoint{
		ID: id, Tenant: tenant, URL: getText(row, "url"),
		Secret: getText(row, "secret"), PreviousSecret: getText(row, "previousSecret"), PreviousUntil: getMillis(row, "previousUntil"),
		OffReason: getText(row, "offReason"), OffAt: getMillis(row, "offAt"),
	}
	if kinds := getText(row, "kinds"); kinds != "" {
		e.Kinds = strings.Split(kinds, ",")
	}
	return e
}
