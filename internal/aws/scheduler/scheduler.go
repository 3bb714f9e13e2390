// Package scheduler makes one-time schedules with EventBridge Scheduler.
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

// Scheduler makes schedules that put a message on one queue.
type Scheduler struct {
	Client   *scheduler.Client
	Group    string // schedule group
	QueueARN string
	RoleARN  string // the role that Scheduler takes to send to the queue
}

// New returns a Scheduler of that schedule group.
func New(cfg aws.Config, group, queueARN, roleARN string) *Scheduler {
	return &Scheduler{Client: scheduler.NewFromConfig(cfg), Group: group, QueueARN: queueARN, RoleARN: roleARN}
}

// At makes a schedule that puts body on the queue at the instant, within the
// minute, at least once, and then deletes itself. A schedule of that name that
// is there already counts as made: the call before lost its answer. Names have
// 64 characters at most.
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

// wholeSecond rounds up: a schedule that fires before the instant does nothing.
func wholeSecond(at time.Time) time.Time {
	return at.UTC().Add(time.Second - time.Nanosecond).Truncate(time.Second)
}
