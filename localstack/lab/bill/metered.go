package bill

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"campaign-dispatch/localstack/lab/metering"
)

// Metered is what one run of `make cost` has metered: units without prices.
type Metered struct {
	Conditions

	Shapes []Shape        `json:"shapes"`
	Naive  []Line         `json:"naive"`
	Sweep  metering.Units `json:"sweep"` // one call of the sweep function
}

// Conditions are the settings that the metered units depend on.
type Conditions struct {
	Messages  int `json:"messages"`
	Endpoints int `json:"endpoints"`
	Rounds    int `json:"rounds"` // isolated events of each kind in a batch
}

// The conditions whose costs are published.
var (
	Usual       = Conditions{Messages: 10_000, Endpoints: 2, Rounds: 20}
	OneEndpoint = Conditions{Messages: 10_000, Endpoints: 1, Rounds: 20}
	WorstCase   = Conditions{Messages: 10_000, Endpoints: 2, Rounds: 1}
)

// meteredFile returns the file of the last run under published conditions.
func meteredFile(root string, c Conditions) (path string, published bool) {
	name, published := map[Conditions]string{Usual: "usual.json", OneEndpoint: "one-endpoint.json", WorstCase: "worst-case.json"}[c]
	return filepath.Join(root, "localstack", "lab", "bill", "metered", name), published
}

// Keep copies the metered units of a bill's file to the file of its conditions. It returns
// false for conditions that are not published.
func Keep(root, billFile string) (kept bool, err error) {
	m, err := readMetered(billFile)
	if err != nil {
		return false, err
	}
	path, published := meteredFile(root, m.Conditions)
	if !published {
		return false, nil
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o750)
	}
	if err == nil {
		err = os.WriteFile(path, append(text, '\n'), 0o600)
	}
	if err != nil {
		return false, fmt.Errorf("keep the metered units: %w", err)
	}
	return true, nil
}

// last returns the last run under published conditions.
func last(root string, c Conditions) (Metered, error) {
	path, _ := meteredFile(root, c)
	return readMetered(path)
}

var errNothingMetered = errors.New("nothing was metered")

func readMetered(path string) (m Metered, err error) {
	text, err := os.ReadFile(path) //nolint:gosec // a file of the project
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err == nil && len(m.Shapes) == 0 {
		err = errNothingMetered
	}
	if err != nil {
		return m, fmt.Errorf("read the metered units in %s: %w", path, err)
	}
	return m, nil
}
