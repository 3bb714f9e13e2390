// Package stackenv reads and writes stack.env, the addresses and keys of a running local stack.
package stackenv

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"campaign-dispatch/internal/aws/config"
)

// Variable is the environment variable with the path of stack.env.
const Variable = "STACK_ENV"

// Env holds the KEY=value lines of a stack.env file.
type Env map[string]string

// Get returns the value of a key, or "".
func (e Env) Get(key string) string { return e[key] }

// Load returns the stack.env that STACK_ENV names. It skips the test if STACK_ENV is
// not set. `make test` sets it and fails if a test is skipped.
func Load(tb testing.TB) Env {
	tb.Helper()
	path := os.Getenv(Variable)
	if path == "" {
		tb.Skip("this test needs the local stack: run `make test`, or set STACK_ENV to the stack.env of a running stack")
	}
	env, err := Read(path)
	if err != nil {
		tb.Fatalf("read the stack's addresses: %v", err)
	}
	return env
}

// Read reads a stack.env file.
func Read(path string) (Env, error) {
	f, err := os.Open(path) //nolint:gosec // the developer sets the path
	if err != nil {
		return nil, fmt.Errorf("open stack.env: %w", err)
	}
	defer func() { _ = f.Close() }()
	env := Env{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		key, value, ok := strings.Cut(strings.TrimSpace(lines.Text()), "=")
		if ok && !strings.HasPrefix(key, "#") {
			env[key] = strings.Trim(value, `'"`)
		}
	}
	return env, lines.Err()
}

// String returns the contents of stack.env in shell syntax.
func (e Env) String() string {
	var b strings.Builder
	b.WriteString("# Addresses and keys of the local stack. `make down` deletes this file.\n")
	for _, key := range slices.Sorted(maps.Keys(e)) {
		value := e[key]
		if strings.ContainsAny(value, " $&;|<>*?#'\"\\`()~") {
			value = "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
		}
		fmt.Fprintf(&b, "%s=%s\n", key, value)
	}
	return b.String()
}

// longestCall is longer than every function's timeout, because an Invoke call waits for the function.
const longestCall = 70 * time.Second

// AWS returns the configuration of AWS clients of the stack.
func (e Env) AWS() aws.Config {
	return aws.Config{
		Region:       e["AWS_REGION"],
		BaseEndpoint: aws.String(e["AWS_ENDPOINT_URL"]),
		Credentials: credentials.NewStaticCredentialsProvider(
			e["AWS_ACCESS_KEY_ID"], e["AWS_SECRET_ACCESS_KEY"], ""),
		HTTPClient: config.HTTPClientFor(longestCall),
	}
}

// Token returns an access token of the demo tenant's credential. The service issues at most 10 tokens a minute.
func (e Env) Token(ctx context.Context) (string, error) {
	client := clientcredentials.Config{
		ClientID: e["CLIENT_ID"], ClientSecret: e["CLIENT_SECRET"],
		TokenURL: e["BASE_URL"] + "/api/v1/oauth/token", AuthStyle: oauth2.AuthStyleInParams,
	}
	token, err := client.Token(ctx)
	if err != nil {
		return "", fmt.Errorf("get a token: %w", err)
	}
	return token.AccessToken, nil
}

// OwnTable creates an empty table with the schema of another and returns its name.
// The test's cleanup deletes the table. Use it for tests that other tests' items
// would disturb, and for tests that query indexes often: the emulator scans the whole
// table for each index query.
func (e Env) OwnTable(tb testing.TB, like string) string {
	tb.Helper()
	client, name := dynamodb.NewFromConfig(e.AWS()), "test-"+rand.Text()
	if err := CopyShape(tb.Context(), client, client, like, name); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if _, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name}); err != nil {
			tb.Errorf("delete the test's table: %v", err)
		}
	})
	return name
}

// LedgerTable creates an empty table with the schema of the outcomes table and returns its
// name and its stream's ARN. The test's cleanup deletes the table.
func (e Env) LedgerTable(tb testing.TB) (name, stream string) {
	tb.Helper()
	name = e.OwnTable(tb, e["OUTCOMES_TABLE"])
	made, err := dynamodb.NewFromConfig(e.AWS()).DescribeTable(tb.Context(), &dynamodb.DescribeTableInput{TableName: &name})
	if err != nil {
		tb.Fatalf("describe a table: %v", err)
	}
	return name, aws.ToString(made.Table.LatestStreamArn)
}

// DueShards returns the shards of a table's index of due items that have rows to check until a
// time. Querying every shard is slow, because the emulator scans the whole table each time.
func DueShards(tb testing.TB, client *dynamodb.Client, table string, until time.Time) []int {
	tb.Helper()
	found := map[int]bool{}
	pages := dynamodb.NewScanPaginator(client, &dynamodb.ScanInput{
		TableName: &table, ConsistentRead: aws.Bool(true), ProjectionExpression: aws.String("#due"),
		FilterExpression: aws.String("nextCheck <= :until"), ExpressionAttributeNames: map[string]string{"#due": "due"},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":until": &types.AttributeValueMemberN{Value: strconv.FormatInt(until.UnixMilli(), 10)},
		},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(tb.Context())
		if err != nil {
			tb.Fatalf("read the index of table %s: %v", table, err)
		}
		for _, row := range page.Items {
			due, ok := row["due"].(*types.AttributeValueMemberS)
			if !ok {
				continue
			}
			if shard, err := strconv.Atoi(due.Value); err == nil {
				found[shard] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// CopyShape creates an empty table with the schema of another.
func CopyShape(ctx context.Context, from, to *dynamodb.Client, like, name string) error {
	shape, err := from.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &like})
	if err != nil {
		return fmt.Errorf("describe table %s: %w", like, err)
	}
	_, err = to.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		KeySchema: shape.Table.KeySchema, AttributeDefinitions: shape.Table.AttributeDefinitions,
		GlobalSecondaryIndexes: indexesLike(shape.Table.GlobalSecondaryIndexes), StreamSpecification: shape.Table.StreamSpecification,
	})
	if err != nil {
		return fmt.Errorf("create table %s: %w", name, err)
	}
	return nil
}

// indexesLike returns the definitions of the indexes. It returns nil for none, because DynamoDB rejects an empty list.
func indexesLike(all []types.GlobalSecondaryIndexDescription) (indexes []types.GlobalSecondaryIndex) {
	for _, d := range all {
		indexes = append(indexes, types.GlobalSecondaryIndex{IndexName: d.IndexName, KeySchema: d.KeySchema, Projection: d.Projection})
	}
	return indexes
}
