package prove

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/operator/drift"
	"campaign-dispatch/localstack/lab/ephemeralstack"
	"campaign-dispatch/localstack/stackenv"
)

// alias is the alias through which all callers call a function.
const alias = "live"

// deployment deploys a new version to a stack of its own while it is called, detects
// drift, and restores its tables to a point in time. The stack has the last release before.
func deployment(ctx context.Context, t *testing.T, _ stackenv.Env) {
	t.Helper()
	release := lastRelease(ctx, t)
	root := checkout(ctx, t, release)
	stack, env := startStackIn(ctx, t, root, "deployment", "--parameter", "MinLeadSeconds=2", "--parameter", "SweepAfterSeconds=2")
	newVersion(ctx, t, stack, env, release)
	detectDrift(ctx, t, env)
	restoreTables(ctx, t, stack, env)
	searchLogs(ctx, t, env)
}

// lastRelease returns the last tag release-* before this version, "" if there is none.
func lastRelease(ctx context.Context, t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(ctx, "git", "describe", "--tags", "--match", "release-*", "--abbrev=0").Output()
	if _, none := errors.AsType[*exec.ExitError](err); none {
		return ""
	}
	check(t, err)
	return strings.TrimSpace(string(out))
}

// checkout returns a folder with the project as of a release, "" for no release. It is a
// worktree that ends with the test.
func checkout(ctx context.Context, t *testing.T, release string) (root string) {
	t.Helper()
	if release == "" {
		return ""
	}
	root = ".local/" + release
	run := func(ctx context.Context, arguments ...string) error {
		out, err := exec.CommandContext(ctx, "git", append([]string{"worktree"}, arguments...)...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("git worktree %s: %w\n%s", arguments[0], err, out)
		}
		return nil
	}
	check(t, run(ctx, "add", "--force", "--detach", root, release))
	t.Cleanup(func() {
		if err := run(context.WithoutCancel(ctx), "remove", "--force", root); err != nil {
			t.Error(err)
		}
	})
	return root
}

// newVersion deploys a change while a client dispatches campaigns and reads them: this
// version after a release, or else another log level.
func newVersion(ctx context.Context, t *testing.T, stack *ephemeralstack.Stack, env stackenv.Env, release string) {
	t.Helper()
	before := versions(ctx, t, env)
	s, err := newService(ctx, env)
	check(t, err)
	check(t, stack.Upgrade(ctx))
	stop := s.callRepeatedly(ctx)
	_, err = stack.Redeploy(ctx, "--parameter", "LogLevel=DEBUG")
	made, failed := stop()
	check(t, err)
	after, moved := versions(ctx, t, env), 0
	for function, version := range after {
		if version != before[function] {
			moved++
		}
	}
	record(t, moved == len(after) && failed == 0 && made > 0,
		"a new version under calls, after "+cmp.Or(release, "this one: no release before this one")+"; the emulator moves aliases at once, AWS by shares",
		fmt.Sprintf("%d of %d functions moved, %d of %d calls that dispatch a campaign or read one failed", moved, len(after), failed, made))
}

// callRepeatedly dispatches campaigns and reads each until it is stopped.
func (s service) callRepeatedly(ctx context.Context) (stop func() (made, failed int)) {
	ctx, cancel := context.WithCancel(ctx)
	over, made, failed := make(chan struct{}), 0, 0
	go func() {
		defer close(over)
		for ctx.Err() == nil {
			id := random.UUID()
			for _, call := range []func() error{
				func() error { return s.dispatch(ctx, id, 1, someNumbers(1)) },
				func() error { _, err := s.campaign(ctx, id); return err },
			} {
				err := call()
				if ctx.Err() != nil {
					return
				}
				if made++; err != nil {
					failed++
				}
			}
			time.Sleep(50 * time.Millisecond) // the stack sends all that is dispatched
		}
	}()
	return func() (int, int) {
		cancel()
		<-over
		return made, failed
	}
}

// versions are the versions of the functions' aliases.
func versions(ctx context.Context, t *testing.T, env stackenv.Env) map[string]string {
	t.Helper()
	client, found := lambda.NewFromConfig(env.AWS()), map[string]string{}
	for key, name := range env {
		if strings.HasSuffix(key, "_FUNCTION") {
			is, err := client.GetAlias(ctx, &lambda.GetAliasInput{FunctionName: &name, Name: aws.String(alias)})
			check(t, err)
			found[key] = aws.ToString(is.FunctionVersion)
		}
	}
	return found
}

// detectDrift changes a queue by hand, and back.
func detectDrift(ctx context.Context, t *testing.T, env stackenv.Env) {
	t.Helper()
	detector := drift.Detector{Client: cloudformation.NewFromConfig(env.AWS()), Stack: env["STACK_NAME"], Tick: time.Second}
	var differences []string
	for _, seconds := range []string{"360", "30", "360"} {
		_, err := sqs.NewFromConfig(env.AWS()).SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{
			QueueUrl: aws.String(env["SEND_QUEUE_URL"]), Attributes: map[string]string{"VisibilityTimeout": seconds},
		})
		check(t, err)
		found, err := detector.Detect(ctx, func() {})
		check(t, err)
		if found.Failed != "" || found.Checked == 0 {
			t.Fatalf("detection of %d resources: %s", found.Checked, found.Failed)
		}
		var lines []string
		for _, d := range found.Differences {
			lines = append(lines, fmt.Sprintf("%s%s: %s, is %s", d.Resource, d.Property, d.Expected, d.Actual))
		}
		differences = append(differences, cmp.Or(strings.Join(lines, ", "), "none"))
	}
	const want = "none; SendQueue/VisibilityTimeout: 360, is 30; none"
	got := strings.Join(differences, "; ")
	record(t, got == want, "drift from the template: as deployed, with a queue changed by hand, changed back", got)
}

// operate runs a command of the operator's on a stack.
func operate(ctx context.Context, t *testing.T, env stackenv.Env, arguments ...string) {
	t.Helper()
	command := exec.CommandContext(ctx, "go", append([]string{"run", "./internal/operator/command"}, arguments...)...)
	command.Env = os.Environ()
	for key, value := range env {
		command.Env = append(command.Env, key+"="+value)
	}
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("admin %s: %v\n%s", arguments[0], err, out)
	}
}
