package main

import "regexp"

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
