// Command bench measures what the service promises, prints a table and writes
// .local/bench.json. Processor times are compared with a yardstick in the same
// run: the machine's speed does not matter.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"os"
	"strings"
)

func main() {
	only := flag.String("only", "", "measure only figures of this part: "+strings.Join(partNames(), ", "))
	flag.Parse()
	slog.SetDefault(slog.New(slog.DiscardHandler)) // the functions measured log every step
	if err := run(context.Background(), *only); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// part is a group of figures that are measured together.
type part struct {
	name    string
	measure func(ctx context.Context, key benchKey, random *mathrand.Rand) ([]figure, error)
}

func parts() []part {
	return []part{
		{"accept", acceptFigures},
		{"phones", normaliseFigures},
		{"set", packedFigures},
		{"many", manyCallsFigures},
		{"large", batch500Figures},
		{"send", sendFigures},
		{"cost", costFigures},
		{"throughput", throughputFigures},
		{"pages", pageFigures},
		{"start", startFigures},
	}
}

func partNames() (names []string) {
	for _, p := range parts() {
		names = append(names, p.name)
	}
	return names
}

func run(ctx context.Context, only string) error {
	key, err := newBenchKey()
	if err != nil {
		return err
	}
	random := mathrand.New(mathrand.NewPCG(1, 2)) //nolint:gosec // the same numbers in every run
	var figures []figure
	for _, p := range parts() {
		if only != "" && only != p.name {
			continue
		}
		fmt.Fprintf(os.Stderr, "measuring %s ...\n", p.name)
		measured, err := p.measure(ctx, key, random)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		figures = append(figures, measured...)
	}
	if err := printTable(os.Stdout, figures); err != nil {
		return err
	}
	if err := writeJSON(".local/bench.json", figures); err != nil {
		return err
	}
	return missed(figures)
}
