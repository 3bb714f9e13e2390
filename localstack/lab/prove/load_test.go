package prove

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/localstack/stackenv"
)

const (
	// defaultMessages is the number of messages, LOAD_MESSAGES for fewer.
	defaultMessages = 1_000_000
	// dispatchers dispatch concurrently.
	dispatchers = 4
	// stallTimeout is the longest time without progress: longer than the visibility timeout of
	// a queue.
	stallTimeout = 8 * time.Minute
	// maxGrowth is the highest ratio of the processor time late in a campaign to that of the
	// beginning, or of a small campaign. It allows for changes of the machine's speed.
	maxGrowth = 1.5
)

func loadMessages() int {
	n, err := strconv.Atoi(os.Getenv("LOAD_MESSAGES"))
	if err != nil || n <= 0 {
		return defaultMessages
	}
	return n
}

// load sends a million messages of one campaign, and checks that each was sent once.
func load(ctx context.Context, t *testing.T, env stackenv.Env) {
	t.Helper()
	s, err := newService(ctx, env)
	check(t, err)
	check(t, errors.Join(s.disableRateLimit(ctx), s.behave(ctx, map[string]any{"noEvents": true}), s.forgetMessages(ctx)))
	watched, stop := watchProcesses(ctx, env)
	defer stop()
	messages := loadMessages()
	numbers := someNumbers(messages + 2*smallBatches*campaign.MaxMessages)
	l, begun := newLoader(s, watched, numbers[:messages], numbers[messages:]), time.Now()
	check(t, l.run(ctx))
	accepted := time.Since(begun)
	numbers = numbers[:messages+len(l.small)*smallBatches*campaign.MaxMessages]
	sending, err := s.awaitReceived(ctx, watched, len(numbers))
	check(t, err)
	took := time.Since(begun)
	check(t, s.awaitSent(ctx, l.large.id, messages))
	for _, small := range l.small {
		check(t, s.awaitSent(ctx, small.id, smallBatches*campaign.MaxMessages))
	}
	once, err := s.sentOnce(ctx, numbers)
	check(t, err)
	what := fmt.Sprintf("%d messages of a campaign in %d batches, and small campaigns", messages, l.large.accepted)
	record(t, once == len(numbers), what, fmt.Sprintf("accepted in %s, sent in %s, %.0f a second, %d numbers once each",
		accepted.Round(time.Second), took.Round(time.Second), float64(len(numbers))/took.Seconds(), once))
	l.record(t)
	sending.record(t, "processor time of sending 1,000, the last tenth by the second")
	recordMemory(ctx, t, env, watched.peaks())
}

// tenths are the processor times of each tenth.
type tenths []time.Duration

func (each tenths) record(t *testing.T, what string) {
	t.Helper()
	if len(each) < 3 {
		record(t, false, what, "too few messages")
		return
	}
	last, second := each[len(each)-1], each[1]
	ratio := float64(last) / float64(max(second, 1))
	record(t, ratio <= maxGrowth, what, fmt.Sprintf("%s by %s: %.2f", last.Round(10*time.Microsecond), second.Round(10*time.Microsecond), ratio))
}

