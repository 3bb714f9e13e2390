package retry

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxAfter is the maximum accepted Retry-After.
const maxAfter = 24 * time.Hour

// After parses a Retry-After header: seconds or an HTTP date. It returns 0 if the header is
// missing or invalid, and a day at most.
func After(header string, now time.Time) time.Duration {
	header = strings.TrimSpace(header)
	if seconds, err := strconv.ParseUint(header, 10, 32); err == nil {
		return min(time.Duration(seconds)*time.Second, maxAfter)
	}
	if at, err := http.ParseTime(header); err == nil {
		return min(max(at.Sub(now), 0), maxAfter)
	}
	return 0
}
