package outgoing

import (
	"encoding/binary"
	"hash/fnv"
	"slices"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/packed"
)

// The campaigns of an agent share its rate by start-time fair queueing. Each campaign that
// has sent or waits has a lane. Positions are counted in messages and are comparable across
// lanes: the waiting frame with the lowest position goes first. Reservations are leased
// shortly before they start, so a new campaign does not wait for another campaign's whole
// backlog.

const (
	leaseAhead = 3 * time.Second // maximum time between a lease and the start of its reservation
	// runsDry is the remaining leased time below which any frame gets a reservation: a
	// frame with a lower position would arrive too late.
	runsDry = time.Second
	// idleFor is the idle time after which all tickets are considered lost, because sending
	// was paused or their tasks failed.
	idleFor = 5 * time.Second
	// maxLanes keeps the rate limit's row below 1 KB, which is one write unit.
	maxLanes = 64
	// sharedLane serves the campaigns beyond maxLanes.
	sharedLane    = 0
	firstPosition = 1 // not 0, the position of the zero Ticket
	lanesFormat   = 1
)

// Ticket is the position of a waiting frame in its campaign's lane. A ticket that is
// unknown to its lane counts as no ticket.
type Ticket struct {
	Lane     uint32 `json:"lane"`
	Position int64  `json:"position"`
	// Served is set once the frame has had a reservation. Its remaining messages are retries.
	Served bool `json:"served,omitempty"`
}

// Claim requests a reservation for the messages of a frame, at least one.
type Claim struct {
	ID     campaign.ID // campaign
	Ticket Ticket
	// Until is when tickets end, because frames that wait leave the queue: a send window closes. Zero for never.
	Until    time.Time
	Messages int
}

// Grant is the response to a claim: a reservation, or a ticket and an estimated wait.
type Grant struct {
	Reservation Reservation
	Ticket      Ticket
	Wait        time.Duration // 0 with a reservation
	// Shrinks reports whether the wait may become much shorter: other campaigns wait and
	// can be cancelled, or the agent's rate was decreased and recovers.
	Shrinks bool
}

// Lanes are the campaigns that share a rate limit, packed. The zero Lanes is empty.
type Lanes string

// Claim grants a reservation that starts soon, or a ticket. It also returns the updated
// rate limit. A claim that already has a ticket does not change the rate limit.
func (p RateLimit) Claim(now time.Time, c Claim, rate int) (Grant, RateLimit) {
	p = p.atRate(now, rate)
	all := p.Lanes.unpack()
	if p.Next.Before(now.Add(-idleFor)) {
		all = noLanes()
	}
	spot := all.find(c)
	away := max(p.Next.Sub(now), 0)
	wait := away + time.Duration(all.ahead(spot))*p.Every
	inOrder := wait <= leaseAhead
	if inOrder || away <= runsDry || spot.fresh && away <= p.freshAhead() {
		all.serve(spot, c.Messages, inOrder || spot.fresh)
		reservation, left := p.Lease(now, c.Messages, rate)
		left.Lanes = all.pack(left)
		return Grant{Reservation: reservation, Ticket: Ticket{spot.lane, spot.position, true}}, left
	}
	if !spot.held {
		all.join(spot, c.Messages)
		p.Lanes = all.pack(p)
	}
	return Grant{
		Ticket: Ticket{spot.lane, spot.position, spot.served},
		Wait:   wait, Shrinks: all.waiting() > 1 || p.Every > interval(rate),
	}, p
}

// freshAhead replaces leaseAhead for a campaign that has used less than its share. Other
// frames do not lease that far ahead.
func (p RateLimit) freshAhead() time.Duration { return 2*leaseAhead + campaign.FrameSize*p.Every }

// lane is the lane of one campaign. Messages before head are served, and messages from head to tail wait.
type lane struct {
	id         uint32
	head, tail int64
}

func (l lane) waits() bool { return l.tail > l.head }

// lanes is the unpacked form of Lanes. clock is the position of the last served frame.
type lanes struct {
	clock int64
	all   []lane
}

type spot struct {
	lane     uint32
	position int64
	held     bool // by a ticket
	served   bool // earlier, by a reservation
	fresh    bool // the campaign has used less than its share
}

func noLanes() lanes { return lanes{clock: firstPosition} }

func (l *lanes) lane(id uint32) *lane {
	if i := slices.IndexFunc(l.all, func(other lane) bool { return other.id == id }); i >= 0 {
		return &l.all[i]
	}
	return nil
}

