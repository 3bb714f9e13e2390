package e2e_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/phone/numberset"
	"campaign-dispatch/localstack/testsize"
)

const (
	// exportMemory is the maximum memory of a process of the exports function in bytes.
	exportMemory = 128 << 20
	// progressWithin is the maximum time between two different figures of progress.
	progressWithin = 5 * time.Second
)

// sentCampaign writes a campaign whose messages have all the outcomes.
func (c *client) sentCampaign(messages int, outcomes ...campaign.Outcome) string {
	c.t.Helper()
	store, id := c.store(), campaign.ID{Tenant: c.env["TENANT"], CampaignID: random.UUID()}
	var recording errgroup.Group
	recording.SetLimit(4)
	now := time.Now().Truncate(time.Millisecond)
	for ordinal := 1; messages > 0; ordinal++ {
		n := min(messages, campaign.MaxMessages)
		messages -= n
		b, numbers := c.sentBatch(id, ordinal, n, now)
		must(c.t, store.Accept(c.t.Context(), acceptance.Command{
			Batch: b, Campaign: "Export " + id.CampaignID, Ordinal: ordinal, Packed: numberset.New(numbers).Pack(), CreatedAt: now,
		}, random.Token(16)))
		recording.Go(func() error {
			for minute, outcome := range outcomes {
				head, err := store.LedgerHead(c.t.Context(), b.Key)
				if err != nil {
					return err
				}
				changes := make([]campaign.Change, n)
				for i := range changes {
					changes[i] = campaign.Change{Index: i, Outcome: outcome, At: b.AcceptedAt.Add(time.Duration(minute) * time.Minute)}
				}
				if _, err := store.AppendLedger(c.t.Context(), b, head, head.NewChanges(changes)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	must(c.t, recording.Wait())
	return id.CampaignID
}

// sentBatch stores the payload of a batch of n messages.
func (c *client) sentBatch(id campaign.ID, ordinal, n int, now time.Time) (campaign.Batch, []uint64) {
	c.t.Helper()
	var w payload.Writer
	numbers := make([]uint64, n)
	for i := range numbers {
		numbers[i] = uint64(5511_900_000_000 + (ordinal-1)*campaign.MaxMessages + i)
		w.Add(numbers[i], fmt.Appendf(nil, "cliente josé nº %d", numbers[i]), nil)
	}
	body, offsets := w.Finish()
	name := fmt.Sprint("b", ordinal)
	b := campaign.Batch{
		BatchRef: campaign.BatchRef{ID: id, BatchID: campaign.BatchID(name)}, Name: name, Ordinal: ordinal,
		TemplateID: c.env["TEMPLATE_ID"], TemplateVersion: 1, Payload: "payloads/" + id.Tenant + "/" + id.CampaignID + "/" + random.Token(16),
		Offsets: offsets, Accepted: n, AcceptedAt: now, Due: now, State: campaign.BatchCompleted, ClosedAt: now,
	}
	copy(b.Key[:], random.Bytes(len(b.Key)))
	must(c.t, c.blobs().Put(c.t.Context(), b.Payload, body, "application/octet-stream"))
	return b, numbers
}

// followed starts an export and follows it. It returns the longest time without progress.
func (c *client) followed(campaignID string) (e export, longest time.Duration) {
	c.t.Helper()
	path := "/api/v1/external/campaigns/" + campaignID + "/exports"
	got := c.do(http.MethodPost, path, []byte(`{"format": "excel", "language": "pt-BR"}`), "Authorization", "Bearer "+c.token(), "Content-Type", "application/json")
	if got.status != http.StatusAccepted {
		c.t.Fatalf("export: status %d: %s", got.status, got.body)
	}
	must(c.t, json.Unmarshal(got.body, &e))
	last, moved := 0, time.Now()
	c.eventually(30*time.Minute, "exported", func() bool {
		var now struct {
			export
			Progress struct{ Checked int }
		}
		c.fetch(path+"/"+e.ExportID, &now)
		if now.Progress.Checked > last {
			longest, last, moved = max(longest, time.Since(moved)), now.Progress.Checked, time.Now()
		}
		e = now.export
		return e.Status == "completed"
	})
	return e, longest
}

// peakMemory returns the most memory of a process of the function in bytes.
func (c *client) peakMemory(function string) (peak int64) {
	c.t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/environ")
	must(c.t, err)
	for _, path := range paths {
		environ, err := os.ReadFile(path)
		if err != nil || !c.isFunction(environ, function) {
			continue
		}
		status, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "status"))
		_, after, _ := strings.Cut(string(status), "VmHWM:")
		kilobytes, _ := strconv.ParseInt(strings.TrimSpace(strings.SplitN(after, "kB", 2)[0]), 10, 64)
		peak = max(peak, kilobytes<<10)
	}
	return peak
}

// A large campaign is exported in parts: every message once, within the memory, with
// progress. The file has two parts at least. The proofs export 200,000 messages. EXPORT_MESSAGES=1000000 is the full
// size, and also measures the time without progress.
func TestExport_Large(t *testing.T) {
	t.Parallel()
	size := os.Getenv("EXPORT_MESSAGES")
	messages, err := strconv.Atoi(cmp.Or(size, strconv.Itoa(testsize.Of(60_000, 200_000))))
	must(t, err)
	c := newClient(t).ownTenant()
	id := c.sentCampaign(messages, campaign.OutcomeSent, campaign.OutcomeDelivered, campaign.OutcomeRead)
	began := time.Now()
	e, longest := c.followed(id)
	took, peak := time.Since(began), c.peakMemory("EXPORTS_FUNCTION")
	t.Logf("%d messages in %v, at most %v without progress, %d MiB", messages, took.Round(time.Second), longest.Round(time.Millisecond), peak>>20)
	if peak == 0 || peak >= exportMemory {
		t.Errorf("the function took %d MiB, want less than %d", peak>>20, exportMemory>>20)
	}
	if size != "" && longest > progressWithin { // other tests slow the machine in a run of all
		t.Errorf("%v without progress, want at most %v", longest, progressWithin)
	}
	want := map[string]int{"rows": messages, "numbers": messages, "read": messages, "uids": messages}
	if diff := gocmp.Diff(want, c.countedByPython(e)); diff != "" || e.Lines != messages {
		t.Errorf("%d lines (-want +counted):\n%s", e.Lines, diff)
	}
}

// countedByPython counts what Python's csv module finds in the file of an export.
func (c *client) countedByPython(e export) (counts map[string]int) {
	c.t.Helper()
	res := c.follow(e)
	defer res.Body.Close()
	path := filepath.Join(c.t.TempDir(), "export.csv")
	file, err := os.Create(path)
	must(c.t, err)
	_, err = io.Copy(file, res.Body)
	must(c.t, err)
	must(c.t, file.Close())
	const program = `
import csv, json, sys
rows = csv.reader(open(sys.argv[1], encoding="utf-8-sig", newline=""), delimiter=";")
next(rows)
count, numbers = {"rows": 0, "read": 0, "uids": 0}, set()
for row in rows:
    numbers.add(row[0])
    count["rows"] += 1
    count["read"] += row[2] == "Lida" and row[4] < row[6]
    count["uids"] += row[1] == "cliente josé nº " + "".join(c for c in row[0] if c.isdigit())
print(json.dumps(count | {"numbers": len(numbers)}))`
	out, err := exec.CommandContext(c.t.Context(), c.env["PYTHON"], "-c", program, path).Output()
	must(c.t, err)
	must(c.t, json.Unmarshal(out, &counts))
	return counts
}