// someNumbers returns different mobile numbers.
func someNumbers(n int) []uint64 {
	random := rand.New(rand.NewPCG(1, 2))
	areas := []uint64{11, 21, 31, 41, 51, 61, 71, 81, 91}
	seen := make(map[uint64]bool, n)
	for len(seen) < n {
		seen[55_00_9_0000_0000+areas[random.IntN(len(areas))]*1_000_000_000+20_000_000+random.Uint64N(70_000_000)] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// awaitSent waits until all messages of a campaign were sent. Reading a large campaign can take longer than a call may,
// while all processors send: the call is then repeated, as the API's document asks clients to.
func (s service) awaitSent(ctx context.Context, id string, n int) error {
	s.http = &http.Client{Transport: repeating{}, Timeout: stallTimeout}
	for known, told, moved := 0, 0, time.Now(); ; {
		now, err := s.campaign(ctx, id)
		if err != nil {
			return err
		}
		if sent := now.Counts["sent"]; sent > known {
			known, moved = sent, time.Now()
		}
		if known-told >= max(1, n/10) || known == n {
			told = known
			fmt.Fprintf(os.Stderr, "  %d of %d messages sent\n", known, n)
		}
		if known == n {
			return nil
		}
		if time.Since(moved) > stallTimeout {
			return fmt.Errorf("%d of %d messages were sent, and no more: %v", known, n, now.Counts)
		}
		if err := wait(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
}

// awaitReceived waits until the provider has n messages, and returns the processor time of sending a thousand in each
// tenth. It does not read the campaign, which can fail while all processors send.
func (s service) awaitReceived(ctx context.Context, watched *processes, n int) (each tenths, err error) {
	var last time.Time
	known, told, moved, before := 0, 0, time.Now(), time.Duration(0)
	for known < n {
		some, err := s.receivedAfter(ctx, &last)
		if err != nil {
			return nil, err
		}
		if known += some; some > 0 {
			moved = time.Now()
		}
		if time.Since(moved) > stallTimeout {
			return nil, fmt.Errorf("the provider got %d of %d messages, and no more", known, n)
		}
		if known-told >= max(1, n/10) || known == n {
			spent := watched.spent("send")
			each = append(each, (spent-before)*1000/time.Duration(known-told))
			told, before = known, spent
			fmt.Fprintf(os.Stderr, "  the provider has %d of %d messages\n", known, n)
		}
		if err := wait(ctx, time.Second); err != nil {
			return nil, err
		}
	}
	return each, nil
}

// receivedAfter returns how many messages the provider accepted after an instant, and sets it to that of the last one.
func (s service) receivedAfter(ctx context.Context, last *time.Time) (n int, err error) {
	address := s.env["RCS_URL"] + "/_sim/messages?after=" + url.QueryEscape(last.Format(time.RFC3339Nano))
	var messages []struct{ AcceptedAt time.Time }
	if err := s.do(ctx, http.MethodGet, address, nil, &messages); err != nil {
		return 0, err
	}
	if len(messages) > 0 {
		*last = messages[len(messages)-1].AcceptedAt
	}
	return len(messages), nil
}

func (s service) forgetMessages(ctx context.Context) error {
	return s.do(ctx, http.MethodDelete, s.env["RCS_URL"]+"/_sim/messages", nil, nil)
}

// sentOnce returns how many of the numbers the provider has exactly one message for.
func (s service) sentOnce(ctx context.Context, numbers []uint64) (int, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.env["RCS_URL"]+"/_sim/messages", http.NoBody)
	if err != nil {
		return 0, err
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = got.Body.Close() }()
	times := make(map[string]int, len(numbers))
	list := json.NewDecoder(got.Body)
	if _, err := list.Token(); err != nil {
		return 0, fmt.Errorf("read what the provider has: %w", err)
	}
	for list.More() {
		var m struct{ Phone string }
		if err := list.Decode(&m); err != nil {
			return 0, fmt.Errorf("read what the provider has: %w", err)
		}
		times[m.Phone]++
	}
	once := 0
	for _, n := range numbers {
		if times["+"+strconv.FormatUint(n, 10)] == 1 {
			once++
		}
	}
	return once, nil
}

// recordMemory compares the peak memory of each function with its setting.
func recordMemory(ctx context.Context, t *testing.T, env stackenv.Env, peaks map[string]int64) {
	t.Helper()
	client := lambda.NewFromConfig(env.AWS())
	var figures []string
	kept := len(peaks) > 0
	for _, function := range slices.Sorted(maps.Keys(peaks)) {
		name := env[strings.ToUpper(function)+"_FUNCTION"]
		c, err := client.GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: &name})
		check(t, err)
		const mebibyte = 1 << 20
		figures = append(figures, fmt.Sprintf("%s %d of %d", function, peaks[function]/mebibyte, *c.MemorySize))
		kept = kept && peaks[function] < int64(*c.MemorySize)*mebibyte
	}
	record(t, kept, "most memory of a process, MiB", strings.Join(figures, ", "))
}
