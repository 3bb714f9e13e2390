package dynamo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/webhook/delivery"
)

// DueIndex partition keys of parked and dead deliveries. Sweep does not read them.
const (
	parkedPrefix = "PARKED#"
	deadPrefix   = "DEAD#"
)

func circuitKey(tenant, endpointID string) Item {
	return Item{"pk": tenantKey(tenant)["pk"], "sk": text("CIRCUIT#" + endpointID)}
}

func readCircuitKey(row Item) (t delivery.NotifyTask, ok bool) {
	tenant, ofTenant := strings.CutPrefix(getText(row, "pk"), "TEN#")
	id, isCircuit := strings.CutPrefix(getText(row, "sk"), "CIRCUIT#")
	return delivery.NotifyTask{Tenant: tenant, EndpointID: id}, ofTenant && isCircuit
}

// Circuit reads an endpoint's circuit consistently. Without a circuit, only Tenant and
// EndpointID are set.
func (s *CircuitStore) Circuit(ctx context.Context, tenant, endpointID string) (delivery.Circuit, error) {
	row, err := s.get(ctx, circuitKey(tenant, endpointID))
	if err != nil && !errors.Is(err, campaign.ErrNotFound) {
		return delivery.Circuit{}, fmt.Errorf("read the circuit of endpoint %s: %w", endpointID, err)
	}
	return readCircuit(tenant, endpointID, row), nil
}

func readCircuit(tenant, endpointID string, row Item) delivery.Circuit {
	return delivery.Circuit{
		Tenant: tenant, EndpointID: endpointID, Since: getMillis(row, "since"), Probes: int(getNumber(row, "probes")),
		Next: getMillis(row, "nextCheck"), Closing: getBool(row, "closing"), Drained: getBool(row, "drained"), Version: int(getNumber(row, "version")),
	}
}

// SaveCircuit writes the circuit if it is unchanged since it was read, and reports whether
// it did. Sweep checks the circuit at its Next.
func (s *CircuitStore) SaveCircuit(ctx context.Context, c delivery.Circuit) (bool, error) {
	row := circuitKey(c.Tenant, c.EndpointID)
	row["since"], row["probes"], row["closing"] = millis(c.Since), number(c.Probes), boolean(c.Closing)
	row["drained"] = boolean(c.Drained)
	row["version"] = number(c.Version + 1)
	row["due"], row["nextCheck"] = text(s.dueKey(c.Tenant, getText(row, "pk")+getText(row, "sk"))), millis(c.Next)
	in := &dynamodb.PutItemInput{TableName: &s.Campaigns, Item: row}
	in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues = stillVersion(c.Version)
	_, err := s.Client.PutItem(ctx, in)
	return conditionHeld(err, "write the circuit of endpoint "+c.EndpointID)
}

// EndCircuit deletes the circuit if it is unchanged since it was read, and reports whether
// it did.
func (s *CircuitStore) EndCircuit(ctx context.Context, c delivery.Circuit) (bool, error) {
	in := &dynamodb.DeleteItemInput{TableName: &s.Campaigns, Key: circuitKey(c.Tenant, c.EndpointID)}
	in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues = stillVersion(c.Version)
	_, err := s.Client.DeleteItem(ctx, in)
	return conditionHeld(err, "end the circuit of endpoint "+c.EndpointID)
}

func stillVersion(version int) (*string, map[string]string, Item) {
	if version == 0 {
		return aws.String("attribute_not_exists(pk)"), nil, nil
	}
	return aws.String("#version = :read"), map[string]string{"#version": "version"}, Item{":read": number(version)}
}

// ParkedDeliveries returns up to limit parked deliveries of an endpoint, oldest first. The
// index is eventually consistent.
func (s *DeliveryStore) ParkedDeliveries(ctx context.Context, tenant, endpointID string, limit int) ([]delivery.NotifyTask, error) {
	return s.deliveriesUnder(ctx, parkedPrefix, tenant, endpointID, time.Time{}, limit)
}

// DeadDeliveries returns up to limit deliveries of an endpoint that were abandoned at or
// after since, oldest first.
func (s *DeliveryStore) DeadDeliveries(ctx context.Context, tenant, endpointID string, since time.Time, limit int) ([]delivery.NotifyTask, error) {
	return s.deliveriesUnder(ctx, deadPrefix, tenant, endpointID, since, limit)
}
