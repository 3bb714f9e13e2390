package main

import (
	"fmt"
	"io"
	"regexp"
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
	"all": "ALL", "text": "TEXT", "card": "CARD", "rate": "RATE", "keep": "KEEP", "queue": "QUEUE", "email": "EMAIL", "role": "ROLE",
	"phone": "PHONE", "file": "FILE", "at": "AT", "since": "SINCE", "confirm": "CONFIRM",
}

// flagName matches a flag in a message.
var flagName = regexp.MustCompile(`(?:\bflag |-)-([a-z-]+)`)

// asVariables replaces flags in a message with the Makefile's variables.
func asVariables(message string) string {
	return flagName.ReplaceAllStringFunc(message, func(found string) string {
		if name := variables[flagName.FindStringSubmatch(found)[1]]; name != "" {
			return name
		}
		return found
	})
}
