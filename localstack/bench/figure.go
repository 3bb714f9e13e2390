package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
)

// figure is one line of the table. Ratio is what the limit judges: the value
// divided by the yardstick, or the value itself where there is no yardstick.
type figure struct {
	Name      string  `json:"name"`
	Value     float64 `json:"value"`
	Unit      string  `json:"unit"`
	Yardstick float64 `json:"yardstick"`
	Ratio     float64 `json:"ratio"`
	Limit     float64 `json:"limit"` // 0: reported only
	Method    string  `json:"method"`
}

// ok reports whether the figure keeps its limit; NaN keeps none.
func (f figure) ok() bool { return f.Limit == 0 || f.Ratio <= f.Limit }

func (f figure) verdict() string {
	switch {
	case f.Limit == 0:
		return "reported"
	case f.ok():
		return "ok"
	default:
		return "TOO HIGH"
	}
}

// missed returns an error that names the figures over their limits, or nil.
func missed(figures []figure) error {
	var names []string
	for _, f := range figures {
		if !f.ok() {
			names = append(names, f.Name)
		}
	}
	if len(names) > 0 {
		return fmt.Errorf("%d of %d figures are over the limit: %s", len(names), len(figures), strings.Join(names, "; "))
	}
	return nil
}

// measured is a figure without a yardstick.
func measured(name string, value float64, unit string, limit float64, method string) figure {
	return figure{Name: name, Value: value, Unit: unit, Ratio: value, Limit: limit, Method: method}
}

// compared is a figure in milliseconds against a yardstick of the same run.
func compared(name string, p pair, limit float64, method string) figure {
	const ms = 1e6
	return figure{
		Name: name, Value: float64(p.subject) / ms, Unit: "ms", Yardstick: float64(p.yardstick) / ms,
		Ratio: p.ratio, Limit: limit, Method: method,
	}
}

func printTable(w io.Writer, figures []figure) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "figure\tvalue\tyardstick\tratio\tlimit\t\tmethod")
	for _, f := range figures {
		yardstick := "-"
		if f.Yardstick != 0 {
			yardstick = fmt.Sprintf("%.4g", f.Yardstick)
		}
		limit := "-"
		if f.Limit != 0 {
			limit = fmt.Sprintf("%.4g", f.Limit)
		}
		_, _ = fmt.Fprintf(table, "%s\t%.4g %s\t%s\t%.4g\t%s\t%s\t%s\n",
			f.Name, f.Value, f.Unit, yardstick, f.Ratio, limit, f.verdict(), f.Method)
	}
	return table.Flush()
}

func writeJSON(path string, figures []figure) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	body, err := json.MarshalIndent(figures, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(body, '\n'), 0o600)
}
