package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	awsssm "github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/smithy-go"

	"campaign-dispatch/internal/app/settingsstore"
	"campaign-dispatch/internal/aws/cognito"
	"campaign-dispatch/internal/aws/config"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/s3"
	"campaign-dispatch/internal/aws/ssm/ssmwriter"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/operator/redrive"
	"campaign-dispatch/internal/operator/restore"
	"campaign-dispatch/internal/settings"
)

// localStack is the file with the settings of the local stack.
const localStack = ".local/stack.env"

// stack is the stack that a command works on.
type stack struct {
	service settings.Service
	rows    dynamo.Tables
	store   *dynamo.Stores
	auth    *dynamo.AuthStore
	mover   redrive.Mover
	blobs   *s3.Store
	// config configures the AWS clients.
	config aws.Config
	// Clients for commands on the stack as a whole.
	formation *cloudformation.Client
	tables    restore.Tables
	gate      restore.Maintenance
	// env returns a setting of the stack by its name in stack.env.
	env      func(string) string
	name     string // of --stack, "" for the local stack
	byMake   string // start of make's command line, "" if not called by make
	progress io.Writer
}

// open finds the stack: the one named on AWS, else the one in the environment, else the
// local one.
func open(ctx context.Context, env func(string) string, name string) (*stack, error) {
	byMake := env(calledByMake)
	if name == "" && env("AUTH_TABLE") == "" {
		file, err := readEnv(localStack)
		if err != nil {
			return nil, err
		}
		env = func(key string) string { return file[key] }
	}
	config, err := awsConfig(env)
	if err != nil {
		return nil, err
	}
	if name == "" {
		err = answers(ctx, env("AWS_ENDPOINT_URL"))
	} else {
		env, err = outputs(ctx, config, name)
	}
	if err != nil {
		return nil, err
	}
	for _, key := range []string{"AUTH_TABLE", "CAMPAIGNS_TABLE"} {
		if env(key) == "" {
			return nil, fmt.Errorf("the stack has no %s: is it a stack of this service, fully deployed?", key)
		}
	}
	s := newStack(config, env, name)
	s.byMake = byMake
	return s, nil
}

// answers fails if nothing listens at the local stack's address. An AWS client would
// retry for a long time.
func answers(ctx context.Context, endpoint string) error {
	at, err := url.Parse(endpoint)
	if err != nil || endpoint == "" {
		return err
	}
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", at.Host)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("the local stack does not answer at %s: start it with `make up`", endpoint)
	}
	if err != nil {
		return fmt.Errorf("reach the local stack: %w", err)
	}
	return connection.Close()
}

func readEnv(path string) (map[string]string, error) {
	content, err := os.ReadFile(path) //nolint:gosec // always the same file
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("no local stack is running: start it with `make up`, or name one on AWS with --stack NAME")
	}
	if err != nil {
		return nil, fmt.Errorf("find the local stack: %w", err)
	}
	env := map[string]string{}
	for line := range strings.Lines(string(content)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(key, "#") {
			env[key] = strings.Trim(value, `'"`)
		}
	}
	return env, nil
}

func newStack(config aws.Config, env func(string) string, name string) *stack {
	if env("LOCAL_WEBHOOKS") == "1" {
		content.AllowLoopback()
	}
	clock := time.Now
	rows := dynamo.FromEnv(dynamodb.NewFromConfig(config), env, clock)
	store, auth := dynamo.New(rows), dynamo.NewAuthStore(rows)
	return &stack{
		service: settings.Service{
			Store: settingsstore.New(store), Auth: auth, Keys: ssmwriter.Writer{Client: awsssm.NewFromConfig(config)}, Now: clock,
			Stack: env("STACK_NAME"), Simulator: simulatorOf(env), AgentRate: agentRate(env, name), SendRate: number(env, "SEND_RATE"),
			People:        &cognito.Pool{Client: cognitoidentityprovider.NewFromConfig(config), ID: env("USER_POOL_ID")},
			LocalWebhooks: env("LOCAL_WEBHOOKS") == "1", LocalPasswords: env("LOCAL_PASSWORDS") == "1",
		},
		rows: rows, store: store, auth: auth, config: config, mover: redrive.Mover{Client: sqs.NewFromConfig(config)}, env: env, name: name,
		blobs: &s3.Store{
			Client: awss3.NewFromConfig(config, func(o *awss3.Options) { o.UsePathStyle = config.BaseEndpoint != nil }), Bucket: env("BUCKET"),
		},
		formation: cloudformation.NewFromConfig(config),
		tables:    restore.Tables{Client: rows.Client, Tick: everyLook},
		gate: restore.Maintenance{
			Client:        lambda.NewFromConfig(config),
			HTTPFunctions: values(env, "TOKEN_FUNCTION", "DISPATCH_FUNCTION", "CAMPAIGNS_FUNCTION", "DASHBOARD_FUNCTION"),
			Consumers: values(env, "RELEASE_FUNCTION", "SEND_FUNCTION", "OUTCOMES_FUNCTION", "NOTIFY_FUNCTION", "REVOKE_FUNCTION",
				"EXPORTS_FUNCTION", "INTAKE_FUNCTION"),
		},
	}
}

