package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/settings"
)

func commands() []command {
	return []command{
		{name: "tenant", summary: "create or change a tenant and its agent", prepare: tenantCommand, endless: true},
		{name: "prices", summary: "set a tenant's prices by billing class, and its budget", prepare: pricesCommand},
		{name: "agent", summary: "create or change an agent: key, webhook token, rate", prepare: agentCommand},
		{name: "remove-agent", summary: "answer and drop the events of an agent that no tenant uses any more", prepare: removeAgentCommand},
		{name: "template", summary: "create a template, or a new version of one", prepare: templateCommand},
		{name: "credential", summary: "create an API credential for a tenant", prepare: credentialCommand},
		{name: "rotate", summary: "give a credential a new secret", prepare: rotateCommand},
		{name: "revoke", summary: "revoke a credential permanently", prepare: revokeCommand},
		{name: "endpoint", summary: "register a webhook endpoint for a tenant", prepare: endpointCommand},
		{name: "rotate-endpoint", summary: "give an endpoint a new signing secret", prepare: rotateEndpointCommand},
		{name: "enable-endpoint", summary: "enable an endpoint and post its pending webhooks", prepare: switchEndpointCommand(true)},
		{name: "disable-endpoint", summary: "disable an endpoint", prepare: switchEndpointCommand(false)},
		{name: "resend", summary: "retry failed webhooks", prepare: resendCommand, endless: true},
		{name: "failures", summary: "show an endpoint's last failures", prepare: failuresCommand},
		{name: "user", summary: "let a person sign in to a tenant's dashboard, change their role or remove them", prepare: userCommand},
		{name: "pause", summary: "stop sending for all, a tenant or an agent", prepare: pauseCommand(true)},
		{name: "resume", summary: "end a pause", prepare: pauseCommand(false)},
		{name: "redrive", summary: "move dead letters back to their queues", prepare: redriveCommand, endless: true},
		{name: "replay-webhooks", summary: "queue the webhooks of recorded outcomes again, since a time", prepare: replayCommand, endless: true},
		{name: "export-number", summary: "export a tenant's data about a phone number to a file", prepare: exportNumberCommand, endless: true},
		{name: "erase-number", summary: "erase a tenant's data about a phone number", prepare: eraseNumberCommand, endless: true},
		{name: "drift", summary: "detect drift from template.yaml", prepare: driftCommand, endless: true},
		{name: "restore", summary: "stop traffic and restore the tables to a point in time", prepare: restoreCommand, endless: true},
		{name: "hold", summary: "pause sending and stop the functions", prepare: holdCommand, endless: true},
		{name: "reopen", summary: "resume functions stopped by hold or restore", prepare: reopenCommand},
		{
			name: "rotate-signing-keys", summary: "show the next step of rotating the signing keys of access tokens and sessions",
			prepare: rotateSigningKeysCommand,
		},
		{name: "list", summary: "show tenants, agents and pauses, or the resources of a tenant", prepare: listCommand},
	}
}

func tenantCommand(flags *flag.FlagSet) action {
	id := flags.String("id", "", "`ID` of the tenant, new or existing (required)")
	name := flags.String("name", "", "`NAME` of the tenant (default: its id)")
	agent := agentFlags(flags, "agent-id", "`ID` of the agent it sends through "+
		"(a new tenant needs one; default on the local stack: an agent of its own at the simulator)")
	return func(ctx context.Context, s *stack) (answer, error) {
		form, err := agent()
		if err != nil {
			return answer{}, err
		}
		saved, err := s.service.SaveTenant(ctx, settings.TenantForm{ID: *id, Name: *name, Agent: form})
		data := map[string]any{"id": saved.ID, "name": saved.Name, "created": saved.Created, "agent": agentData(saved.Agent)}
		lines := append([]string{fmt.Sprintf("tenant %s (%s) %s", saved.ID, saved.Name, verb(saved.Created))}, agentLines(saved.Agent)...)
		return answer{Lines: lines, Data: data, Next: s.next("template", "tenant", saved.ID, "text", "'Olá {{nome}}!'")}, err
	}
}

func pricesCommand(flags *flag.FlagSet) action {
	tenant := flags.String("tenant", "", tenantUsage)
	form := campaign.BillingForm{}
	flags.StringVar(&form.Basic, "basic", "", "price in `BRL` of a delivered text of at most 160 bytes, 0 for none (default: unchanged)")
	flags.StringVar(&form.Single, "single", "", "price in `BRL` of any other delivered message, 0 for none (default: unchanged)")
	flags.StringVar(&form.Day, "day", "", "limit in `BRL` for a day, 0 for none (default: unchanged)")
	flags.StringVar(&form.Month, "month", "", "limit in `BRL` for a month, 0 for none (default: unchanged)")
	return func(ctx context.Context, s *stack) (answer, error) {
		b, err := s.service.ChangeBilling(ctx, *tenant, form)
		return billingAnswer(*tenant, b), err
	}
}

