package runner

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfn "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"campaign-dispatch/internal/base/retry"
)

// deployedFile holds the digest of the last deployment.
const deployedFile = "deployed"

// deploy deploys the template and the packages unless they are unchanged, and returns the stack's outputs.
func (s Stack) deploy(ctx context.Context, template string, packages []Package) (map[string]string, error) {
	step := s.Log.Step("deploy")
	client := cloudformation.NewFromConfig(s.aws().AWS())
	digest := s.digest(template)
	before, _ := os.ReadFile(s.state(deployedFile))
	if string(before) == digest {
		step.Done("nothing changed")
		return s.outputs(ctx, client)
	}
	step.Note("uploading the functions")
	if err := s.upload(ctx, template, packages); err != nil {
		return nil, err
	}
	step.Note("creating resources")
	if err := s.apply(ctx, client, len(before) > 0); err != nil {
		return nil, err
	}
	outputs, err := s.outputs(ctx, client)
	if err != nil {
		return nil, err
	}
	if err := s.serveMedia(ctx, outputs["MediaBucketName"]); err != nil {
		return nil, err
	}
	if err := writeFile(s.state(apiIDFile), outputs["HttpApiId"]); err != nil {
		return nil, err
	}
	step.Done("%s is up to date", s.Name)
	return outputs, writeFile(s.state(deployedFile), digest)
}

// digest returns a digest of the template and the parameters.
func (s Stack) digest(template string) string {
	sum := sha256.New()
	_, _ = sum.Write([]byte(template))
	for _, p := range s.parameters() {
		_, _ = fmt.Fprintf(sum, "\n%s=%s", *p.ParameterKey, *p.ParameterValue)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// parameters returns the template's parameters, sorted by name.
func (s Stack) parameters() []cfn.Parameter {
	values := map[string]string{
		"Architecture": map[string]string{"amd64": "x86_64", "arm64": "arm64"}[runtime.GOARCH],
		"Environment":  "local",
		"Load":         "local",
		"BaseUrl":      url(s.Ports.Base),
		"LinkUrl":      url(s.Ports.Base),
		"RcsUrl":       url(s.Ports.RCS),
		"SignInUrl":    url(s.Ports.AWS),
	}
	maps.Copy(values, s.Parameters)
	parameters := make([]cfn.Parameter, 0, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		parameters = append(parameters, cfn.Parameter{ParameterKey: aws.String(name), ParameterValue: aws.String(values[name])})
	}
	return parameters
}

// released returns the parameters with a Release that changes with the parameters and the functions.
func (s Stack) released(packages []Package) (map[string]string, error) {
	template, err := packagedTemplate(packages, s.Parameters)
	if err != nil {
		return nil, err
	}
	parameters := map[string]string{}
	maps.Copy(parameters, s.Parameters)
	parameters["Release"] = s.digest(template)
	return parameters, nil
}

// upload uploads the functions' packages and the template to S3. The template exceeds the size limit of a TemplateBody.
func (s Stack) upload(ctx context.Context, template string, packages []Package) error {
	client := s3.NewFromConfig(s.aws().AWS(), func(o *s3.Options) { o.UsePathStyle = true })
	_, err := client.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String(artifacts)})
	if err != nil {
		return fmt.Errorf("create the bucket of the functions' packages: %w", err)
	}
	put := func(key string, content []byte) error {
		_, err := client.PutObject(ctx, &s3.PutObjectInput{
			Bucket: aws.String(artifacts), Key: aws.String(key), Body: bytes.NewReader(content),
		})
		return err
	}
	for _, p := range packages {
		if _, err := client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: aws.String(artifacts), Key: aws.String(p.Key)}); err == nil {
			continue // its key has the digest of its content
		}
		if err := put(p.Key, p.Zip); err != nil {
			return fmt.Errorf("upload the function %s: %w", p.Name, err)
		}
	}
	if err := put(templateFile, []byte(template)); err != nil {
		return fmt.Errorf("upload the template: %w", err)
	}
	return nil
}

const readableMedia = `{"Version": "2012-10-17", "Statement": [{"Sid": "ServeMedia", "Effect": "Allow", "Principal": "*",
 "Action": "s3:GetObject", "Resource": "arn:aws:s3:::%s/media/*"}]}`

