package outgoing_test

import (
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/send/outgoing"
)

func campaignID(n int) campaign.ID { return campaign.ID{Tenant: "t", CampaignID: strconv.Itoa(n)} }

func frameOf(n int) outgoing.Claim {
	return outgoing.Claim{ID: campaignID(n), Messages: campaign.FrameSize}
}

// backlog is a rate limit of 50 per second with 100,000 waiting messages of one campaign.
func backlog(t *testing.T) (outgoing.RateLimit, []outgoing.Grant) {
	t.Helper()
	var rateLimit outgoing.RateLimit
	var waiting []outgoing.Grant
	for range 1000 {
		var grant outgoing.Grant
		if grant, rateLimit = rateLimit.Claim(noon, frameOf(0), 50); grant.Wait > 0 {
			waiting = append(waiting, grant)
		}
	}
	if len(waiting) < 2 {
		t.Fatalf("%d frames wait", len(waiting))
	}
	return rateLimit, waiting
}

func TestClaim_LeasesShortlyBeforeStart(t *testing.T) {
	t.Parallel()
	rateLimit, waiting := backlog(t)
	if ahead := rateLimit.Next.Sub(noon); ahead > 5*time.Second {
		t.Errorf("the reservations of %v are leased", ahead)
	}
	if last := waiting[len(waiting)-1].Wait; last < 1990*time.Second || last > 2000*time.Second {
		t.Errorf("the last of 100,000 messages at 50 a second expects to wait for %v", last)
	}
	if waiting[0].Shrinks {
		t.Error("nobody else waits, and the wait is said to shrink")
	}
}

func TestClaim_NewCampaign(t *testing.T) {
	t.Parallel()
	rateLimit, _ := backlog(t)
	grant, left := rateLimit.Claim(noon, frameOf(1), 50)
	if grant.Reservation != (outgoing.Reservation{Start: rateLimit.Next, Every: 20 * time.Millisecond}) {
		t.Errorf("it got %+v, want the reservation at %v", grant, rateLimit.Next)
	}
	if second, _ := left.Claim(noon, frameOf(1), 50); second.Wait < 4*time.Second || second.Wait > 12*time.Second || !second.Shrinks {
		t.Errorf("its second frame got %+v, want to wait for two or three others", second)
	}
}

func TestClaim_RepeatedTicket(t *testing.T) {
	t.Parallel()
	rateLimit, waiting := backlog(t)
	claim := frameOf(0)
	claim.Ticket = waiting[500].Ticket
	grant, left := rateLimit.Claim(noon.Add(time.Second), claim, 50)
	if grant.Ticket != claim.Ticket || left != rateLimit || grant.Wait > waiting[500].Wait-time.Second {
		t.Errorf("it got %+v after %+v", grant, waiting[500])
	}
}

// Lanes that cannot be decoded count as empty.
func TestClaim_TicketWithoutLane(t *testing.T) {
	t.Parallel()
	rateLimit, waiting := backlog(t)
	rateLimit.Lanes = ""
	claim := frameOf(0)
	claim.Ticket = waiting[500].Ticket
	if grant, _ := rateLimit.Claim(noon, claim, 50); grant.Reservation.Start != rateLimit.Next {
		t.Errorf("it got %+v although there is room", grant)
	}
	rateLimit.Next = noon.Add(time.Minute)
	grant, left := rateLimit.Claim(noon, claim, 50)
	if grant.Wait != time.Minute || grant.Ticket == claim.Ticket || left == rateLimit {
		t.Errorf("it got %+v, want a new ticket", grant)
	}
}

func TestClaim_TicketsExpireDuringPause(t *testing.T) {
	t.Parallel()
	rateLimit, _ := backlog(t)
	later := rateLimit.Next.Add(6 * time.Second)
	grant, _ := rateLimit.Claim(later, frameOf(1), 50)
	if !grant.Reservation.Start.Equal(later) {
		t.Errorf("it got %+v", grant)
	}
}

