// Package scheduler creates one-time schedules with Amazon EventBridge Scheduler.
package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/scheduler/types"
)

// Scheduler creates schedules that send a message to a queue.
type Scheduler struct {
	Client   *scheduler.Client
	Group    string // schedule group
	QueueARN string
	RoleARN  string // role that EventBridge Scheduler assumes
}

// New returns a Scheduler for the schedule group.
func New(cfg aws.Config, group, queueARN, roleARN string) *Scheduler {
	return &Scheduler{Client: scheduler.NewFromConfig(cfg), Group: group, QueueARN: queueARN, RoleARN: roleARN}
}

// At creates a schedule that sends body to the queue at the instant (within a minute, at
// least once) and then deletes itself. An existing schedule with the name is not an error,
// because calls are repeated. Names have at most 64 characters.
func (s *Scheduler) At(ctx context.Context, name string, at time.Time, body []byte) error {
	_, err := s.Client.CreateSchedule(ctx, &scheduler.CreateScheduleInput{
		Name:                  &name,
		GroupName:             &s.Group,
		ScheduleExpression:    aws.String("at(" + wholeSecond(at).Format("2006-01-02T15:04:05") + ")"),
		FlexibleTimeWindow:    &types.FlexibleTimeWindow{Mode: types.FlexibleTimeWindowModeOff},
		ActionAfterCompletion: types.ActionAfterCompletionDelete,
		Target: &types.Target{
			Arn: &s.QueueARN, RoleArn: &s.RoleARN, Input: aws.String(string(body)),
		},
	})
	if exists := (*types.ConflictException)(nil); errors.As(err, &exists) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("create schedule: %w", err)
	}
	return nil
}

// wholeSecond rounds up, because a release before the instant has no effect.
func wholeSecond(at time.Time) time.Time {
	return at.UTC().Add(time.Second - time.Nanosecond).Truncate(time.Second)
}
