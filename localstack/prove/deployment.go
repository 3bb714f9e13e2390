package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfn "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"campaign-dispatch/internal/ops/drift"
	"campaign-dispatch/localstack/ownstack"
	"campaign-dispatch/localstack/stackenv"
	"campaign-dispatch/localstack/uuid"
)

// deployment deploys a stack of its own again and again: to new versions and back,
// out of step with its template, and over to tables as they were before.
func deployment(ctx context.Context, _ stackenv.Env) (results []result, err error) {
	stack, err := ownstack.New(ctx, "campaign-dispatch-deployment", ".local/deployment")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stack.Down(ctx)) }()
	env, err := stack.Up(ctx, "--parameter", "MinLeadSeconds=2", "--parameter", "SweepAfterSeconds=2")
	if err != nil {
		return nil, err
	}
	for _, show := range []func(context.Context, *ownstack.Stack, stackenv.Env) (result, error){
		newVersion, wayBack, halfDeployed, drifting, restoring,
	} {
		r, err := show(ctx, stack, env)
		if err != nil {
			return results, err
		}
		results = append(results, r)
	}
	said, err := searched(ctx, env, "deployment")
	return append(results, said...), err
}

// newVersion deploys a change while clients dispatch campaigns and read them.
func newVersion(ctx context.Context, stack *ownstack.Stack, env stackenv.Env) (result, error) {
	before, err := versions(ctx, env)
	if err != nil {
		return result{}, err
	}
	s, err := newService(ctx, env)
	if err != nil {
		return result{}, err
	}
	stop := s.call(ctx)
	_, err = stack.Redeploy(ctx, "--parameter", "LogLevel=DEBUG")
	made, failed := stop()
	if err != nil {
		return result{}, err
	}
	after, err := versions(ctx, env)
	if err != nil {
		return result{}, err
	}
	moved := 0
	for function, version := range after {
		if version != before[function] {
			moved++
		}
	}
	return result{
		"deployment", "a new version under calls; the emulator moves aliases at once, AWS by shares",
		fmt.Sprintf("%d of %d functions moved, %d of %d calls that dispatch a campaign or read one failed", moved, len(after), failed, made),
		moved == len(after) && failed == 0 && made > 0,
	}, nil
}

// call dispatches campaigns and reads each until it is stopped.
func (s service) call(ctx context.Context) (stop func() (made, failed int)) {
	ctx, cancel := context.WithCancel(ctx)
	over, made, failed := make(chan struct{}), 0, 0
	go func() {
		defer close(over)
		for ctx.Err() == nil {
			id := uuid.New()
			for _, do := range []func() error{
				func() error { return s.dispatch(ctx, id, 1, someNumbers(1)) },
				func() error { _, err := s.campaign(ctx, id); return err },
			} {
				err := do()
				if ctx.Err() != nil {
					return
				}
				if made++; err != nil {
					failed++
				}
			}
			time.Sleep(50 * time.Millisecond) // all that is dispatched is sent, too
		}
	}()
	return func() (int, int) {
		cancel()
		<-over
		return made, failed
	}
}

func statusOf(ctx context.Context, env stackenv.Env) (int, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, env["BASE_URL"]+"/api/v1/openapi.json", http.NoBody)
	if err != nil {
		return 0, err
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	return got.StatusCode, got.Body.Close()
}

// versions are those that the aliases of the functions point to.
func versions(ctx context.Context, env stackenv.Env) (map[string]string, error) {
	client, found := lambda.NewFromConfig(env.AWS()), map[string]string{}
	for key, name := range env {
		if !strings.HasSuffix(key, "_FUNCTION") {
			continue
		}
		is, err := client.GetAlias(ctx, &lambda.GetAliasInput{FunctionName: &name, Name: aws.String(alias)})
		if err != nil {
			return nil, fmt.Errorf("read the alias of %s: %w", name, err)
		}
		found[key] = aws.ToString(is.FunctionVersion)
	}
	return found, nil
}

