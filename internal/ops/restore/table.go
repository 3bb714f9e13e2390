// Package restore brings the tables back as they were at a point in time, and holds
// the service meanwhile.
package restore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Tables restores tables into new ones beside them.
type Tables struct {
	Client *dynamodb.Client
	Tick   time.Duration // between two looks at whether a restore is over
}

// mark is between the name of a table and the instant that it was restored to.
const mark = "-at-"

// Origin is the name of the table that a restored one stands in for, and of any other
// its own.
func Origin(table string) string {
	table, _, _ = strings.Cut(table, mark)
	return table
}

// Name is the name of a table as it was at an instant.
func Name(table string, at time.Time) string {
	return Origin(table) + mark + at.UTC().Format("20060102T150405Z")
}

// Check fails where a table cannot be restored to an instant. One that was restored
// to it already, or is being so, can.
func (t Tables) Check(ctx context.Context, table string, at time.Time) error {
	_, err := t.Client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(Name(table, at))})
	if err == nil {
		return nil
	}
	if _, missing := errors.AsType[*types.ResourceNotFoundException](err); !missing {
		return fmt.Errorf("look for a restored table: %w", err)
	}
	has, err := t.Client.DescribeContinuousBackups(ctx, &dynamodb.DescribeContinuousBackupsInput{TableName: &table})
	if err != nil {
		return fmt.Errorf("look up the backups of the table %s: %w", table, err)
	}
	of := has.ContinuousBackupsDescription.PointInTimeRecoveryDescription
	if of == nil || of.EarliestRestorableDateTime == nil || of.LatestRestorableDateTime == nil {
		return fmt.Errorf("the table %s has no backups: its recovery to a point in time is off", table)
	}
	if at.Before(*of.EarliestRestorableDateTime) || at.After(*of.LatestRestorableDateTime) {
		return fmt.Errorf("the table %s goes back to an instant from %s to %s only", table,
			of.EarliestRestorableDateTime.Format(time.RFC3339), of.LatestRestorableDateTime.Format(time.RFC3339))
	}
	return nil
}

// Begin has DynamoDB restore a table as it was at an instant. One that it restores
// already is none to begin again.
func (t Tables) Begin(ctx context.Context, table string, at time.Time) error {
	_, err := t.Client.RestoreTableToPointInTime(ctx, &dynamodb.RestoreTableToPointInTimeInput{
		SourceTableName: &table, TargetTableName: aws.String(Name(table, at)), RestoreDateTime: &at,
	})
	if _, there := errors.AsType[*types.TableAlreadyExistsException](err); there {
		return nil
	}
	if err != nil {
		return fmt.Errorf("restore the table %s: %w", table, err)
	}
	return nil
}

// Await returns when a table can be used, and calls waiting before each look.
func (t Tables) Await(ctx context.Context, table string, waiting func()) error {
	for {
		found, err := t.Client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
		if err != nil {
			return fmt.Errorf("look after the table %s: %w", table, err)
		}
		restoring := found.Table.RestoreSummary != nil && aws.ToBool(found.Table.RestoreSummary.RestoreInProgress)
		if found.Table.TableStatus == types.TableStatusActive && !restoring {
			return nil
		}
		waiting()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(t.Tick):
		}
	}
}

// Equip gives a restored table what a restore does not bring along, as its source has
// it: a stream, expiry, backups of its own, tags, protection against deletion.
func (t Tables) Equip(ctx context.Context, source, target string) error {
	of, err := t.Client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &source})
	if err != nil {
		return fmt.Errorf("look up the table %s: %w", source, err)
	}
	for _, equip := range []func(context.Context, *types.TableDescription, string) error{t.stream, t.expire, t.backUp, t.tag, t.protect} {
		if err := equip(ctx, of.Table, target); err != nil {
			return fmt.Errorf("equip the table %s: %w", target, err)
		}
	}
	return nil
}

// stream gives a table a stream, which changes the table for a while.
func (t Tables) stream(ctx context.Context, source *types.TableDescription, target string) error {
	if source.StreamSpecification == nil || !aws.ToBool(source.StreamSpecification.StreamEnabled) {
		return nil
	}
	has, err := t.Client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &target})
	if err != nil {
		return err
	}
	if of := has.Table.StreamSpecification; of != nil && aws.ToBool(of.StreamEnabled) {
		return nil
	}
	_, err = t.Client.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: &target, StreamSpecification: source.StreamSpecification})
	if err != nil {
		return err
	}
	return t.Await(ctx, target, func() {})
}

// Stream returns the ARN of a table's stream.
func (t Tables) Stream(ctx context.Context, table string) (string, error) {
	of, err := t.Client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		return "", fmt.Errorf("look up the stream of the table %s: %w", table, err)
	}
	arn := aws.ToString(of.Table.LatestStreamArn)
	if arn == "" {
		return "", fmt.Errorf("the table %s has no stream", table)
	}
	return arn, nil
}

func (t Tables) expire(ctx context.Context, source *types.TableDescription, target string) error {
	of, err := t.Client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: source.TableName})
	if err != nil || of.TimeToLiveDescription.AttributeName == nil {
		return err
	}
	has, err := t.Client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &target})
	if err != nil || aws.ToString(has.TimeToLiveDescription.AttributeName) == *of.TimeToLiveDescription.AttributeName {
		return err
	}
	_, err = t.Client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{TableName: &target, TimeToLiveSpecification: &types.TimeToLiveSpecification{
		AttributeName: of.TimeToLiveDescription.AttributeName, Enabled: aws.Bool(true),
	}})
	return err
}

func (t Tables) backUp(ctx context.Context, _ *types.TableDescription, target string) error {
	_, err := t.Client.UpdateContinuousBackups(ctx, &dynamodb.UpdateContinuousBackupsInput{
		TableName: &target, PointInTimeRecoverySpecification: &types.PointInTimeRecoverySpecification{PointInTimeRecoveryEnabled: aws.Bool(true)},
	})
	return err
}

func (t Tables) tag(ctx context.Context, source *types.TableDescription, target string) error {
	has, err := t.Client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &target})
	if err != nil {
		return err
	}
	of, err := t.Client.ListTagsOfResource(ctx, &dynamodb.ListTagsOfResourceInput{ResourceArn: source.TableArn})
	if err != nil {
		return err
	}
	var own []types.Tag
	for _, tag := range of.Tags {
		if !strings.HasPrefix(aws.ToString(tag.Key), "aws:") { // those are AWS's to set
			own = append(own, tag)
		}
	}
	if len(own) == 0 {
		return nil
	}
	_, err = t.Client.TagResource(ctx, &dynamodb.TagResourceInput{ResourceArn: has.Table.TableArn, Tags: own})
	return err
}

func (t Tables) protect(ctx context.Context, source *types.TableDescription, target string) error {
	has, err := t.Client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &target})
	if err != nil || aws.ToBool(has.Table.DeletionProtectionEnabled) == aws.ToBool(source.DeletionProtectionEnabled) {
		return err
	}
	_, err = t.Client.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: &target, DeletionProtectionEnabled: source.DeletionProtectionEnabled})
	return err
}