// serveMedia lets the emulator serve uploaded files. On AWS, CloudFront serves them from a private bucket.
func (s Stack) serveMedia(ctx context.Context, bucket string) error {
	client := s3.NewFromConfig(s.aws().AWS(), func(o *s3.Options) { o.UsePathStyle = true })
	if _, err := client.DeletePublicAccessBlock(ctx, &s3.DeletePublicAccessBlockInput{Bucket: &bucket}); err != nil {
		return fmt.Errorf("allow a public policy of the media bucket: %w", err)
	}
	policy := fmt.Sprintf(readableMedia, bucket)
	if _, err := client.PutBucketPolicy(ctx, &s3.PutBucketPolicyInput{Bucket: &bucket, Policy: &policy}); err != nil {
		return fmt.Errorf("let everybody read the media bucket: %w", err)
	}
	return nil
}

func (s Stack) apply(ctx context.Context, client *cloudformation.Client, exists bool) error {
	template := aws.String(url(s.Ports.AWS) + "/" + artifacts + "/" + templateFile)
	capabilities := []cfn.Capability{cfn.CapabilityCapabilityIam, cfn.CapabilityCapabilityNamedIam, cfn.CapabilityCapabilityAutoExpand}
	var err error
	if exists {
		_, err = client.UpdateStack(ctx, &cloudformation.UpdateStackInput{
			StackName: &s.Name, TemplateURL: template, Parameters: s.parameters(), Capabilities: capabilities,
		})
	} else {
		_, err = client.CreateStack(ctx, &cloudformation.CreateStackInput{
			StackName: &s.Name, TemplateURL: template, Parameters: s.parameters(), Capabilities: capabilities,
		})
	}
	if err != nil {
		return fmt.Errorf("deploy %s: %w", templateFile, reason(err))
	}
	return s.awaitStack(ctx, client)
}

// awaitStack waits until the deployment ends. Its error has the first failure.
func (s Stack) awaitStack(ctx context.Context, client *cloudformation.Client) error {
	const tick = 100 * time.Millisecond
	for {
		stack, err := s.describe(ctx, client)
		if err != nil {
			return err
		}
		switch status := string(stack.StackStatus); {
		case status == string(cfn.StackStatusCreateComplete), status == string(cfn.StackStatusUpdateComplete):
			return nil
		case strings.HasSuffix(status, "_FAILED"), strings.HasSuffix(status, "_COMPLETE") && !strings.HasSuffix(status, "CLEANUP_IN_PROGRESS"):
			return fmt.Errorf("deploy %s: %s", templateFile, s.firstFailure(ctx, client, status))
		}
		if err := retry.Sleep(ctx, tick); err != nil {
			return fmt.Errorf("deploy %s: %w", templateFile, err)
		}
	}
}

func (s Stack) describe(ctx context.Context, client *cloudformation.Client) (cfn.Stack, error) {
	answer, err := client.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &s.Name})
	if err != nil {
		return cfn.Stack{}, fmt.Errorf("describe the stack: %w", reason(err))
	}
	if len(answer.Stacks) == 0 {
		return cfn.Stack{}, fmt.Errorf("stack %s not found", s.Name)
	}
	return answer.Stacks[0], nil
}

// firstFailure returns the first failed resource and the reason, or status.
func (s Stack) firstFailure(ctx context.Context, client *cloudformation.Client, status string) string {
	answer, err := client.DescribeStackEvents(ctx, &cloudformation.DescribeStackEventsInput{StackName: &s.Name})
	if err != nil {
		return status
	}
	for _, event := range slices.Backward(answer.StackEvents) { // newest first
		if strings.HasSuffix(string(event.ResourceStatus), "_FAILED") {
			return aws.ToString(event.LogicalResourceId) + ": " + aws.ToString(event.ResourceStatusReason)
		}
	}
	return status
}

func (s Stack) outputs(ctx context.Context, client *cloudformation.Client) (map[string]string, error) {
	stack, err := s.describe(ctx, client)
	if err != nil {
		return nil, err
	}
	outputs := map[string]string{}
	for _, o := range stack.Outputs {
		outputs[aws.ToString(o.OutputKey)] = aws.ToString(o.OutputValue)
	}
	return outputs, nil
}

// reason returns the service's message of an SDK error, or err.
func reason(err error) error {
	var apiError interface{ ErrorMessage() string }
	if errors.As(err, &apiError) && apiError.ErrorMessage() != "" {
		return errors.New(apiError.ErrorMessage())
	}
	return err
}

// writeFile replaces a file atomically.
func writeFile(path, content string) error {
	temporary := path + "." + strconv.Itoa(os.Getpid())
	if err := os.WriteFile(temporary, []byte(content), 0o600); err != nil { //nolint:gosec // the developer sets the path
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(temporary, path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