// wayBack lets a broken version have all calls, and takes it back as CodeDeploy does.
func wayBack(ctx context.Context, _ *ownstack.Stack, env stackenv.Env) (result, error) {
	s, err := newService(ctx, env)
	if err != nil {
		return result{}, err
	}
	w := &watch{service: s, names: map[string]string{"CampaignsFunction": env["CAMPAIGNS_FUNCTION"]}}
	id := "0d9f2f4c-5c1e-4b7a-9a53-2f6f1f0a7b11"
	undo, err := w.misled(ctx, "CampaignsFunction", "CAMPAIGNS_TABLE", "gone")
	if err != nil {
		return result{}, err
	}
	_, broken := s.campaign(ctx, id)
	if err := undo(ctx); err != nil {
		return result{}, err
	}
	_, mended := s.campaign(ctx, id)
	return result{
		"deployment", "a broken version, and the alias moved back to the one before",
		fmt.Sprintf("reading a campaign: %s, then %s", answered(broken), answered(mended)),
		answered(broken) == "500" && answered(mended) == "404",
	}, nil
}

// answered is the status that an error of a call tells, or the error.
func answered(err error) string {
	_, after, ok := strings.Cut(fmt.Sprint(err), "answered ")
	if !ok {
		return fmt.Sprint(err)
	}
	status, _, _ := strings.Cut(after, " ")
	return status
}

// halfDeployed deploys a new version, and after it what is refused: an alias that is
// there already.
func halfDeployed(ctx context.Context, _ *ownstack.Stack, env stackenv.Env) (result, error) {
	before, err := versions(ctx, env)
	if err != nil {
		return result{}, err
	}
	status, moved, err := deployHalf(ctx, env)
	if err != nil {
		return result{}, err
	}
	after, err := versions(ctx, env)
	if err != nil {
		return result{}, err
	}
	answer, err := statusOf(ctx, env)
	same := maps.Equal(before, after)
	return result{
		"deployment", "a deployment refused half way, its new version serving already",
		fmt.Sprintf("%s; new version first: %v, the one before again: %v; the API answers %d", status, moved, same, answer),
		status == cfn.StackStatusUpdateRollbackComplete && moved && same && answer == http.StatusOK,
	}, err
}

// deployHalf returns how the deployment ended, and whether it had moved an alias.
func deployHalf(ctx context.Context, env stackenv.Env) (status cfn.StackStatus, moved bool, err error) {
	const key = "refused.yaml"
	objects := s3.NewFromConfig(env.AWS(), func(o *s3.Options) { o.UsePathStyle = true })
	got, err := objects.GetObject(ctx, &s3.GetObjectInput{Bucket: aws.String("artifacts"), Key: aws.String("template.yaml")})
	if err != nil {
		return "", false, fmt.Errorf("read what is deployed: %w", err)
	}
	template, err := io.ReadAll(got.Body)
	if err := errors.Join(err, got.Body.Close()); err != nil {
		return "", false, err
	}
	release := strings.ReplaceAll(uuid.New(), "-", "")
	text := regexp.MustCompile(`\b[0-9a-f]{64}\b`).ReplaceAllString(string(template), release)
	text = strings.Replace(text, "\nResources:\n", "\nResources:\n    Refused:\n        Type: AWS::Lambda::Alias\n        DependsOn: TokenFunctionAliaslive\n"+
		"        Properties: {FunctionName: !Ref TokenFunction, Name: live, FunctionVersion: $LATEST}\n", 1)
	if _, err := objects.PutObject(ctx, &s3.PutObjectInput{Bucket: aws.String("artifacts"), Key: aws.String(key), Body: strings.NewReader(text)}); err != nil {
		return "", false, fmt.Errorf("keep what is to be refused: %w", err)
	}
	return deployTemplate(ctx, env, env["AWS_ENDPOINT_URL"]+"/artifacts/"+key)
}