// The rest of a failed frame does not wait behind the backlog again.
func TestClaim_RetryKeepsPosition(t *testing.T) {
	t.Parallel()
	var rateLimit outgoing.RateLimit
	first, rateLimit := rateLimit.Claim(noon, frameOf(0), 50)
	for range 1000 {
		_, rateLimit = rateLimit.Claim(noon, frameOf(0), 50)
	}
	retry := outgoing.Claim{ID: campaignID(0), Ticket: first.Ticket, Messages: 3}
	grant, left := rateLimit.Claim(rateLimit.Next.Add(-2*time.Second), retry, 50)
	if !grant.Reservation.Start.Equal(rateLimit.Next) || left.Lanes != rateLimit.Lanes {
		t.Errorf("it got %+v", grant)
	}
}

// A campaign that repeatedly returns with a single frame must not starve others.
func TestClaim_ReturningCampaign(t *testing.T) {
	t.Parallel()
	rateLimit, waiting := backlog(t)
	reservations := map[int]int{}
	claim := frameOf(0)
	for step := range 400 {
		now := noon.Add(time.Duration(step) * time.Second / 4)
		claim.Ticket = waiting[0].Ticket
		var grant outgoing.Grant
		if grant, rateLimit = rateLimit.Claim(now, claim, 50); grant.Wait == 0 {
			reservations[0]++
			waiting = waiting[1:]
		}
		if grant, rateLimit = rateLimit.Claim(now, frameOf(1), 50); grant.Wait == 0 {
			reservations[1]++
		}
	}
	if reservations[0] < 15 {
		t.Errorf("in 100 s the waiting campaign got %d reservations, the other one %d", reservations[0], reservations[1])
	}
}

// For any order of claims, sends, losses and exits: reservations never overlap, no frame
// waits while there is capacity, a repeated wait causes no write, and the row stays below
// one write unit.
func TestClaim_Properties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.IntRange(1, 2000).Draw(t, "rate")
		now, free, rateLimit := noon, noon, outgoing.RateLimit{}
		var waiting []outgoing.Claim
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 1000).Draw(t, "ms")) * time.Millisecond)
			claim := outgoing.Claim{ID: campaignID(rapid.IntRange(0, 200).Draw(t, "campaign")), Messages: rapid.IntRange(1, 100).Draw(t, "n")}
			if len(waiting) > 0 && rapid.Bool().Draw(t, "again") {
				i := rapid.IntRange(0, len(waiting)-1).Draw(t, "which")
				claim, waiting = waiting[i], append(waiting[:i:i], waiting[i+1:]...)
			}
			grant, left := rateLimit.Claim(now, claim, rate)
			switch {
			case grant.Wait > 0 && !rateLimit.Next.After(now):
				t.Fatalf("%+v waits at %v for a rate limit of %+v", claim, now, rateLimit)
			case grant.Wait > 0:
				claim.Ticket = grant.Ticket
				if again, same := left.Claim(now, claim, rate); same != left || again != grant {
					t.Fatalf("a ticket changed the rate limit again: %+v after %+v", again, grant)
				}
				waiting = append(waiting, claim)
			case grant.Reservation.Start.Before(free) || grant.Reservation.Start.Before(now):
				t.Fatalf("a reservation begins at %v; it is %v and the one before ends at %v", grant.Reservation.Start, now, free)
			default:
				free = grant.Reservation.At(claim.Messages)
			}
			if rateLimit = left; len(rateLimit.Lanes) > 850 {
				t.Fatalf("the lanes take %d bytes", len(rateLimit.Lanes))
			}
		}
	})
}

func TestClaim_UnreadableLanes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rateLimit := outgoing.RateLimit{Every: time.Second, Next: noon, Lanes: outgoing.Lanes(rapid.SliceOf(rapid.Byte()).Draw(t, "lanes"))}
		if grant, _ := rateLimit.Claim(noon, frameOf(0), 1); !grant.Reservation.Start.Equal(noon) {
			t.Fatalf("it got %+v", grant)
		}
	})
}
