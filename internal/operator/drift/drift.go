// Package drift detects where the resources of a CloudFormation stack differ from its
// template.
package drift

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/smithy-go"

	"campaign-dispatch/internal/base/retry"
)

// Detector detects drift of one stack.
type Detector struct {
	Client *cloudformation.Client
	Stack  string
	Tick   time.Duration // polling interval
}

// Difference is a property that differs from the template, or a deleted resource, which
// has no property.
type Difference struct {
	Resource string // logical ID
	Type     string
	Property string
	Expected string
	Actual   string
}

// Report is the result of a detection.
type Report struct {
	Checked     int // resources compared; CloudFormation does not support every type
	Differences []Difference
	// Failed is the reason why CloudFormation could not compare some resources, or "".
	Failed string
}

// ErrNotSupported means that the endpoint does not support drift detection.
var ErrNotSupported = errors.New("this endpoint does not support drift detection: use AWS")

// Detect detects drift and waits for the result. It calls waiting before each poll.
func (d Detector) Detect(ctx context.Context, waiting func()) (Report, error) {
	begun, err := d.Client.DetectStackDrift(ctx, &cloudformation.DetectStackDriftInput{StackName: &d.Stack})
	if err != nil {
		return Report{}, fmt.Errorf("detect drift of %s: %w", d.Stack, supported(err))
	}
	failed, err := d.await(ctx, begun.StackDriftDetectionId, waiting)
	if err != nil {
		return Report{}, fmt.Errorf("detect drift of %s: %w", d.Stack, err)
	}
	found, err := d.report(ctx)
	found.Failed = failed
	return found, err
}

func supported(err error) error {
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return err
	}
	switch api.ErrorCode() {
	case "InvalidAction", "UnknownOperation", "UnknownOperationException", "NotImplemented":
		return ErrNotSupported
	}
	return err
}

// await waits for the detection. failed is the reason if it failed for some resources,
// else "".
func (d Detector) await(ctx context.Context, id *string, waiting func()) (failed string, err error) {
	for {
		in := &cloudformation.DescribeStackDriftDetectionStatusInput{StackDriftDetectionId: id}
		is, err := d.Client.DescribeStackDriftDetectionStatus(ctx, in)
		if err != nil {
			return "", err
		}
		switch is.DetectionStatus {
		case types.StackDriftDetectionStatusDetectionComplete:
			return "", nil
		case types.StackDriftDetectionStatusDetectionFailed:
			return cmp.Or(aws.ToString(is.DetectionStatusReason), "CloudFormation gives no reason"), nil
		case types.StackDriftDetectionStatusDetectionInProgress:
		}
		waiting()
		if err := retry.Sleep(ctx, d.Tick); err != nil {
			return "", err
		}
	}
}

func (d Detector) report(ctx context.Context) (r Report, err error) {
	in := &cloudformation.DescribeStackResourceDriftsInput{StackName: &d.Stack}
	for {
		page, err := d.Client.DescribeStackResourceDrifts(ctx, in)
		if err != nil {
			return Report{}, fmt.Errorf("list the drift of %s: %w", d.Stack, err)
		}
		for _, resource := range page.StackResourceDrifts {
			r.add(resource)
		}
		if in.NextToken = page.NextToken; in.NextToken == nil {
			return r, nil
		}
	}
}

func (r *Report) add(resource types.StackResourceDrift) {
	found := Difference{Resource: aws.ToString(resource.LogicalResourceId), Type: aws.ToString(resource.ResourceType)}
	switch resource.StackResourceDriftStatus {
	case types.StackResourceDriftStatusNotChecked, types.StackResourceDriftStatusUnknown, types.StackResourceDriftStatusUnsupported:
		return
	case types.StackResourceDriftStatusInSync, types.StackResourceDriftStatusModified:
	case types.StackResourceDriftStatusDeleted:
		found.Expected, found.Actual = "a resource", "deleted"
		r.Differences = append(r.Differences, found)
	}
	r.Checked++
	for _, property := range resource.PropertyDifferences {
		found.Property = aws.ToString(property.PropertyPath)
		found.Expected, found.Actual = aws.ToString(property.ExpectedValue), aws.ToString(property.ActualValue)
		r.Differences = append(r.Differences, found)
	}
}