func billingAnswer(tenant string, b campaign.Billing) answer {
	data, lines := map[string]any{"tenant": tenant, "currency": campaign.Currency}, []string{"tenant " + tenant}
	for _, part := range []struct {
		name, label string
		amount      campaign.Money
	}{
		{"basic", "price of a basic message", b.Basic},
		{"single", "price of a single message", b.Single},
		{"day", "limit for a day", b.Limits.Day},
		{"month", "limit for a month", b.Limits.Month},
	} {
		shown := "none"
		if part.amount > 0 {
			shown, data[part.name] = campaign.Currency+" "+part.amount.String(), part.amount.String()
		}
		lines = append(lines, part.label+":\t"+shown)
	}
	return answer{Lines: lines, Data: data, Next: "a dry run of a dispatch call shows the price"}
}

func agentCommand(flags *flag.FlagSet) action {
	agent := agentFlags(flags, "id", "`ID` of the agent at the provider, new or existing (required)")
	return func(ctx context.Context, s *stack) (answer, error) {
		form, err := agent()
		if err != nil {
			return answer{}, err
		}
		saved, err := s.service.SaveAgent(ctx, form)
		return answer{Lines: agentLines(saved), Data: agentData(saved), Next: s.next("list")}, err
	}
}

func removeAgentCommand(flags *flag.FlagSet) action {
	id := flags.String("id", "", "`ID` of the agent (required)")
	return func(ctx context.Context, s *stack) (answer, error) {
		if err := s.service.RemoveAgent(ctx, *id); err != nil {
			return answer{}, err
		}
		return answer{
			Lines: []string{"agent " + *id + " removed: its events are answered and dropped, a minute from now at the latest"},
			Data:  map[string]any{"id": *id}, Next: s.next("list"),
		}, nil
	}
}

func agentFlags(flags *flag.FlagSet, idFlag, idUsage string) func() (settings.AgentForm, error) {
	id := flags.String(idFlag, "", idUsage)
	keyFile := flags.String("key-file", "", "`FILE` with the JSON key of the agent's service account (required for a new agent)")
	token := flags.String("webhook-token", "", "client `TOKEN` that signs the provider's webhooks (default for a new agent: a random one)")
	rate := rateFlags(flags)
	return func() (form settings.AgentForm, err error) {
		form = settings.AgentForm{ID: *id, WebhookToken: *token}
		if form.Rate, err = rate(); err != nil {
			return form, err
		}
		form.KeyDocument, err = readFile("--key-file", *keyFile)
		return form, err
	}
}

// rateFlags declares the flags for the rate of an agent. The function that it returns returns the rate.
func rateFlags(flags *flag.FlagSet) func() (int, error) {
	rate := settings.KeepRate
	flags.Func("rate", "`N` maximum messages per second (default: unchanged, for a new agent AgentRate of the stack's Load)", func(text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return errors.New("use a whole number of messages per second, like 30, or --unlimited for no limit")
		}
		rate = n
		return nil
	})
	unlimited := flags.Bool("unlimited", false,
		fmt.Sprintf("let the agent send without a limit; it counts as %d messages per second", campaign.UnlimitedRate))
	return func() (int, error) {
		switch {
		case *unlimited && rate != settings.KeepRate:
			return 0, usageError{errors.New("give --rate or --unlimited, not both")}
		case *unlimited:
			return 0, nil
		}
		return rate, nil
	}
}

func agentLines(a settings.SavedAgent) []string {
	limit := "no rate limit"
	if a.Rate > 0 {
		limit = fmt.Sprintf("at most %d messages per second", a.Rate)
	}
	lines := []string{fmt.Sprintf("agent %s %s: %s, key in %s", a.ID, verb(a.Created), limit, a.KeyParameter)}
	if a.TokenMade {
		lines = append(lines, "webhook token of the agent, for the provider's console: "+a.WebhookToken)
	}
	return lines
}

func agentData(a settings.SavedAgent) map[string]any {
	data := map[string]any{"id": a.ID, "rate": a.Rate, "keyParameter": a.KeyParameter, "created": a.Created}
	if a.TokenMade {
		data["webhookToken"] = a.WebhookToken
	}
	return data
}

