package dynamo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/reach/lists"
)

// script is a transport with prepared responses, the last one repeated, and records the
// received tokens.
type script struct {
	mu      sync.Mutex
	answers []answer
	tokens  []string
}

type answer func() (*http.Response, error)

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var in struct{ ClientRequestToken string }
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens = append(s.tokens, in.ClientRequestToken)
	next := s.answers[0]
	if len(s.answers) > 1 {
		s.answers = s.answers[1:]
	}
	return next()
}

func (s *script) table() *table {
	return &table{Tables{Auth: "auth", Campaigns: "campaigns", Client: clientOf(s)}}
}

// clientOf returns a client of DynamoDB whose calls a transport answers.
func clientOf(transport http.RoundTripper) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region:       "us-east-1",
		BaseEndpoint: aws.String("http://dynamodb.invalid"),
		Credentials:  credentials.NewStaticCredentialsProvider("id", "secret", ""),
		HTTPClient:   &http.Client{Transport: transport},
	})
}

func reply(status int, body io.Reader) answer {
	return func() (*http.Response, error) {
		return &http.Response{
			StatusCode: status,
			Header:     http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
			Body:       io.NopCloser(body),
		}, nil
	}
}

func committed() answer { return reply(http.StatusOK, strings.NewReader("{}")) }

func refused(status int, code string) answer {
	return func() (*http.Response, error) {
		return reply(status, strings.NewReader(`{"__type":"com.amazonaws.dynamodb.v20120810#`+code+`","message":"no"}`))()
	}
}

func cancelled(codes ...string) answer {
	reasons := make([]map[string]string, 0, len(codes))
	for _, c := range codes {
		reasons = append(reasons, map[string]string{"Code": c})
	}
	body, err := json.Marshal(map[string]any{
		"__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException", "CancellationReasons": reasons,
	})
	return func() (*http.Response, error) {
		if err != nil {
			return nil, err
		}
		return reply(http.StatusBadRequest, bytes.NewReader(body))()
	}
}

func unreachable() (*http.Response, error) { return nil, errors.New("connection reset by peer") }

