// Package provider wires the RCS provider's client for the functions that call it.
package provider

import (
	"time"

	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/aws/ssm"
	"campaign-dispatch/internal/rcs"
)

// New returns the client of a function that makes that many calls at once.
func New(c app.Config, concurrency int) *rcs.Client {
	return &rcs.Client{
		URL: c.RCSURL, Keys: ssm.Reader{Config: c.AWS, Now: time.Now}, HTTP: rcs.NewHTTPClient(concurrency), Now: time.Now,
	}
}
