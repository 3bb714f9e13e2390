package prove

import (
	"context"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/localstack/stackenv"
)

// private are forms that must not be in logs and dead letters: numbers of
// people, access tokens, signing secrets, and the texts of the demo's messages. Digits
// after a hyphen are the end of a UUID, which may look like a number.
var private = map[string]*regexp.Regexp{
	"a number":          regexp.MustCompile(`(?:^|[^-\w])55[1-9][0-9]9?[0-9]{8}\b`),
	"a token":           regexp.MustCompile(`eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}`),
	"a signing secret":  regexp.MustCompile(`whsec_[A-Za-z0-9+/]{8,}`),
	"a private key":     regexp.MustCompile(`BEGIN (?:EC |RSA )?PRIVATE KEY`),
	"a message's text":  regexp.MustCompile(`saiu para entrega|[Oo]l[áa],? |seu pedido`),
	"an e-mail address": regexp.MustCompile(`[a-z0-9._-]+@[a-z0-9-]+\.[a-z]`),
}

// searchLogs searches what the functions of a stack have logged, and all dead letters.
func searchLogs(ctx context.Context, t *testing.T, env stackenv.Env) {
	t.Helper()
	known := secretsOf(env)
	lines, found := 0, []string{}
	search := func(where, text string) {
		lines++
		found = append(found, leaks(text, known, where)...)
	}
	eachLogLine(ctx, t, env, search)
	eachDeadLetter(ctx, t, env, search)
	slices.Sort(found)
	found = slices.Compact(found)
	record(t, len(found) == 0 && lines > 0,
		fmt.Sprintf("%d lines of logs and dead letters, for %d known secrets and %d forms", lines, len(known), len(private)),
		fmt.Sprintf("%d found\n%s", len(found), strings.Join(found, "\n")))
}

// secretsOf are the secret values of the stack.
func secretsOf(env stackenv.Env) map[string]string {
	known := map[string]string{}
	for key, value := range env {
		if strings.HasSuffix(key, "_SECRET") || strings.HasSuffix(key, "_TOKEN") || strings.HasSuffix(key, "_PASSWORD") {
			known[key] = value
		}
	}
	return known
}

// leaks names the secrets in a text, without repeating them.
func leaks(text string, known map[string]string, where string) (found []string) {
	for name, value := range known {
		if value != "" && strings.Contains(text, value) {
			found = append(found, where+": "+name)
		}
	}
	for name, form := range private {
		if form.MatchString(text) {
			found = append(found, where+": "+name)
		}
	}
	return found
}

func eachLogLine(ctx context.Context, t *testing.T, env stackenv.Env, do func(where, text string)) {
	t.Helper()
	client := cloudwatchlogs.NewFromConfig(env.AWS())
	prefix := "/campaign-dispatch/" + env["STACK_NAME"] + "/"
	groups, err := client.DescribeLogGroups(ctx, &cloudwatchlogs.DescribeLogGroupsInput{LogGroupNamePrefix: &prefix})
	check(t, err)
	for _, group := range groups.LogGroups {
		for line, err := range linesOf(ctx, client, *group.LogGroupName, time.UnixMilli(aws.ToInt64(group.CreationTime))) {
			check(t, err)
			do(*group.LogGroupName, line)
		}
	}
}

// eachDeadLetter leaves the messages on their queues.
func eachDeadLetter(ctx context.Context, t *testing.T, env stackenv.Env, do func(where, text string)) {
	t.Helper()
	client := sqs.NewFromConfig(env.AWS())
	for key, url := range env {
		if !strings.HasSuffix(key, "_DEAD_LETTERS_URL") {
			continue
		}
		for more := true; more; {
			got, err := client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 10, VisibilityTimeout: 60})
			check(t, err)
			for _, m := range got.Messages {
				do(key, aws.ToString(m.Body))
			}
			more = len(got.Messages) > 0
		}
	}
}

// linesOf yields all lines of a log group since then.
func linesOf(ctx context.Context, client *cloudwatchlogs.Client, group string, since time.Time) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		linesBetween(ctx, client, group, since.UnixMilli(), time.Now().Add(time.Minute).UnixMilli(), yield)
	}
}

// linesBetween yields the lines of some milliseconds, and reports whether there may be
// more. The emulator's answer ends at the 10,000th line without an error: a
// request with such an answer is repeated for each half of its time.
func linesBetween(ctx context.Context, client *cloudwatchlogs.Client, group string, from, to int64, yield func(string, error) bool) bool {
	const most = 10_000
	got, err := client.FilterLogEvents(ctx, &cloudwatchlogs.FilterLogEventsInput{LogGroupName: &group, StartTime: &from, EndTime: &to})
	if err != nil {
		yield("", fmt.Errorf("read the log %s: %w", group, err))
		return false
	}
	if len(got.Events) >= most && from < to {
		middle := from + (to-from)/2
		return linesBetween(ctx, client, group, from, middle, yield) && linesBetween(ctx, client, group, middle+1, to, yield)
	}
	for _, event := range got.Events {
		if !yield(aws.ToString(event.Message), nil) {
			return false
		}
	}
	return true
}

func TestLeaks(t *testing.T) {
	t.Parallel()
	known := map[string]string{"CLIENT_SECRET": "s3cr3t-of-acme"}
	for text, want := range map[string][]string{
		`{"level":"INFO","msg":"sent","batch_id":"0190b6a4-7a1c-4b9f-8a10-0190b6a47a1c","frame":3}`: nil,
		`START RequestId: 0190b6a4-7a1c-4b9f-8a10-551198765432 Version: 1`:                          nil,
		`{"at":1763720000123,"count":551199}`:                                                       nil,
		`to +5511987654321`:                                                                         {"log: a number"},
		`5511987654321`:                                                                             {"log: a number"},
		`{"phone":"5511987654321"}`:                                                                 {"log: a number"},
		`to 551132654321 failed`:                                                                    {"log: a number"},
		`Bearer eyJhbGciOiJFUzI1NiJ9.eyJ0ZW5hbnQiOiJhIn0.sig`:                                       {"log: a token"},
		`endpoint whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw is new`:                                    {"log: a signing secret"},
		`Olá Ana, seu pedido 12 saiu para entrega.`:                                                 {"log: a message's text"},
		`refused: s3cr3t-of-acme`:                                                                   {"log: CLIENT_SECRET"},
		`ana@acme.example signed in`:                                                                {"log: an e-mail address"},
	} {
		got := leaks(text, known, "log")
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}
