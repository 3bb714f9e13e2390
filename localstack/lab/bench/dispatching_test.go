package bench

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/localstack/stackenv"
)

// dispatched is a campaign as it is dispatched.
type dispatched struct {
	numbers  []uint64
	perBatch int
	schedule time.Time // zero for at once
}

// dispatch dispatches the campaign and returns its id.
func (d dispatched) dispatch(ctx context.Context, env stackenv.Env, token string) (string, error) {
	id, name, batch := random.UUID(), "bench "+rand.Text(), 0
	for part := range slices.Chunk(d.numbers, d.perBatch) {
		batch++
		messages := make([]map[string]string, len(part))
		for i, n := range part {
			messages[i] = map[string]string{"phone": fmt.Sprintf("+%d", n), "uid": strconv.Itoa(i)}
		}
		call := map[string]any{
			"campaignId": id, "name": name, "templateId": env["TEMPLATE_ID_PLAIN"], "batch": strconv.Itoa(batch), "messages": messages,
		}
		if !d.schedule.IsZero() {
			call["schedule"] = d.schedule.Format(time.RFC3339)
		}
		var answer struct{ Accepted int }
		if err := postJSON(ctx, env["BASE_URL"]+"/api/v1/external/campaigns/dispatch", token, call, &answer); err != nil {
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
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("POST %s: %s", r.URL.Path, answer.Status)
	}
	return json.NewDecoder(answer.Body).Decode(into)
}

// quiet is how long nothing happens to a campaign that has come to rest.
const quiet = 5 * time.Second

// settle waits until nothing more happens to the campaigns: pages are measured on
// a stack that has nothing else to do.
func settle(ctx context.Context, env stackenv.Env, token string, campaigns ...string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	for _, id := range campaigns {
		for before, since := "", time.Now(); time.Since(since) < quiet; {
			now, err := getText(ctx, env["BASE_URL"]+"/api/v1/external/campaigns/"+id+"?limit=1", token)
			if err != nil {
				return fmt.Errorf("look at a campaign: %w", err)
			}
			if now != before {
				before, since = now, time.Now()
			}
			time.Sleep(quiet / 10)
		}
	}
	return nil
}

func getText(ctx context.Context, address, token string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return "", err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("it answers %d", answer.StatusCode)
	}
	return string(body), err
}
