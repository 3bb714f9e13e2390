package intake_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/intake"
	"campaign-dispatch/internal/intake/submission"
)

// distant has files with one line that was left out each, and answers as slowly as S3 sometimes does.
type distant struct{ intake.Uploads }

func (distant) Get(_ context.Context, key string) ([]byte, error) {
	time.Sleep(50 * time.Millisecond) // in the bubble's time
	return fmt.Appendf(nil, `{"line":%s,"kind":"repeated"}`+"\n", key[strings.LastIndex(key, "-")+1:]), nil
}

// A list of two million lines has a thousand parts, each with lines that are left out. A page has 29
// seconds for all of them, and a task 100 before it continues.
func TestLeftOut_LargeList(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const files, most = 1003, 10 * time.Second
		sub := submission.Submission{ID: campaign.ID{Tenant: "t", CampaignID: "c"}, Check: submission.Check{Number: 1, Outs: files}}
		began, lines := time.Now(), 0
		for l, err := range (&intake.Service{Uploads: distant{}}).LeftOut(t.Context(), sub) {
			if lines++; err != nil || l.Line != lines {
				t.Fatalf("line %s: %+v, %v", strconv.Itoa(lines), l, err)
			}
		}
		if took := time.Since(began); lines != files || took > most {
			t.Errorf("%d lines in %s, want %d within %s", lines, took, files, most)
		}
	})
}