func deployTemplate(ctx context.Context, env stackenv.Env, template string) (status cfn.StackStatus, moved bool, err error) {
	client, name := cloudformation.NewFromConfig(env.AWS()), env["STACK_NAME"]
	was, err := client.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &name})
	if err != nil {
		return "", false, err
	}
	parameters := was.Stacks[0].Parameters
	for i := range parameters {
		parameters[i] = cfn.Parameter{ParameterKey: parameters[i].ParameterKey, UsePreviousValue: aws.Bool(true)}
	}
	_, err = client.UpdateStack(ctx, &cloudformation.UpdateStackInput{
		StackName: &name, TemplateURL: &template, Parameters: parameters,
		Capabilities: []cfn.Capability{cfn.CapabilityCapabilityIam, cfn.CapabilityCapabilityAutoExpand},
	})
	if err != nil {
		return "", false, fmt.Errorf("deploy what is refused: %w", err)
	}
	return awaitEnd(ctx, client, name)
}

// awaitEnd returns how an update ended, and whether an alias had been moved.
func awaitEnd(ctx context.Context, client *cloudformation.Client, name string) (status cfn.StackStatus, moved bool, err error) {
	for {
		is, err := client.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &name})
		if err != nil {
			return "", false, err
		}
		if status = is.Stacks[0].StackStatus; !strings.HasSuffix(string(status), "_IN_PROGRESS") {
			break
		}
		select {
		case <-ctx.Done():
			return "", false, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	events, err := client.DescribeStackEvents(ctx, &cloudformation.DescribeStackEventsInput{StackName: &name})
	if err != nil {
		return "", false, err
	}
	for _, e := range events.StackEvents { // newest first
		if aws.ToString(e.LogicalResourceId) == name && e.ResourceStatus == cfn.ResourceStatusUpdateInProgress {
			break
		}
		moved = moved || aws.ToString(e.LogicalResourceId) == "TokenFunctionAliaslive" && e.ResourceStatus == cfn.ResourceStatusUpdateComplete
	}
	return status, moved, nil
}

// drifting changes a queue by hand, and back.
func drifting(ctx context.Context, _ *ownstack.Stack, env stackenv.Env) (result, error) {
	detector := drift.Detector{Client: cloudformation.NewFromConfig(env.AWS()), Stack: env["STACK_NAME"], Tick: time.Second}
	hide := func(seconds string) error {
		_, err := sqs.NewFromConfig(env.AWS()).SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{
			QueueUrl: aws.String(env["SEND_QUEUE_URL"]), Attributes: map[string]string{"VisibilityTimeout": seconds},
		})
		return err
	}
	var told []string
	for _, seconds := range []string{"360", "30", "360"} {
		if err := hide(seconds); err != nil {
			return result{}, err
		}
		found, err := detector.Detect(ctx, func() {})
		if err != nil {
			return result{}, err
		}
		if found.Failed != "" {
			return result{}, errors.New(found.Failed)
		}
		line := []string{fmt.Sprintf("of %d resources %d", found.Checked, len(found.Differences))}
		for _, d := range found.Differences {
			line = append(line, fmt.Sprintf("(%s%s: %s, is %s)", d.Resource, d.Property, d.Expected, d.Actual))
		}
		told = append(told, strings.Join(line, " "))
	}
	kept := strings.HasSuffix(told[1], " 1 (SendQueue/VisibilityTimeout: 360, is 30)") && told[0] == told[2] && strings.HasSuffix(told[0], " 0")
	return result{"deployment", "drift from the template: none, a queue changed by hand, changed back", strings.Join(slices.Compact(told), "; "), kept}, nil
}

// operate runs a command of the operator's on a stack.
func operate(ctx context.Context, env stackenv.Env, arguments ...string) error {
	command := exec.CommandContext(ctx, "go", append([]string{"run", "./internal/cmd/admin"}, arguments...)...) //nolint:gosec // our own program
	command.Env = os.Environ()
	for key, value := range env {
		command.Env = append(command.Env, key+"="+value)
	}
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("admin %s: %w\n%s", arguments[0], err, out)
	}
	return nil
}
