package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/reach/optout"
	"campaign-dispatch/localstack/stackenv"
)

const somebody = "+5561987650001"

func TestNumber_OnlyOptOut(t *testing.T) {
	t.Parallel()
	c := newTool(t)
	tenant, file := c.tenant(), filepath.Join(t.TempDir(), "out.json")
	s, err := open(t.Context(), func(key string) string { return c.env[key] }, "")
	if err != nil {
		t.Fatal(err)
	}
	book := optout.Book{Store: s.store, Now: time.Now}
	if err := book.Record(t.Context(), tenant, []campaign.OptChange{{Phone: somebody, Out: true, At: time.Now()}}); err != nil {
		t.Fatal(err)
	}
	c.env = withQueues(t, c.env)
	erased := c.run("erase-number", "--tenant", tenant, "--phone", somebody)
	if erased.code != 0 || !strings.Contains(erased.stdout, "kept: the number's opt-out") || !strings.Contains(erased.stdout, "next: ") {
		t.Errorf("erased: exit %d, %q, %q", erased.code, erased.stdout, erased.stderr)
	}
	exported := c.run("export-number", "--tenant", tenant, "--phone", somebody, "--file", file)
	if exported.code != 0 || !strings.Contains(exported.stdout, "it is opted out") {
		t.Errorf("exported: exit %d, %q, %q", exported.code, exported.stdout, exported.stderr)
	}
	for _, said := range []string{erased.stdout, erased.stderr, exported.stdout, exported.stderr} {
		if strings.Contains(said, somebody[1:]) {
			t.Errorf("it repeats the number: %q", said)
		}
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var x struct {
		Phone    string
		OptOut   struct{ OptedOut bool }
		Messages []any
	}
	if err := json.Unmarshal(content, &x); err != nil || x.Phone != somebody || !x.OptOut.OptedOut || x.Messages == nil {
		t.Errorf("the file is %s, %v", content, err)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fs.FileMode(0o600), info.Mode()); diff != "" {
		t.Errorf("the file's mode (-want +got):\n%s", diff)
	}
}

func TestNumber_Invalid(t *testing.T) {
	t.Parallel()
	c := newTool(t)
	tenant := c.tenant()
	c.env = withQueues(t, c.env)
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no digits":      {[]string{"--tenant", tenant, "--phone", "Ana"}, "invalid phone number"},
		"a plus":         {[]string{"--tenant", tenant, "--phone", "+"}, "invalid phone number"},
		"unknown tenant": {[]string{"--tenant", "nowhere", "--phone", somebody}, "does not exist"},
		"no tenant":      {[]string{"--phone", somebody}, "--tenant is missing"},
		"nobody":         {[]string{"--tenant", tenant}, "--phone is missing"},
	} {
		for _, command := range []string{"export-number", "erase-number"} {
			got := c.run(append([]string{command}, test.args...)...)
			if got.code == 0 || !strings.Contains(got.stderr, test.want) || strings.Count(got.stderr, "\n") != 1 || strings.Contains(got.stderr, "8765") {
				t.Errorf("%s, %s: exit %d, %q", command, name, got.code, got.stderr)
			}
		}
	}
}

// A number that dispatch refuses can stand in error files, so it is searched for; the answer says that it may be wrong.
func TestNumber_Refused(t *testing.T) {
	t.Parallel()
	c := newTool(t)
	tenant := c.tenant()
	c.env = withQueues(t, c.env)
	for number, refused := range map[string]bool{"+556187650001": true, "87650001": true, "61 98765-0001": false, "+4407911840966": false} {
		got := c.run("erase-number", "--tenant", tenant, "--phone", number)
		if got.code != 0 || strings.Contains(got.stdout, "check its digits") != refused || strings.Contains(got.stdout, "8765") {
			t.Errorf("%s: exit %d, %q, %q", number, got.code, got.stdout, got.stderr)
		}
	}
}

// withQueues gives a stack its own empty event queues.
func withQueues(t *testing.T, env stackenv.Env) stackenv.Env {
	t.Helper()
	client := sqs.NewFromConfig(env.AWS())
	env = with(env, "EVENTS_QUEUE_URL", newQueue(t, client))
	return with(env, "EVENTS_DEAD_LETTERS_URL", newQueue(t, client))
}

// The queue of a large campaign is never empty. Dead letters need an operator.
func TestEraseNumber_EventsQueued(t *testing.T) {
	t.Parallel()
	c := newTool(t)
	c.env = withQueues(t, c.env)
	client := sqs.NewFromConfig(c.env.AWS())
	send := func(queue string) {
		if _, err := client.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: aws.String(c.env[queue]), MessageBody: aws.String("{}")}); err != nil {
			t.Fatal(err)
		}
	}
	send("EVENTS_QUEUE_URL")
	erase := []string{"erase-number", "--tenant", c.tenant(), "--phone", somebody}
	if got := c.run(erase...); got.code != 0 || !strings.Contains(got.stdout, "nothing to erase") {
		t.Errorf("while an event is queued: exit %d, %q, %q", got.code, got.stdout, got.stderr)
	}
	send("EVENTS_DEAD_LETTERS_URL")
	refused := func(when string) {
		if got := c.run(erase...); got.code != exitFailed || !strings.Contains(got.stderr, "redrive") || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("a dead letter %s: exit %d, %q, %q", when, got.code, got.stdout, got.stderr)
		}
	}
	refused("waits")
	if _, err := client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: aws.String(c.env["EVENTS_DEAD_LETTERS_URL"]), VisibilityTimeout: 600}); err != nil {
		t.Fatal(err)
	}
	refused("is being moved")
}

func TestRun_NumberNotRepeated(t *testing.T) {
	t.Parallel()
	got := newTool(t).run("erase-number", somebody, "--tenant", "acme")
	if got.code != exitUsage || !strings.Contains(got.stderr, "use flags only") || strings.Contains(got.stderr, somebody[1:]) {
		t.Errorf("exit %d, %q", got.code, got.stderr)
	}
}
