package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// answer is the result of a command.
type answer struct {
	Lines []string // text output; tabs separate columns
	Next  string   // a next step
	Data  any      // for scripts, as JSON
	// Failure is an error to report after the result.
	Failure error
}

func (a answer) print(w io.Writer, asJSON bool) error {
	if asJSON {
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		return encoder.Encode(a.Data)
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, line := range a.Lines {
		fmt.Fprintln(table, printable(line))
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	if a.Next == "" {
		return nil
	}
	_, err := fmt.Fprintf(w, "\nnext: %s\n", a.Next)
	return err
}

// printable replaces control characters, which could change the state of the terminal.
func printable(line string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return '?'
		}
		return r
	}, line)
}
