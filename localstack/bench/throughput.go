package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dynamo"
	"campaign-dispatch/localstack/stackenv"
	"campaign-dispatch/localstack/uuid"
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
	store := &dynamo.Store{Client: dynamodb.NewFromConfig(env.AWS()), Auth: env["AUTH_TABLE"], Campaigns: env["CAMPAIGNS_TABLE"], Now: time.Now}
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
	token, err := stackToken(ctx, env)
	if err != nil {
		return nil, err
	}
	started := time.Now()
	if _, err := dispatchAll(ctx, env, token, mobiles(random, throughputMessages), campaign.MaxMessages); err != nil {
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

func stackToken(ctx context.Context, env stackenv.Env) (string, error) {
	var answer struct {
		AccessToken string `json:"access_token"`
	}
	err := postJSON(ctx, env["BASE_URL"]+"/api/v1/oauth/token", "", map[string]string{
		"grant_type": "client_credentials", "client_id": env["CLIENT_ID"], "client_secret": env["CLIENT_SECRET"],
	}, &answer)
	return answer.AccessToken, err
}

// dispatchAll dispatches a new campaign to the numbers, in batches of so many, and
// returns its id.
func dispatchAll(ctx context.Context, env stackenv.Env, token string, numbers []uint64, perBatch int) (string, error) {
	id, name, batch := uuid.New(), "throughput "+rand.Text(), 0
	for part := range slices.Chunk(numbers, perBatch) {
		batch++
		messages := make([]map[string]string, len(part))
		for i, n := range part {
			messages[i] = map[string]string{"phone": fmt.Sprintf("+%d", n), "uid": strconv.Itoa(i)}
		}
		var answer struct{ Accepted int }
		err := postJSON(ctx, env["BASE_URL"]+"/api/v1/external/campaigns/dispatch", token, map[string]any{
			"campaignId": id, "name": name, "templateId": env["TEMPLATE_ID_PLAIN"], "batch": strconv.Itoa(batch), "messages": messages,
		}, &answer)
		if err != nil {
			return "", err
		}
		if answer.Accepted != len(part) {
			return "", errors.New("not every message was accepted")
		}
	}
	return id, nil
}

func postJSON(ctx context.Context, address, token string, request, into any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body)) //nolint:gosec // the local stack
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(r) //nolint:gosec // the local stack
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("POST %s: %s", r.URL.Path, answer.Status)
	}
	return json.NewDecoder(answer.Body).Decode(into)
}