// cut is a response that ends after its status line.
func cut() (*http.Response, error) {
	return reply(http.StatusOK, io.MultiReader(strings.NewReader("{"), errReader{}))()
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func someItems() []types.TransactWriteItem {
	return []types.TransactWriteItem{
		{Put: &types.Put{TableName: aws.String("auth"), Item: Item{"pk": text("a")}}},
		{Put: &types.Put{TableName: aws.String("auth"), Item: Item{"pk": text("b")}}},
	}
}

func TestTransact(t *testing.T) {
	t.Parallel()
	second := nextToken("token")
	tests := []struct {
		name    string
		answers []answer
		tokens  []string
		reasons []string
	}{
		{name: "committed at once", answers: []answer{committed()}, tokens: []string{"token"}},
		{name: "no connection", answers: []answer{unreachable, committed()}, tokens: []string{"token", "token"}},
		{name: "cut reply", answers: []answer{cut, cut, committed()}, tokens: []string{"token", "token", "token"}},
		{name: "server error", answers: []answer{refused(500, "InternalServerError"), committed()}, tokens: []string{"token", "token"}},
		{name: "unavailable without a body", answers: []answer{reply(503, strings.NewReader("")), committed()}, tokens: []string{"token", "token"}},
		{name: "throttled", answers: []answer{refused(400, "ThrottlingException"), committed()}, tokens: []string{"token", "token"}},
		{name: "throughput exceeded", answers: []answer{refused(400, "ProvisionedThroughputExceededException"), committed()}, tokens: []string{"token", "token"}},
		{name: "limit exceeded", answers: []answer{refused(400, "RequestLimitExceeded"), committed()}, tokens: []string{"token", "token"}},
		{name: "still in progress", answers: []answer{cut, refused(400, "TransactionInProgressException"), committed()}, tokens: []string{"token", "token", "token"}},
		{
			name:    "a condition failed",
			answers: []answer{cancelled("None", "ConditionalCheckFailed")},
			tokens:  []string{"token"}, reasons: []string{"None", "ConditionalCheckFailed"},
		},
		{
			name:    "a condition failed after a lost reply",
			answers: []answer{unreachable, cancelled("ConditionalCheckFailed", "None")},
			tokens:  []string{"token", "token"}, reasons: []string{"ConditionalCheckFailed", "None"},
		},
		{
			name:    "a condition failed beside a conflict",
			answers: []answer{cancelled("TransactionConflict", "ConditionalCheckFailed")},
			tokens:  []string{"token"}, reasons: []string{"TransactionConflict", "ConditionalCheckFailed"},
		},
		{name: "conflict", answers: []answer{cancelled("TransactionConflict", "None"), committed()}, tokens: []string{"token", second}},
		{name: "throttled within", answers: []answer{cancelled("None", "ThrottlingError"), committed()}, tokens: []string{"token", second}},
		{
			name:    "throughput within",
			answers: []answer{cancelled("ProvisionedThroughputExceeded", "None"), committed()}, tokens: []string{"token", second},
		},
		{
			name:    "conflict after a lost reply keeps the token",
			answers: []answer{cut, cancelled("TransactionConflict", "None"), committed()}, tokens: []string{"token", "token", "token"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := &script{answers: test.answers}
			reasons, err := s.table().transact(t.Context(), someItems(), "token")
			if err != nil {
				t.Fatalf("transact: %v", err)
			}
			if diff := cmp.Diff(test.reasons, codes(reasons)); diff != "" {
				t.Errorf("reasons (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.tokens, s.tokens); diff != "" {
				t.Errorf("tokens (-want +got):\n%s", diff)
			}
		})
	}
}

// A change of a list whose answer is lost is made: the repeated transaction has its token.
func TestSaveList_LostAnswer(t *testing.T) {
	t.Parallel()
	s := &script{answers: []answer{cut, committed()}}
	saved, err := (&RecipientStore{*s.table()}).SaveList(t.Context(), lists.List{Tenant: "t", Name: "a", Version: 1}, account.AuditEntry{Tenant: "t"})
	if !saved || err != nil || len(s.tokens) != 2 || s.tokens[0] != s.tokens[1] {
		t.Errorf("saved: %v, error %v, tokens %q", saved, err, s.tokens)
	}
}

func codes(reasons []types.CancellationReason) []string {
	var codes []string
	for _, r := range reasons {
		codes = append(codes, aws.ToString(r.Code))
	}
	return codes
}

func TestTransact_RepeatedConflict(t *testing.T) {
	t.Parallel()
	s := &script{answers: []answer{cancelled("None", "TransactionConflict")}}
	reasons, err := s.table().transact(t.Context(), someItems(), "token")
	if err != nil {
		t.Fatalf("transact: %v", err)
	}
	if diff := cmp.Diff([]string{"None", "TransactionConflict"}, codes(reasons)); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
	if len(s.tokens) != maxConflicts+1 {
		t.Errorf("sent %d times, want %d", len(s.tokens), maxConflicts+1)
	}
}

func TestTransact_PermanentError(t *testing.T) {
	t.Parallel()
	tests := map[string]answer{
		"no permission":     refused(400, "AccessDeniedException"),
		"no table":          refused(400, "ResourceNotFoundException"),
		"invalid":           refused(400, "ValidationException"),
		"another payload":   refused(400, "IdempotentParameterMismatchException"),
		"an item too large": cancelled("None", "ValidationError"),
	}
	for name, final := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &script{answers: []answer{final}}
			if _, err := s.table().transact(t.Context(), someItems(), "token"); err == nil {
				t.Error("no error")
			}
			if len(s.tokens) != 1 {
				t.Errorf("sent %d times, want once", len(s.tokens))
			}
		})
	}
}

func TestTransact_ContextEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s := &script{answers: []answer{unreachable}}
		_, err := s.table().transact(ctx, someItems(), "token")
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want the context's", err)
		}
		if len(s.tokens) < 2 {
			t.Errorf("sent %d times, want at least twice", len(s.tokens))
		}
	})
}