// find returns the claim's position: that of its ticket, or the next one in its campaign's lane.
func (l *lanes) find(c Claim) spot {
	id := laneOf(c)
	own := l.lane(c.Ticket.Lane)
	if own != nil && (own.id == id || own.id == sharedLane) && c.Ticket.Position > 0 && c.Ticket.Position+int64(c.Messages) <= own.tail {
		return spot{lane: own.id, position: c.Ticket.Position, held: true, served: c.Ticket.Served}
	}
	if l.lane(id) == nil && !l.makeRoom() {
		id = sharedLane
	}
	own = l.lane(id)
	switch {
	case own == nil:
		return spot{lane: id, position: l.clock, fresh: true}
	case own.waits():
		return spot{lane: id, position: own.tail}
	}
	position := max(l.clock, own.tail)
	return spot{lane: id, position: position, fresh: position == l.clock}
}

// makeRoom reports whether another lane fits beside the shared one. If necessary, it
// deletes the idle lane with the lowest position.
func (l *lanes) makeRoom() bool {
	if len(l.all) < maxLanes {
		return true
	}
	oldest := -1
	for i, other := range l.all {
		if !other.waits() && (oldest < 0 || other.tail < l.all[oldest].tail) {
			oldest = i
		}
	}
	if oldest < 0 {
		return false
	}
	l.all = slices.Delete(l.all, oldest, oldest+1)
	return true
}

// ahead returns how many messages precede the spot: those with a lower position. Other lanes count in whole frames.
func (l *lanes) ahead(s spot) int64 {
	n := int64(0)
	for _, other := range l.all {
		before := s.position - other.head
		switch {
		case other.id == s.lane:
			before = max(before, 0)
		case before > 0 || before == 0 && other.id < s.lane:
			before = (before/campaign.FrameSize + 1) * campaign.FrameSize
		default:
			before = 0
		}
		n += max(min(before, other.tail-other.head), 0)
	}
	return n
}

func (l *lanes) waiting() int {
	n := 0
	for _, other := range l.all {
		if other.waits() {
			n++
		}
	}
	return n
}

func (l *lanes) join(s spot, messages int) {
	own := l.enter(s)
	own.tail = s.position + int64(messages)
}

// enter returns the spot's lane. An idle lane restarts at the spot, but not before its own end.
func (l *lanes) enter(s spot) *lane {
	own := l.lane(s.lane)
	if own == nil {
		l.all = append(l.all, lane{id: s.lane, head: s.position, tail: s.position})
		return &l.all[len(l.all)-1]
	}
	if !own.waits() {
		own.head = max(own.tail, s.position)
		own.tail = own.head
	}
	return own
}

// serve advances the spot's lane by the served messages. If inOrder is set, it also skips
// the lane's lower positions: their frames are late or lost.
func (l *lanes) serve(s spot, messages int, inOrder bool) {
	own, n := l.enter(s), int64(messages)
	waiting := own.waits()
	if s.served || waiting && !s.held {
		return
	}
	if inOrder {
		own.head = max(own.head, s.position)
	}
	l.clock = max(l.clock, min(s.position, own.head))
	own.head += n
	if !waiting {
		own.tail = own.head
	}
	own.head = min(own.head, own.tail)
}

// tidy deletes idle lanes that have used no more than their share, and lanes whose frames missed their reservations.
func (l *lanes) tidy(p RateLimit) {
	missed := int64(5 * campaign.FrameSize)
	if p.Every > 0 {
		missed += int64(leaseAhead / p.Every)
	}
	l.all = slices.DeleteFunc(l.all, func(other lane) bool {
		return other.tail <= l.clock && !other.waits() || l.clock-other.head > missed
	})
}

func (l *lanes) pack(p RateLimit) Lanes {
	l.tidy(p)
	b := []byte{lanesFormat}
	b = binary.AppendVarint(b, l.clock)
	for _, own := range l.all {
		b = binary.BigEndian.AppendUint32(b, own.id)
		b = binary.AppendVarint(b, own.head-l.clock)
		b = binary.AppendUvarint(b, uint64(own.tail-own.head)) //nolint:gosec // no tail is before its head
	}
	return Lanes(b)
}

// unpack decodes packed lanes. Undecodable lanes count as empty, and the waiting frames get new tickets.
func (l Lanes) unpack() lanes {
	r := packed.Reader{Rest: []byte(l)}
	if r.Byte() != lanesFormat {
		return noLanes()
	}
	all := lanes{clock: r.Varint()}
	for r.More() {
		var own lane
		for range 4 { // big-endian
			own.id = own.id<<8 | uint32(r.Byte())
		}
		own.head = all.clock + r.Varint()
		own.tail = own.head + int64(r.Uvarint()) //nolint:gosec // the row is this service's
		all.all = append(all.all, own)
	}
	if r.Err != nil {
		return noLanes()
	}
	return all
}

// laneOf returns the lane ID of a campaign until its tickets end. Campaigns with equal IDs share a lane.
func laneOf(c Claim) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(c.ID.Tenant + "\x00" + c.ID.CampaignID))
	if !c.Until.IsZero() {
		_, _ = h.Write(binary.AppendVarint(nil, c.Until.Unix()))
	}
	return max(h.Sum32(), sharedLane+1)
}
