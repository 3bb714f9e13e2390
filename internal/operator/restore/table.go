// Package restore restores the tables to a point in time, and stops the service during
// the restore.
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

	"campaign-dispatch/internal/base/retry"
)

// Tables restores tables as new tables.
type Tables struct {
	Client *dynamodb.Client
	Tick   time.Duration // polling interval
}

const mark = "-at-"

// Origin returns the name of the table that a restored one was made from, or the name
// itself.
func Origin(table string) string {
	table, _, _ = strings.Cut(table, mark)
	return table
}

// Name returns the name of a table restored to a time.
func Name(table string, at time.Time) string {
	return Origin(table) + mark + at.UTC().Format("20060102T150405Z")
}

func (t Tables) describe(ctx context.Context, table string) (*types.TableDescription, error) {
	out, err := t.Client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		return nil, err
	}
	return out.Table, nil
}

// Check returns an error if a table cannot be restored to a time. A restore that is
// done or in progress is no error.
func (t Tables) Check(ctx context.Context, table string, at time.Time) error {
	_, err := t.describe(ctx, Name(table, at))
	if err == nil {
		return nil
	}
	if _, missing := errors.AsType[*types.ResourceNotFoundException](err); !missing {
		return fmt.Errorf("find a restored table: %w", err)
	}
	has, err := t.Client.DescribeContinuousBackups(ctx, &dynamodb.DescribeContinuousBackupsInput{TableName: &table})
	if err != nil {
		return fmt.Errorf("describe the backups of the table %s: %w", table, err)
	}
	of := has.ContinuousBackupsDescription.PointInTimeRecoveryDescription
	if of == nil || of.EarliestRestorableDateTime == nil || of.LatestRestorableDateTime == nil {
		return fmt.Errorf("the table %s has no backups: point-in-time recovery is disabled", table)
	}
	if at.Before(*of.EarliestRestorableDateTime) || at.After(*of.LatestRestorableDateTime) {
		return fmt.Errorf("the table %s can be restored only to a time from %s to %s", table,
			of.EarliestRestorableDateTime.Format(time.RFC3339), of.LatestRestorableDateTime.Format(time.RFC3339))
	}
	return nil
}

// Begin starts the restore of a table to a time. It has no effect if the restore has
// already started.
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

// Await waits until a table is active. It calls waiting before each poll.
func (t Tables) Await(ctx context.Context, table string, waiting func()) error {
	for {
		found, err := t.describe(ctx, table)
		if err != nil {
			return fmt.Errorf("wait for the table %s: %w", table, err)
		}
		restoring := found.RestoreSummary != nil && aws.ToBool(found.RestoreSummary.RestoreInProgress)
		if found.TableStatus == types.TableStatusActive && !restoring {
			return nil
		}
		waiting()
		if err := retry.Sleep(ctx, t.Tick); err != nil {
			return err
		}
	}
}

// Equip copies the settings that a restore does not: stream, TTL, backups, tags and
// deletion protection.
func (t Tables) Equip(ctx context.Context, source, target string) error {
	of, err := t.describe(ctx, source)
	if err != nil {
		return fmt.Errorf("describe the table %s: %w", source, err)
	}
	for _, equip := range []func(context.Context, *types.TableDescription, string) error{t.stream, t.expire, t.backUp, t.tag, t.protect} {
		if err := equip(ctx, of, target); err != nil {
			return fmt.Errorf("copy settings to the table %s: %w", target, err)
		}
	}
	return nil
}

// stream enables a table's stream and waits for the update.
func (t Tables) stream(ctx context.Context, source *types.TableDescription, target string) error {
	if source.StreamSpecification == nil || !aws.ToBool(source.StreamSpecification.StreamEnabled) {
		return nil
	}
	has, err := t.describe(ctx, target)
	if err != nil || has.StreamSpecification != nil && aws.ToBool(has.StreamSpecification.StreamEnabled) {
		return err
	}
	_, err = t.Client.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: &target, StreamSpecification: source.StreamSpecification})
	if err != nil {
		return err
	}
	return t.Await(ctx, target, func() {})
}

// Stream returns the ARN of a table's stream.
func (t Tables) Stream(ctx context.Context, table string) (string, error) {
	of, err := t.describe(ctx, table)
	if err != nil {
		return "", fmt.Errorf("describe the stream of the table %s: %w", table, err)
	}
	arn := aws.ToString(of.LatestStreamArn)
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
	life := &types.TimeToLiveSpecification{AttributeName: of.TimeToLiveDescription.AttributeName, Enabled: aws.Bool(true)}
	_, err = t.Client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{TableName: &target, TimeToLiveSpecification: life})
	return err
}

func (t Tables) backUp(ctx context.Context, _ *types.TableDescription, target string) error {
	_, err := t.Client.UpdateContinuousBackups(ctx, &dynamodb.UpdateContinuousBackupsInput{
		TableName: &target, PointInTimeRecoverySpecification: &types.PointInTimeRecoverySpecification{PointInTimeRecoveryEnabled: aws.Bool(true)},
	})
	return err
}

func (t Tables) tag(ctx context.Context, source *types.TableDescription, target string) error {
	has, err := t.describe(ctx, target)
	if err != nil {
		return err
	}
	of, err := t.Client.ListTagsOfResource(ctx, &dynamodb.ListTagsOfResourceInput{ResourceArn: source.TableArn})
	if err != nil {
		return err
	}
	var own []types.Tag
	for _, tag := range of.Tags {
		if !strings.HasPrefix(aws.ToString(tag.Key), "aws:") { // reserved for AWS
			own = append(own, tag)
		}
	}
	if len(own) == 0 {
		return nil
	}
	_, err = t.Client.TagResource(ctx, &dynamodb.TagResourceInput{ResourceArn: has.TableArn, Tags: own})
	return err
}

func (t Tables) protect(ctx context.Context, source *types.TableDescription, target string) error {
	has, err := t.describe(ctx, target)
	if err != nil || aws.ToBool(has.DeletionProtectionEnabled) == aws.ToBool(source.DeletionProtectionEnabled) {
		return err
	}
	in := &dynamodb.UpdateTableInput{TableName: &target, DeletionProtectionEnabled: source.DeletionProtectionEnabled}
	_, err = t.Client.UpdateTable(ctx, in)
	return err
}
