package dynamo

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// refusing answers a read with the rows of doubtful replies. It refuses their deletions as soon as settledAtOnce wait.
type refusing struct {
	rows    []string
	waiting chan struct{} // closed when so many wait

	mu        sync.Mutex
	deletions int
}

func (d *refusing) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".Query") {
		return reply(http.StatusOK, strings.NewReader(`{"Items":[`+strings.Join(d.rows, ",")+`]}`))()
	}
	d.mu.Lock()
	if d.deletions++; d.deletions == settledAtOnce {
		close(d.waiting)
	}
	d.mu.Unlock()
	<-d.waiting
	return refused(http.StatusBadRequest, "AccessDeniedException")()
}

// The replies of many numbers are settled concurrently. The first error ends this: the caller has some seconds only.
func TestSettleReplies_ManyFail(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sdk, until := &refusing{waiting: make(chan struct{})}, map[string]time.Time{}
		for i := range 10 * perBatchGet {
			phone := fmt.Sprint("+", 5511900000000+i)
			sdk.rows, until[phone] = append(sdk.rows, `{"phone":{"S":"`+phone+`"}}`), time.Time{}
		}
		s := New(Tables{Campaigns: "campaigns", Now: time.Now, Client: clientOf(sdk)})
		err := s.SettleReplies(t.Context(), "t", until)
		if err == nil || strings.Count(err.Error(), "AccessDenied") != 1 {
			t.Errorf("the error is %v, want one refusal", err)
		}
		if sdk.deletions > settledAtOnce+1 { // the next one starts when the first one fails
			t.Errorf("%d deletions after the first failed", sdk.deletions)
		}
	})
}