func templateCommand(flags *flag.FlagSet) action {
	form := settings.TemplateForm{}
	flags.StringVar(&form.Tenant, "tenant", "", tenantUsage)
	flags.StringVar(&form.ID, "id", "", "`UUID` of an existing template, to add a version (default: a new template)")
	flags.StringVar(&form.Name, "name", "", "`NAME` of the template, for lists")
	flags.StringVar(&form.Text, "text", "", "the message's `TEXT`, with {{variable}} where values go")
	card := flags.String("card", "", "`FILE` with a card instead: JSON with title, description, mediaUrl, suggestions")
	content := flags.String("content", "", "`FILE` with any content instead: JSON with text, card, carousel or file, and suggestions")
	traffic := flags.String("traffic", "", "`PURPOSE`: promotion, transaction, authentication or serviceRequest (default: promotion)")
	return func(ctx context.Context, s *stack) (answer, error) {
		if form.Text != "" && *card != "" {
			return answer{}, usageError{errors.New("give --text or --card, not both")}
		}
		form.Traffic = campaign.Traffic(*traffic)
		var err error
		if form.Card, err = readFile("--card", *card); err != nil {
			return answer{}, err
		}
		if form.Content, err = readFile("--content", *content); err != nil {
			return answer{}, err
		}
		t, err := s.service.SaveTemplate(ctx, form)
		names := append([]string{}, t.Variables()...)
		return answer{
			Lines: []string{
				fmt.Sprintf("template %s (%s), version %d", t.ID, t.Name, t.Version),
				"variables: " + cmp.Or(strings.Join(names, ", "), "none"),
			},
			Data: map[string]any{"id": t.ID, "tenant": t.Tenant, "name": t.Name, "version": t.Version, "variables": names},
			Next: "dispatch with \"templateId\": \"" + t.ID + "\"; a credential for it: " + s.next("credential", "tenant", t.Tenant),
		}, err
	}
}

func credentialCommand(flags *flag.FlagSet) action {
	tenant := flags.String("tenant", "", tenantUsage)
	name := flags.String("name", "", "`NAME` of the application that uses the credential (default: \"default\")")
	scopes := flags.String("scopes", "",
		"`SCOPES` with spaces between them: "+strings.Join(account.Scopes, ", ")+" (default: "+account.ScopeDispatch+")")
	return func(ctx context.Context, s *stack) (answer, error) {
		c, err := s.service.CreateCredential(ctx, *tenant, cmp.Or(*name, "default"), "", strings.Fields(*scopes)...)
		return answer{
			Lines: []string{
				fmt.Sprintf("credential %q of tenant %s", c.Name, c.Tenant),
				"client_id:\t" + c.ClientID,
				"client_secret:\t" + c.Secret + onlyOnce,
			},
			Data: map[string]any{
				"clientId": c.ClientID, "clientSecret": c.Secret, "tenant": c.Tenant, "name": c.Name, "scope": c.Scope,
			},
			Next: tokenCall(s.env("BASE_URL")),
		}, err
	}
}

func tokenCall(base string) string {
	return "get a token: curl " + cmp.Or(base, "$BASE_URL") + `/api/v1/oauth/token -H 'Content-Type: application/json' ` +
		`-d '{"grant_type":"client_credentials","client_id":"...","client_secret":"..."}'`
}

func rotateCommand(flags *flag.FlagSet) action {
	id := flags.String("client-id", "", "`ID` of the credential, starts with rcs_ (required)")
	keep := keepFlag(flags, "`TIME` for which the previous secret stays valid, like 0s, 30m or 24h (default: 24h); "+
		"0s revokes it and all refresh tokens at once")
	return func(ctx context.Context, s *stack) (answer, error) {
		r, err := s.service.RotateCredential(ctx, *id, *keep)
		return rotatedCredential(r), err
	}
}

func rotatedCredential(r account.RotatedSecret) answer {
	lines := []string{"client_id:\t" + r.ID, "client_secret:\t" + r.Secret + onlyOnce}
	data := map[string]any{"clientId": r.ID, "clientSecret": r.Secret}
	if r.PreviousUntil.IsZero() {
		data["refreshTokensEnded"] = true
		return answer{
			Lines: append(lines, "the previous secret and all refresh tokens are no longer valid; access tokens are valid for up to one hour more"),
			Data:  data,
			Next:  "give the client its new secret now; to invalidate access tokens too, revoke the credential",
		}
	}
	until := localtime.FormatUTC(r.PreviousUntil)
	data["previousUntil"] = until
	return answer{
		Lines: append(lines, "the previous secret is accepted until "+until),
		Data:  data,
		Next:  "give the client its new secret before " + until,
	}
}

