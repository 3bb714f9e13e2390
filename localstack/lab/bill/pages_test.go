package bill

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/operator/costs"
	"campaign-dispatch/localstack/lab/metering"
)

// README.md and docs/proofs.md publish the costs of the last metered units and of the
// template's resources. `go run ./localstack/tools/report costs` writes them.
func TestPages_Published(t *testing.T) {
	t.Parallel()
	pages, err := Pages("../../..")
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) != 2 {
		t.Errorf("%d pages, want 2", len(pages))
	}
	for path, want := range pages {
		if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(readFile(t, path), "\n")); diff != "" {
			t.Errorf("%s (-metered +published): %s", path, diff)
		}
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const unpublished = `# Costs

| simulated dollars per million messages | old |
|---|---|
| old | 1 |

| dollars per million messages | old |
|---|---|
| old | 1 |

Text.

| dollars per million messages, under other conditions | old |
|---|---|

| dollars a month without messages | old |
|---|---|
| old | 2 |

End.
`

func TestFigures_InProofs(t *testing.T) {
	t.Parallel()
	one := func(function string, writes float64) []Shape {
		return []Shape{{"clustered", "", []Line{{"outcomes", metering.Units{Writes: writes}}, {function, metering.Units{Writes: 0.01}}}, 2}}
	}
	f := figures{
		prices: metering.Prices{Region: "here", Units: metering.Units{Writes: 1}, KMSKeyMonths: 1.5, TransferGB: 0.09},
		other:  metering.Prices{Region: "there", Units: metering.Units{Writes: 2}, NotFound: []string{"dynamoDBWriteUnits"}},
		usual:  Metered{Shapes: one("another", 1), Sweep: metering.Units{Writes: 1}}, oneEndpoint: Metered{Shapes: one("feed", 2)},
		worstCase: Metered{Shapes: one("feed", 3)}, resources: Resources{Keys: 2, Sweeps: 1},
	}
	got, err := f.inProofs(unpublished)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"# Costs\n\n| simulated dollars per million messages | 100,000 a day |", " | 1 million a day |",
		"\n| with two endpoints | 9.3 | 9.6 | 7.5 | 7.8 |\n| with one endpoint | 8.9 | 9.0 | 6.8 | 7.2 |\n\n",
		"\n\n| dollars per million messages | clustered | a day's mix | interleaved |\n|---|---|---|---|\n",
		"\n| recording the events: outcomes | 1.00 | 0.000 | 0.000 |\n", "\n| another | 0.010 | 0.000 | 0.000 |\n",
		"\n| data transfer out, beside the sum | 0.18 | 0.000 | 0.000 |\n| **all, with data transfer** | **1.19** |", "\n| **all, in here** | **1.01** | **0.00** | **0.00** |\n", "\n| in there, without DynamoDB and signatures | 0.00 |",
		"| 0.00 |\n\nText.\n", "\n| with one endpoint | 2.01 |", "\n| full calls, one isolated event of each kind in a batch | 3.01 |",
		"\n| **all** | **43203.00** | at least **86400.00**, some prices unknown |\n| 2 keys | 3.00 | 0.00, some prices unknown |\n", "\n| runs of 1 parts of sweep | 43200.00 | 86400.00, some prices unknown |\n", "|\n\nEnd.\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "old") {
		t.Errorf("the page has rows from before:\n%s", got)
	}
	if _, err := f.inProofs("# Costs"); err == nil {
		t.Error("a page without tables is no error")
	}
}

// README.md has the simulated cost before the metered one, which holds for full calls only.
func TestFigures_InREADME(t *testing.T) {
	t.Parallel()
	f := figures{
		prices: metering.Prices{Units: metering.Units{Writes: 1}, TransferGB: 0.09},
		usual:  Metered{Shapes: []Shape{{"a day's mix", "", []Line{{"outcomes", metering.Units{Writes: 2.23}}}, 2}}},
	}
	const old = "| Cost | About 1 dollars per million messages at 7 a day (simulated, ±20 %); 1.00 if every function call had as many events as it can take (metered lower bound). Data transfer adds 0.10. All in us-east-1 |\n"
	const want = "| Cost | About 10 dollars per million messages at 1 million a day (simulated, ±20 %); 2.23 if every function call had as many events as it can take (metered lower bound). Data transfer adds 0.18. All in us-east-1 |\n"
	if got, err := f.inREADME(old); got != want || err != nil {
		t.Errorf("got %q and %v, want %q", got, err, want)
	}
	if _, err := f.inREADME("| Cost | 2.23 dollars per million messages |"); err == nil {
		t.Error("a page without the simulated cost is no error")
	}
}

// README.md has the cost in the region of staging and production too.
func TestFigures_OtherRegion(t *testing.T) {
	t.Parallel()
	f := figures{other: metering.Prices{TransferGB: 0.15}, usual: Metered{Shapes: []Shape{{"a day's mix", "", nil, 6.33}}}}
	const old = "There the cost is about 1 dollars if DynamoDB costs twice as much (assumed),\nand data transfer adds 0.10.\n"
	const want = "There the cost is about 13 dollars if DynamoDB costs twice as much (assumed),\nand data transfer adds 0.95.\n"
	if got, err := f.otherRegion(old); got != want || err != nil {
		t.Errorf("got %q and %v, want %q", got, err, want)
	}
	if _, err := f.otherRegion("About 10 dollars."); err == nil {
		t.Error("a page without the cost of the other region is no error")
	}
}

func TestKeep(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	file := filepath.Join(root, "cost.json")
	m := Metered{Shapes: []Shape{{"clustered", "by batch", []Line{{"send", metering.Units{Writes: 2}}}, 1}}}
	for name, test := range map[string]struct {
		Conditions

		kept bool
	}{
		"published":     {OneEndpoint, true},
		"not published": {Conditions{Messages: 20_000, Endpoints: 3, Rounds: 20}, false},
	} {
		m.Conditions = test.Conditions
		if err := (Bill{Metered: m}).Write(file); err != nil {
			t.Fatal(err)
		}
		kept, err := Keep(root, file)
		if err != nil || kept != test.kept {
			t.Errorf("%s: kept is %v, error %v", name, kept, err)
		}
	}
	m.Conditions = OneEndpoint
	got, err := last(root, OneEndpoint)
	if diff := cmp.Diff(m, got); diff != "" || err != nil {
		t.Errorf("kept units (-want +got): %s %v", diff, err)
	}
}

// The operator's command estimates with the published costs.
func TestCosts_ByLoad(t *testing.T) {
	t.Parallel()
	var published []costs.Load
	for _, s := range ByLoad {
		published = append(published, costs.Load{Day: int(s.Day), Dollars: s.Dollars})
	}
	if diff := cmp.Diff(published, costs.ByLoad); diff != "" {
		t.Errorf("published costs (-) and internal/operator/costs (+):\n%s", diff)
	}
}
