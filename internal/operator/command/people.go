package main

import (
	"context"
	"flag"
	"fmt"

	"campaign-dispatch/internal/settings/account"
)

func userCommand(flags *flag.FlagSet) action {
	who := account.Person{}
	flags.StringVar(&who.Tenant, "tenant", "", "`ID` of the tenant, cannot be changed later (required)")
	flags.StringVar(&who.Email, "email", "", "`ADDRESS` of the person, for signing in (required)")
	flags.StringVar(&who.Role, "role", "viewer", "`ROLE`: viewer reads, author sends campaigns, approver approves them, admin does everything, none removes the person")
	return func(ctx context.Context, s *stack) (answer, error) {
		if err := required("--tenant", who.Tenant); err != nil {
			return answer{}, err
		}
		if err := required("--email", who.Email); err != nil {
			return answer{}, err
		}
		if who.Role == "none" {
			return removePerson(ctx, s, who)
		}
		invited, err := s.service.InvitePerson(ctx, who)
		if err != nil {
			return answer{}, err
		}
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
			Data:  map[string]any{"email": invited.Email, "tenant": invited.Tenant, "role": invited.Role, "known": invited.Known, "password": invited.Password},
			Next:  "sign in at " + s.env("DASHBOARD_URL"),
		}, nil
	}
}

func removePerson(ctx context.Context, s *stack, who account.Person) (answer, error) {
	gone, err := s.service.RemovePerson(ctx, who)
	if err != nil {
		return answer{}, err
	}
	return answer{
		Lines: []string{
			gone.Email + " of tenant " + gone.Tenant + " is removed and can no longer sign in",
			"open sessions have ended",
		},
		Data: map[string]any{"email": gone.Email, "tenant": gone.Tenant, "removed": true},
		Next: s.next("user", "tenant", gone.Tenant, "email", gone.Email) + " invites them again, with a new password",
	}, nil
}