// agentRate returns the rate of a new agent. A stack on AWS that was deployed before it had one gives none.
func agentRate(env func(string) string, name string) int {
	if name != "" && env("AGENT_RATE") == "" {
		return settings.KeepRate
	}
	return number(env, "AGENT_RATE")
}

// number returns a setting that is a whole number, or 0.
func number(env func(string) string, key string) int {
	n, _ := strconv.Atoi(env(key))
	return n
}

func values(env func(string) string, keys ...string) []string {
	found := make([]string, len(keys))
	for i, key := range keys {
		found[i] = env(key)
	}
	return found
}

// next returns the command line of a next step on the same stack: a command and its
// flags, with values quoted for the shell.
func (s *stack) next(command string, flags ...string) string {
	line := []string{"go run ./internal/operator/command", command}
	if s.byMake != "" {
		line[0] = s.byMake
	}
	for pair := range slices.Chunk(flags, 2) {
		name := "--" + pair[0]
		if s.byMake != "" {
			name = variables[pair[0]]
		}
		line = append(line, name+"="+pair[1])
	}
	if s.name != "" && s.byMake == "" {
		line = append(line, "--stack", s.name)
	}
	return strings.Join(line, " ")
}

// longestCall is how long a command waits for the headers of an AWS response.
const longestCall = 10 * time.Second

// awsConfig reads the region and the credentials from the environment.
func awsConfig(env func(string) string) (aws.Config, error) {
	region := cmp.Or(env("AWS_REGION"), env("AWS_DEFAULT_REGION"))
	if region == "" {
		return aws.Config{}, errors.New("the AWS region is not known: set AWS_REGION")
	}
	id, secret := env("AWS_ACCESS_KEY_ID"), env("AWS_SECRET_ACCESS_KEY")
	if id == "" || secret == "" {
		return aws.Config{}, errors.New("there are no AWS credentials in the environment: run " + exportCommand)
	}
	config := aws.Config{
		Region:      region,
		Credentials: credentials.NewStaticCredentialsProvider(id, secret, env("AWS_SESSION_TOKEN")),
		HTTPClient:  config.HTTPClientFor(longestCall),
	}
	if url := env("AWS_ENDPOINT_URL"); url != "" {
		config.BaseEndpoint = &url
	}
	return config, nil
}

// outputs returns the settings of a stack on AWS from its outputs, by their names in
// stack.env. An output has the setting's name, like ReleaseQueueUrl for RELEASE_QUEUE_URL,
// or it ends with Name: AuthTableName for AUTH_TABLE.
func outputs(ctx context.Context, config aws.Config, name string) (func(string) string, error) {
	out, err := cloudformation.NewFromConfig(config).DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &name})
	if api, ok := errors.AsType[smithy.APIError](err); ok && api.ErrorCode() == "ValidationError" {
		return nil, fmt.Errorf("no stack %s in %s: check the name and AWS_REGION", name, config.Region)
	}
	if err != nil {
		return nil, fmt.Errorf("look up stack %s: %w", name, err)
	}
	found := map[string]string{}
	for _, s := range out.Stacks {
		for _, o := range s.Outputs {
			setting := strings.TrimSuffix(aws.ToString(o.OutputKey), "Name")
			found[strings.ToLower(setting)] = aws.ToString(o.OutputValue)
		}
	}
	return func(key string) string {
		switch key {
		case "STACK_NAME":
			return name
		case "BASE_URL":
			return "" // commands show $BASE_URL
		}
		if queue, ok := strings.CutPrefix(key, "EVENTS_"); ok { // the events queue is the one of the function outcomes
			key = "OUTCOMES_" + queue
		}
		return found[strings.ToLower(strings.ReplaceAll(key, "_", ""))]
	}, nil
}

const exportCommand = "`eval \"$(aws configure export-credentials --format env)\"`"

// advice returns a hint for common AWS errors.
func advice(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return " (no answer in time)"
	}
	if _, ok := errors.AsType[*aws.RequestCanceledError](err); ok || errors.Is(err, context.Canceled) {
		return " (interrupted)"
	}
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		if _, ok := errors.AsType[*smithy.OperationError](err); ok {
			return " (no connection: `make status` shows whether the local stack is running)"
		}
		return ""
	}
	switch api.ErrorCode() {
	case "ExpiredToken", "ExpiredTokenException", "UnrecognizedClientException", "InvalidClientTokenId":
		return " (renew the AWS credentials: " + exportCommand + ")"
	case "AccessDenied", "AccessDeniedException":
		return " (these AWS credentials lack the permission)"
	case "ResourceNotFoundException":
		return " (the stack is gone: `make up` starts a local one, --stack names one on AWS)"
	}
	return ""
}
