package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/operator/keyrotation"
)

func rotateSigningKeysCommand(flags *flag.FlagSet) action {
	use := flags.String("keys", "", "`VALUE` of SigningKeys to be deployed: only check it (default: show the next step)")
	switchAt := flags.String("switch-at", "", "`INSTANT` of SigningKeysSwitchAt to be deployed")
	return func(ctx context.Context, s *stack) (answer, error) {
		deployed, err := s.parameters(ctx)
		if err != nil {
			return answer{}, err
		}
		keys, err := keyrotation.Parse(deployed["SigningKeys"], deployed["SigningKeysSwitchAt"])
		if err != nil {
			return answer{}, err
		}
		if *use == "" && *switchAt == "" {
			return s.nextSigningKeys(keys, time.Now())
		}
		// CloudFormation keeps the value of a parameter that is not given.
		wanted, err := keyrotation.Parse(cmp.Or(*use, deployed["SigningKeys"]), cmp.Or(*switchAt, deployed["SigningKeysSwitchAt"]))
		if err != nil {
			return answer{}, usageError{err}
		}
		err = keyrotation.Check(keys, wanted, time.Now())
		return answer{Lines: []string{"all valid tokens stay valid after this deployment"}, Data: map[string]any{"signingKeys": wanted.Use}}, err
	}
}

// nextSigningKeys shows the parameters for the next step of a rotation.
func (s *stack) nextSigningKeys(keys keyrotation.Keys, now time.Time) (answer, error) {
	next, err := keys.Next(now)
	if err != nil {
		return answer{}, err
	}
	if next.SwitchAt.IsZero() {
		return answer{
			Lines: []string{
				"key " + next.Current() + " has replaced key " + keys.Previous() + ", whose tokens have expired; this parameter removes key " +
					keys.Previous() + ":", "  SigningKeys=" + next.Use,
			},
			Data: map[string]any{"signingKeys": next.Use},
			Next: "set it in parameter_overrides of samconfig.toml, remove SigningKeysSwitchAt, and `make deploy`",
		}, nil
	}
	switchAt, deployBy, end := localtime.FormatUTC(next.SwitchAt), localtime.FormatUTC(next.SwitchAt.Add(-keyrotation.Delivery)), localtime.FormatUTC(next.End())
	return answer{
		Lines: []string{
			"key " + keys.Use + " signs access tokens and sessions; these parameters replace it by key " + next.Current() + ":",
			"  SigningKeys=" + next.Use,
			"  SigningKeysSwitchAt=" + switchAt,
		},
		Data: map[string]any{"signingKeys": next.Use, "switchAt": switchAt, "deployBy": deployBy, "endsAt": end},
		Next: "set them in parameter_overrides of samconfig.toml and `make deploy` before " + deployBy + "; after " + end + ", " +
			s.next("rotate-signing-keys") + " shows the last step",
	}, nil
}

func (s *stack) parameters(ctx context.Context) (map[string]string, error) {
	name := s.env("STACK_NAME")
	out, err := s.formation.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &name})
	if err != nil {
		return nil, fmt.Errorf("look up the parameters of stack %s: %w", name, err)
	}
	if len(out.Stacks) == 0 {
		return nil, errors.New("no stack " + name)
	}
	found := map[string]string{}
	for _, p := range out.Stacks[0].Parameters {
		found[aws.ToString(p.ParameterKey)] = aws.ToString(p.ParameterValue)
	}
	return found, nil
}
