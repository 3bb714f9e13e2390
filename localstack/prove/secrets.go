package main

import (
	"context"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"campaign-dispatch/localstack/stackenv"
)

// private are forms that nothing may have that is logged or given up: numbers of
// people, access tokens, signing secrets, and the texts of the demo's messages. What
// follows a hyphen is the end of a UUID, some of which look like a number.
var private = map[string]*regexp.Regexp{
	"a number":          regexp.MustCompile(`(?:^|[^-\w])55[1-9][0-9]9?[0-9]{8}\b`),
	"a token":           regexp.MustCompile(`eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}`),
	"a signing secret":  regexp.MustCompile(`whsec_[A-Za-z0-9+/]{8,}`),
	"a private key":     regexp.MustCompile(`BEGIN (?:EC |RSA )?PRIVATE KEY`),
	"a message's text":  regexp.MustCompile(`saiu para entrega|[Oo]l[áa],? |seu pedido`),
	"an e-mail address": regexp.MustCompile(`[a-z0-9._-]+@[a-z0-9-]+\.[a-z]`),
}

// secrets searches what the functions have said while all other parts ran.
func secrets(ctx context.Context, env stackenv.Env) ([]result, error) {
	return searched(ctx, env, "secrets")
}

// searched is a part's line about all that a stack's functions have logged since it
// began, and all dead letters.
func searched(ctx context.Context, env stackenv.Env, part string) ([]result, error) {
	known := secretsOf(env)
	lines, found := 0, []string{}
	for text, err := range spoken(ctx, env) {
		if err != nil {
			return nil, err
		}
		lines++
		found = append(found, betrayals(text.text, known, text.where)...)
	}
	slices.Sort(found)
	found = slices.Compact(found)
	return []result{{
		part, fmt.Sprintf("%d lines of logs and dead letters, for %d known secrets and %d forms", lines, len(known), len(private)),
		fmt.Sprintf("%d found\n%s", len(found), strings.Join(found, "\n")), len(found) == 0 && lines > 0,
	}}, nil
}

// secretsOf are the values of the stack that nobody may see.
func secretsOf(env stackenv.Env) map[string]string {
	known := map[string]string{}
	for key, value := range env {
		if strings.HasSuffix(key, "_SECRET") || strings.HasSuffix(key, "_TOKEN") || strings.HasSuffix(key, "_PASSWORD") {
			known[key] = value
		}
	}
	return known
}

// betrayals names what a text gives away, without repeating it.
func betrayals(text string, known map[string]string, where string) (found []string) {
	for name, value := range known {
		if value != "" && strings.Contains(text, value) {
			found = append(found, where+": "+name)
		}
	}
	for name, form := range private {
		if form.MatchString(text) {
			found = append(found, where+": "+name)
		}
	}
	return found
}

// utterance is a line of a log, or a dead letter.
type utterance struct{ where, text string }

// spoken yields the lines of all functions' logs and all dead letters.
func spoken(ctx context.Context, env stackenv.Env) iter.Seq2[utterance, error] {
	return func(yield func(utterance, error) bool) {
		for line, err := range logLines(ctx, env) {
			if !yield(line, err) || err != nil {
				return
			}
		}
		for letter, err := range deadLetters(ctx, env) {
			if !yield(letter, err) || err != nil {
				return
			}
		}
	}
}

func logLines(ctx context.Context, env stackenv.Env) iter.Seq2[utterance, error] {
	return func(yield func(utterance, error) bool) {
		client := cloudwatchlogs.NewFromConfig(env.AWS())
		prefix := "/campaign-dispatch/" + env["STACK_NAME"] + "/"
		groups, err := client.DescribeLogGroups(ctx, &cloudwatchlogs.DescribeLogGroupsInput{LogGroupNamePrefix: &prefix})
		if err != nil {
			yield(utterance{}, fmt.Errorf("list the logs: %w", err))
			return
		}
		for _, group := range groups.LogGroups {
			begun := time.UnixMilli(aws.ToInt64(group.CreationTime))
			for line, err := range linesOf(ctx, client, *group.LogGroupName, begun) {
				if !yield(utterance{*group.LogGroupName, line}, err) || err != nil {
					return
				}
			}
		}
	}
}

// deadLetters leaves the letters where they are.
func deadLetters(ctx context.Context, env stackenv.Env) iter.Seq2[utterance, error] {
	return func(yield func(utterance, error) bool) {
		client := sqs.NewFromConfig(env.AWS())
		for key, url := range env {
			if !strings.HasSuffix(key, "_DEAD_LETTERS_URL") {
				continue
			}
			for {
				got, err := client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 10, VisibilityTimeout: 60})
				if err != nil {
					yield(utterance{}, fmt.Errorf("read dead letters: %w", err))
					return
				}
				for _, m := range got.Messages {
					if !yield(utterance{key, aws.ToString(m.Body)}, nil) {
						return
					}
				}
				if len(got.Messages) == 0 {
					break
				}
			}
		}
	}
}
