// Package releasescheduler wires the scheduling of releases for the functions that accept or
// reschedule batches.
package releasescheduler

import (
	"time"

	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/aws/scheduler"
	"campaign-dispatch/internal/aws/sqs"
	"campaign-dispatch/internal/send/release"
)

// New returns the scheduler of releases.
func New(c app.Config) release.Scheduler {
	return release.Scheduler{
		Releases:  sqs.New(c.AWS, c.ReleaseQueueURL, time.Now),
		Schedules: scheduler.New(c.AWS, c.ScheduleGroup, c.ReleaseQueueARN, c.ScheduleRoleARN),
	}
}
