package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"campaign-dispatch/internal/campaign/pattern"
)

type answer struct {
	Lines []string // text output; tabs separate columns
	Next  string   // a next step
	Data  any      // for scripts, as JSON
	// Failure is an error to report after the result.
	Failure error
}

func (a answer) print(w io.Writer, asJSON bool) error {
	if asJSON {
		return encode(w, a.Data)
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

// calledByMake is set by the Makefile to the start of its command line, so that
// messages name make's commands and variables.
const calledByMake = "BY_MAKE"

// variables maps flags to the Makefile's variables.
var variables = map[string]string{
	"id": "TENANT", "tenant": "TENANT", "name": "NAME", "agent": "AGENT", "agent-id": "AGENT", "key-file": "KEY",
	"all": "ALL", "text": "TEXT", "card": "CARD", "rate": "RATE", "unlimited": "UNLIMITED", "keep": "KEEP", "queue": "QUEUE",
	"email": "EMAIL", "role": "ROLE", "phone": "PHONE", "file": "FILE", "at": "AT", "since": "SINCE", "confirm": "CONFIRM",
}

var flagName = pattern.AtFirstUse(`(?:\bflag |-)-([a-z-]+)`)

func asVariables(message string) string {
	return flagName().ReplaceAllStringFunc(message, func(found string) string {
		if name := variables[flagName().FindStringSubmatch(found)[1]]; name != "" {
			return name
		}
		return found
	})
}

type row []struct {
	name  string
	value any
}

type section []row

func (s *section) add(r row) { *s = append(*s, r) }

type named struct {
	name string
	section
}

func sections(next string, kinds ...named) answer {
	data := map[string]any{}
	a := answer{Next: next, Data: data}
	for i, kind := range kinds {
		if i > 0 {
			a.Lines = append(a.Lines, "")
		}
		a.Lines = append(a.Lines, fmt.Sprintf("%s: %d", kind.name, len(kind.section)))
		objects := make([]map[string]any, 0, len(kind.section))
		for i, r := range kind.section {
			object, head, cells := map[string]any{}, "", ""
			for _, cell := range r {
				object[cell.name] = cell.value
				head, cells = head+"\t"+cell.name, cells+"\t"+fmt.Sprint(cell.value)
			}
			if i == 0 {
				a.Lines = append(a.Lines, head)
			}
			objects = append(objects, object)
			a.Lines = append(a.Lines, cells)
		}
		data[kind.name] = objects
	}
	return a
}
