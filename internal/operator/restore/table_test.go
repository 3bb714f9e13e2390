package restore_test

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/operator/restore"
	"campaign-dispatch/localstack/stackenv"
)

func TestName(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.FixedZone("", -3*60*60))
	once := restore.Name("stack-Table-1", noon)
	if once != "stack-Table-1-at-20261120T150000Z" {
		t.Errorf("got %s", once)
	}
	if again := restore.Name(once, noon.Add(time.Hour)); again != "stack-Table-1-at-20261120T160000Z" {
		t.Errorf("of a restored table: %s", again)
	}
}

// An interrupted command is run again.
func TestEquip_SettingsOfSource(t *testing.T) {
	t.Parallel()
	client := dynamodb.NewFromConfig(stackenv.Load(t).AWS())
	source, at := makeTable(t, client), time.Now()
	tables, target := restore.Tables{Client: client, Tick: time.Millisecond}, restore.Name(source, at)
	t.Cleanup(func() { drop(t, client, target) })
	for range 2 {
		if err := tables.Begin(t.Context(), source, at); err != nil {
			t.Fatal(err)
		}
		if err := tables.Await(t.Context(), target, func() {}); err != nil {
			t.Fatal(err)
		}
		if err := tables.Equip(t.Context(), source, target); err != nil {
			t.Fatal(err)
		}
	}
	checkRow(t, client, target)
	checkEquipment(t, client, target)
	checkStream(t, tables, source, target)
}

func checkStream(t *testing.T, tables restore.Tables, source, target string) {
	t.Helper()
	of, err := tables.Stream(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	own, err := tables.Stream(t.Context(), target)
	if err != nil || own == of || !strings.Contains(own, target) {
		t.Errorf("its stream is %q, %v; the source has %q", own, err, of)
	}
}

func checkRow(t *testing.T, client *dynamodb.Client, table string) {
	t.Helper()
	got, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &table, Key: row()})
	if err != nil || got.Item == nil {
		t.Errorf("its row is not there: %v", err)
	}
}

func checkEquipment(t *testing.T, client *dynamodb.Client, table string) {
	t.Helper()
	is, err := client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		t.Fatal(err)
	}
	expiry, err := client.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &table})
	if err != nil || aws.ToString(expiry.TimeToLiveDescription.AttributeName) != "expiresAt" {
		t.Errorf("its rows do not expire: %v", err)
	}
	backups, err := client.DescribeContinuousBackups(t.Context(), &dynamodb.DescribeContinuousBackupsInput{TableName: &table})
	if err != nil || backups.ContinuousBackupsDescription.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus != types.PointInTimeRecoveryStatusEnabled {
		t.Errorf("it has no backups of its own: %v", err)
	}
	tags, err := client.ListTagsOfResource(t.Context(), &dynamodb.ListTagsOfResourceInput{ResourceArn: is.Table.TableArn})
	if err != nil || len(tags.Tags) != 1 || *tags.Tags[0].Value != "campaign-dispatch" {
		t.Errorf("its tags are %v, %v", tags.Tags, err)
	}
	if !aws.ToBool(is.Table.DeletionProtectionEnabled) {
		t.Error("deletion protection is disabled")
	}
}

func row() map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "a"}}
}

// makeTable creates a table with a row and the template's production settings.
func makeTable(t *testing.T, client *dynamodb.Client) string {
	t.Helper()
	name := "restore-" + rand.Text()
	_, err := client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest, DeletionProtectionEnabled: aws.Bool(true),
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}},
		StreamSpecification:  &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewImage},
		Tags:                 []types.Tag{{Key: aws.String("service"), Value: aws.String("campaign-dispatch")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { drop(t, client, name) })
	_, err = client.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{
		TableName: &name, TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("expiresAt"), Enabled: aws.Bool(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: row()}); err != nil {
		t.Fatal(err)
	}
	return name
}

func drop(t *testing.T, client *dynamodb.Client, name string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	_, _ = client.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: &name, DeletionProtectionEnabled: aws.Bool(false)})
	_, _ = client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name})
}