func keepFlag(flags *flag.FlagSet, usage string) *time.Duration {
	keep := 24 * time.Hour
	flags.Func("keep", usage, func(text string) (err error) {
		keep, err = time.ParseDuration(text)
		if err != nil || keep < 0 || text[len(text)-1] <= '9' { // a bare 0 has no unit
			return errors.New("use a time like 0s, 30m or 24h")
		}
		return nil
	})
	return &keep
}

func revokeCommand(flags *flag.FlagSet) action {
	id := flags.String("client-id", "", "`ID` of the credential, starts with rcs_ (required)")
	return func(ctx context.Context, s *stack) (answer, error) {
		return answer{
			Lines: []string{"credential " + *id + " is revoked: its secrets and tokens are no longer valid"},
			Data:  map[string]any{"clientId": *id, "revoked": true},
			Next:  s.next("credential", "tenant", "ID") + " creates another",
		}, s.service.RevokeCredential(ctx, *id)
	}
}

func verb(created bool) string {
	if created {
		return "created"
	}
	return "saved"
}

// pastTime is a flag for a time that is over.
type pastTime struct{ time.Time }

func (t *pastTime) String() string {
	if t.IsZero() {
		return ""
	}
	return localtime.FormatUTC(t.Time)
}

// Set parses a time with its zone.
func (t *pastTime) Set(text string) (err error) {
	if t.Time, err = time.Parse(time.RFC3339, text); err != nil {
		return errors.New("use a time with its zone, like 2026-11-20T12:00:00-03:00")
	}
	return nil
}

// check returns an error if the time of the flag with the name is in the future.
func (t *pastTime) check(name string) error {
	if t.After(time.Now()) {
		return usageError{errors.New("--" + name + " is in the future")}
	}
	return nil
}

const largestFile = 1 << 20

// readFile reads the file that a flag names, "-" for standard input. It returns nothing
// if the flag is not set.
func readFile(name, path string) (content []byte, err error) {
	file := os.Stdin
	switch path {
	case "":
		return nil, nil
	case "-":
	default:
		if file, err = os.Open(path); err != nil { //nolint:gosec // the operator's own file
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		defer func() { _ = file.Close() }()
	}
	content, err = io.ReadAll(io.LimitReader(file, largestFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	case len(content) == 0:
		return nil, fmt.Errorf("%s: %s is empty", name, path)
	case len(content) > largestFile:
		return nil, fmt.Errorf("%s: %s has more than %d bytes", name, path, largestFile)
	}
	return content, nil
}

func userCommand(flags *flag.FlagSet) action {
	who := account.Person{}
	flags.StringVar(&who.Tenant, "tenant", "", "`ID` of the tenant, cannot be changed later (required)")
	flags.StringVar(&who.Email, "email", "", "`ADDRESS` of the person, for signing in (required)")
	flags.StringVar(&who.Role, "role", "",
		"`ROLE`: viewer reads, author sends campaigns, approver approves them, admin does everything, none removes the person (required)")
	return func(ctx context.Context, s *stack) (answer, error) {
		if who.Role == "none" {
			return removePerson(ctx, s, who)
		}
		invited, err := s.service.InvitePerson(ctx, who)
		lines := []string{fmt.Sprintf("%s of tenant %s may sign in as %s", invited.Email, invited.Tenant, invited.Role)}
		switch {
		case invited.Known:
			lines = append(lines, "the password is unchanged; open sessions have ended: the role applies from the next sign-in")
		case invited.Password != "":
			lines = append(lines, "temporary password:\t"+invited.Password)
		default:
			lines = append(lines, "a temporary password was sent by mail")
		}
		return answer{
			Lines: lines,
			Data: map[string]any{
				"email": invited.Email, "tenant": invited.Tenant, "role": invited.Role, "known": invited.Known, "password": invited.Password,
			},
			Next: "sign in at " + s.env("DASHBOARD_URL"),
		}, err
	}
}

func removePerson(ctx context.Context, s *stack, who account.Person) (answer, error) {
	gone, err := s.service.RemovePerson(ctx, who)
	return answer{
		Lines: []string{gone.Email + " of tenant " + gone.Tenant + " is removed and can no longer sign in", "open sessions have ended"},
		Data:  map[string]any{"email": gone.Email, "tenant": gone.Tenant, "removed": true},
		Next:  s.next("user", "tenant", gone.Tenant, "email", gone.Email) + " invites them again, with a new password",
	}, err
}
