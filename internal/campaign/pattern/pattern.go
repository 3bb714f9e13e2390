// Package pattern has regular expressions that no cold start waits for.
package pattern

import (
	"regexp"
	"sync"
)

// AtFirstUse returns a regular expression that is compiled at its first use.
func AtFirstUse(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
