package main

import (
	"context"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/localstack/stackenv"
)

// throughputMessages go through the running stack.
const throughputMessages = 20_000

// stalled is how long no webhook may come.
const stalled = 2 * time.Minute

// throughputFigures measures the whole stack, the emulator most of all: from the
// first call to the webhook that tells that the last message was read.
func throughputFigures(ctx context.Context, _ benchKey, random *mathrand.Rand) ([]figure, error) {
	env, err := stackenv.Read(os.Getenv(stackenv.Variable))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoStack, err)
	}
	store := dynamo.NewCampaignStore(dynamo.FromEnv(dynamodb.NewFromConfig(env.AWS()), env.Get, time.Now))
	if err := quicken(ctx, store, env["TENANT"]); err != nil {
		return nil, err
	}
	sink := &aftermath{}
	address, err := sink.listen(ctx)
	if err != nil {
		return nil, err
	}
	endpoint := twoKinds(env["TENANT"], address)
	endpoint.Kinds = []string{string(campaign.KindRead)}
	if err := store.SaveEndpoint(ctx, endpoint); err != nil {
		return nil, err
	}
	token, err := env.Token(ctx)
	if err != nil {
		return nil, err
	}
	started := time.Now()
	all := dispatched{numbers: mobiles(random, throughputMessages), perBatch: campaign.MaxMessages}
	if _, err := all.dispatch(ctx, env, token); err != nil {
		return nil, err
	}
	for before, moved := int64(0), time.Now(); before < throughputMessages; time.Sleep(50 * time.Millisecond) {
		if n := sink.posts.Load(); n > before {
			before, moved = n, time.Now()
		}
		if time.Since(moved) > stalled {
			return nil, fmt.Errorf("%d of %d messages were told to be read, and no more", before, throughputMessages)
		}
	}
	rate := throughputMessages / time.Since(started).Seconds()
	return []figure{measured("20,000 messages, accepted to last webhook", rate, "messages/s", 0,
		"through the whole local stack, which waits more than it works")}, nil
}
