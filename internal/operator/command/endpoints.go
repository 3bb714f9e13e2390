package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"

	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/settings"
	"campaign-dispatch/internal/webhook/delivery"
)

func endpointCommand(flags *flag.FlagSet) action {
	tenant := flags.String("tenant", "", tenantUsage)
	url := flags.String("url", "", "`URL` that receives the webhooks, https:// (required)")
	kinds := flags.String("kinds", "", "`KINDS` of events, comma-separated: "+strings.Join(settings.Kinds(), ",")+
		" (default: all but message.tapped and those of campaigns, which have to be named)")
	return func(ctx context.Context, s *stack) (answer, error) {
		named := strings.FieldsFunc(*kinds, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
		if *kinds != "" && len(named) == 0 {
			return answer{}, usageError{errors.New("--kinds names no kind: omit it for all message events")}
		}
		e, err := s.service.CreateEndpoint(ctx, *tenant, *url, named)
		return answer{
			Lines: []string{
				fmt.Sprintf("endpoint %s of tenant %s, for %s", e.ID, e.Tenant, kindNames(e.Kinds)),
				"secret:\t" + e.Secret + onlyOnce,
			},
			Data: map[string]any{"id": e.ID, "tenant": e.Tenant, "url": e.URL, "kinds": append([]string{}, e.Kinds...), "secret": e.Secret},
			Next: "verify the webhooks with the secret and a Standard Webhooks library (https://www.standardwebhooks.com)",
		}, err
	}
}

func kindNames(kinds []string) string {
	if len(kinds) == 0 {
		return "all kinds of events but message.tapped and those of campaigns"
	}
	return strings.Join(kinds, ", ")
}

func endpointFlags(flags *flag.FlagSet) (tenant, id *string) {
	return flags.String("tenant", "", tenantUsage), flags.String("id", "", "`ID` of the endpoint (required)")
}

func rotateEndpointCommand(flags *flag.FlagSet) action {
	tenant, id := endpointFlags(flags)
	keep := keepFlag(flags, "`TIME` for which webhooks are signed with the previous secret too, like 0s, 30m or 24h (default: 24h)")
	return func(ctx context.Context, s *stack) (answer, error) {
		r, err := s.service.RotateEndpoint(ctx, *tenant, *id, *keep)
		until := localtime.FormatUTC(r.PreviousUntil)
		return answer{
			Lines: []string{
				"endpoint:\t" + r.ID,
				"secret:\t" + r.Secret + onlyOnce,
				"webhooks are signed with both secrets until " + until,
			},
			Data: map[string]any{"id": r.ID, "secret": r.Secret, "previousUntil": until},
			Next: "give the receiver its new secret before " + until,
		}, err
	}
}

// switchEndpointCommand enables or disables an endpoint.
func switchEndpointCommand(on bool) func(*flag.FlagSet) action {
	return func(flags *flag.FlagSet) action {
		tenant, id := endpointFlags(flags)
		return func(ctx context.Context, s *stack) (answer, error) {
			result := answer{Data: map[string]any{"id": *id, "enabled": on}}
			if on {
				result.Lines = []string{"endpoint " + *id + " is enabled: pending webhooks are posted within a few minutes"}
				result.Next = s.next("resend --tenant "+*tenant+" --id "+*id) + " retries failed webhooks"
				return result, s.service.EnableEndpoint(ctx, *tenant, *id)
			}
			result.Lines = []string{"endpoint " + *id + " is disabled: it receives no new webhooks, and pending ones wait"}
			result.Next = s.next("enable-endpoint --tenant "+*tenant+" --id "+*id) + " enables it again"
			return result, s.service.DisableEndpoint(ctx, *tenant, *id)
		}
	}
}

func resendCommand(flags *flag.FlagSet) action {
	tenant, id := endpointFlags(flags)
	return func(ctx context.Context, s *stack) (answer, error) {
		n, err := s.service.ResendDead(ctx, *tenant, *id, time.Time{}, math.MaxInt)
		failing := false
		if err == nil {
			failing, err = s.service.ProbeSoon(ctx, *tenant, *id)
		}
		if err != nil {
			return answer{}, fmt.Errorf("after %d deliveries: %w", n, err)
		}
		then := "within a minute or two"
		if failing {
			then = "once the failing endpoint answers a probe, which is sent within a minute or two"
		}
		return answer{
			Lines: []string{fmt.Sprintf("%d failed webhook deliveries will be retried %s", n, then)},
			Data:  map[string]any{"id": *id, "deliveries": n, "failing": failing},
			Next:  s.next("failures --tenant "+*tenant+" --id "+*id) + " shows what fails",
		}, nil
	}
}

const maxFailures = 100

func failuresCommand(flags *flag.FlagSet) action {
	tenant, id := endpointFlags(flags)
	return func(ctx context.Context, s *stack) (answer, error) {
		if err := s.service.CheckEndpoint(ctx, *tenant, *id); err != nil {
			return answer{}, err
		}
		found, err := s.store.Failures(ctx, *tenant, *id, maxFailures)
		var failures section
		for _, f := range found {
			failures.add(row{
				{"at", localtime.FormatUTC(f.At)},
				{"code", f.Code},
				{"kind", f.Kind},
				{"webhookId", f.WebhookID},
				{"messageId", f.MessageID},
				{"attempt", f.Attempt},
			})
		}
		return sections(s.next("list --tenant "+*tenant)+" shows the state of its endpoints", named{"failures", failures}), err
	}
}

// health returns the state of an endpoint in a few words.
func (s *stack) health(ctx context.Context, e delivery.Endpoint) (string, error) {
	if e.Off() {
		return "off since " + localtime.FormatUTC(e.OffAt) + ": " + e.OffReason, nil
	}
	c, err := s.store.Circuit(ctx, e.Tenant, e.ID)
	if err != nil || !c.Open() {
		return "on", err
	}
	return fmt.Sprintf("failing since %s, next probe %s", localtime.FormatUTC(c.Since), localtime.FormatUTC(c.Next)), nil
}
