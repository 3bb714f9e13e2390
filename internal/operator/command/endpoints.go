package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"strings"
	"time"

	"campaign-dispatch/internal/settings"
	"campaign-dispatch/internal/webhook/delivery"
)

func endpointCommand(flags *flag.FlagSet) action {
	tenant := flags.String("tenant", "", "`ID` of the tenant (required)")
	url := flags.String("url", "", "`URL` that receives the webhooks, https:// (required)")
	kinds := flags.String("kinds", "", "`KINDS` of events, comma-separated: "+strings.Join(settings.Kinds(), ",")+" (default: all but message.tapped and campaign.completed, which have to be named)")
	return func(ctx context.Context, s *stack) (answer, error) {
		if err := required("--tenant", *tenant); err != nil {
			return answer{}, err
		}
		if err := required("--url", *url); err != nil {
			return answer{}, err
		}
		named := split(*kinds)
		if *kinds != "" && len(named) == 0 {
			return answer{}, usageError{errors.New("--kinds names no kind: omit it for all message events")}
		}
		e, err := s.service.CreateEndpoint(ctx, *tenant, *url, named)
		if err != nil {
			return answer{}, err
		}
		return answer{
			Lines: []string{
				fmt.Sprintf("endpoint %s of tenant %s, for %s", e.ID, e.Tenant, kindNames(e.Kinds)),
				"secret:\t" + e.Secret + "\t(shown only once: store it now)",
			},
			Data: map[string]any{"id": e.ID, "tenant": e.Tenant, "url": e.URL, "kinds": append([]string{}, e.Kinds...), "secret": e.Secret},
			Next: "verify the webhooks with the secret and a Standard Webhooks library (https://www.standardwebhooks.com)",
		}, nil
	}
}

func kindNames(kinds []string) string {
	if len(kinds) == 0 {
		return "all kinds of events but message.tapped and campaign.completed"
	}
	return strings.Join(kinds, ", ")
}

// endpointFlags declares the flags that name an endpoint.
func endpointFlags(flags *flag.FlagSet) (tenant, id *string, check func() error) {
	tenant = flags.String("tenant", "", "`ID` of the tenant (required)")
	id = flags.String("id", "", "`ID` of the endpoint (required)")
	return tenant, id, func() error {
		if err := required("--tenant", *tenant); err != nil {
			return err
		}
		return required("--id", *id)
	}
}

func rotateEndpointCommand(flags *flag.FlagSet) action {
	tenant, id, check := endpointFlags(flags)
	keep := keepFlag(flags, "`TIME` for which webhooks are signed with the previous secret too, like 0s, 30m or 24h (default: 24h)")
	return func(ctx context.Context, s *stack) (answer, error) {
		if err := check(); err != nil {
			return answer{}, err
		}
		r, err := s.service.RotateEndpoint(ctx, *tenant, *id, *keep)
		if err != nil {
			return answer{}, err
		}
		until := instant(r.PreviousUntil)
		return answer{
			Lines: []string{
				"endpoint:\t" + r.ID,
				"secret:\t" + r.Secret + "\t(shown only once: store it now)",
				"webhooks are signed with both secrets until " + until,
			},
			Data: map[string]any{"id": r.ID, "secret": r.Secret, "previousUntil": until},
			Next: "give the receiver its new secret before " + until,
		}, nil
	}
}

func enableEndpointCommand(flags *flag.FlagSet) action {
	tenant, id, check := endpointFlags(flags)
	return func(ctx context.Context, s *stack) (answer, error) {
		if err := check(); err != nil {
			return answer{}, err
		}
		if err := s.service.EnableEndpoint(ctx, *tenant, *id); err != nil {
			return answer{}, err
		}
		return answer{
			Lines: []string{"endpoint " + *id + " is enabled: pending webhooks are posted within a few minutes"},
			Data:  map[string]any{"id": *id, "enabled": true},
			Next:  s.next("resend --tenant "+*tenant+" --id "+*id) + " retries failed webhooks",
		}, nil
	}
}

func disableEndpointCommand(flags *flag.FlagSet) action {
	tenant, id, check := endpointFlags(flags)
	return func(ctx context.Context, s *stack) (answer, error) {
		if err := check(); err != nil {
			return answer{}, err
		}
		if err := s.service.DisableEndpoint(ctx, *tenant, *id); err != nil {
			return answer{}, err
		}
		return answer{
			Lines: []string{"endpoint " + *id + " is disabled: it receives no new webhooks, and pending ones wait"},
			Data:  map[string]any{"id": *id, "enabled": false},
			Next:  s.next("enable-endpoint --tenant "+*tenant+" --id "+*id) + " enables it again",
		}, nil
	}
}

func resendCommand(flags *flag.FlagSet) action {
	tenant, id, check := endpointFlags(flags)
	return func(ctx context.Context, s *stack) (answer, error) {
		if err := check(); err != nil {
			return answer{}, err
		}
		n, err := s.service.ResendDead(ctx, *tenant, *id, time.Time{}, math.MaxInt)
		if err != nil {
			return answer{}, fmt.Errorf("after %d deliveries: %w", n, err)
		}
		failing, err := s.service.ProbeSoon(ctx, *tenant, *id)
		if err != nil {
			return answer{}, fmt.Errorf("after %d deliveries: %w", n, err)
		}
		then := "within a minute or two"
		if failing {
			then = "once the failing endpoint answers a probe, which is sent within a minute or two"
		}
		return answer{
			Lines: []string{fmt.Sprintf("%d failed webhook deliveries will be retried %s", n, then)},
			Data:  map[string]any{"id": *id, "notices": n, "failing": failing},
			Next:  s.next("failures --tenant "+*tenant+" --id "+*id) + " shows what fails",
		}, nil
	}
}

// maxFailures is the maximum number of failures shown.
const maxFailures = 100

func failuresCommand(flags *flag.FlagSet) action {
	tenant, id, check := endpointFlags(flags)
	return func(ctx context.Context, s *stack) (answer, error) {
		if err := check(); err != nil {
			return answer{}, err
		}
		if err := s.service.CheckEndpoint(ctx, *tenant, *id); err != nil {
			return answer{}, err
		}
		found, err := s.store.Failures.Failures(ctx, *tenant, *id, maxFailures)
		if err != nil {
			return answer{}, err
		}
		var failures section
		for _, f := range found {
			failures.add(row{
				{"at", instant(f.At)},
				{"code", f.Code},
				{"kind", f.Kind},
				{"webhookId", f.WebhookID},
				{"messageId", f.MessageID},
				{"attempt", f.Attempt},
			})
		}
		return sections(s.next("list --tenant "+*tenant)+" shows the state of its endpoints", named{"failures", failures}), nil
	}
}

// health returns the state of an endpoint in a few words.
func (s *stack) health(ctx context.Context, e delivery.Endpoint) (string, error) {
	if e.Off() {
		return "off since " + instant(e.OffAt) + ": " + e.OffReason, nil
	}
	c, err := s.store.Circuits.Circuit(ctx, e.Tenant, e.ID)
	if err != nil || !c.Open() {
		return "on", err
	}
	return fmt.Sprintf("failing since %s, next probe %s", instant(c.Since), instant(c.Next)), nil
}
