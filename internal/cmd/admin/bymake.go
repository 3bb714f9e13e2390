package main

import "regexp"

// calledByMake is set by the Makefile to the beginning of its command line, so
// that what is said to a person names what the person types.
const calledByMake = "BY_MAKE"

// variables are the Makefile's variables of the flags.
var variables = map[string]string{
	"id": "TENANT", "tenant": "TENANT", "name": "NAME", "agent": "AGENT", "agent-id": "AGENT", "key-file": "KEY",
	"all": "ALL", "text": "TEXT", "card": "CARD", "rate": "RATE", "keep": "KEEP", "queue": "QUEUE", "email": "EMAIL", "role": "ROLE",
	"phone": "PHONE", "file": "FILE", "at": "AT", "since": "SINCE", "confirm": "CONFIRM",
}

// flagName finds the name of a flag in a message.
var flagName = regexp.MustCompile(`(?:\bflag |-)-([a-z-]+)`)

// asVariables names the Makefile's variables where a message names flags.
func asVariables(message string) string {
	return flagName.ReplaceAllStringFunc(message, func(found string) string {
		if name := variables[flagName.FindStringSubmatch(found)[1]]; name != "" {
			return name
		}
		return found
	})
}
