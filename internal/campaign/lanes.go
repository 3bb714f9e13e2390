package campaign

import (
	"encoding/binary"
	"hash/fnv"
	"slices"
	"time"
)

// The campaigns of an agent share its rate by start-time fair queueing. Each
// campaign that has sent or waits has a lane. Positions are counted in messages
// and compare across lanes: of two frames that wait, the one with the lower
// position goes first. Turns are leased only shortly before they begin, so a new
// campaign never waits for the whole backlog of another one.

const (
	// leaseAhead is how far away a turn may be when it is leased.
	leaseAhead = 3 * time.Second
	// runsDry is how near the end of the leased turns is when any frame that is
	// there may go: those with lower positions would come too late.
	runsDry = time.Second
	// idleFor is how long nothing was sent when all tickets are taken for lost:
	// sending was paused, or whoever held them failed.
	idleFor = 5 * time.Second
	// maxLanes keeps the rate limit's row below 1 KB, which is one write unit.
	maxLanes = 64
	// sharedLane serves the campaigns beyond maxLanes.
	sharedLane = 0
	// firstPosition is not 0, which is the zero Ticket's.
	firstPosition = 1
	lanesFormat   = 1
)

// Ticket is the position of a frame that waits, in the lane of its campaign. A
// ticket that the lane does not know any more counts as none.
type Ticket struct {
	Lane     uint32 `json:"lane"`
	Position int64  `json:"position"`
	// Served is set once the frame had its turn: what is left of it is tried again.
	Served bool `json:"served,omitempty"`
}

// Claim asks for the turn of a frame's messages, one at least.
type Claim struct {
	ID       ID // the campaign
	Ticket   Ticket
	Messages int
}

// Grant answers a claim: with a turn, or with a ticket and about how long the frame
// has to wait.
type Grant struct {
	Reservation Reservation
	Ticket      Ticket
	Wait        time.Duration // 0 with a turn
	// Shrinks is set where the wait may get much shorter: other campaigns wait too,
	// which may be cancelled, or the agent is slowed down and recovers.
	Shrinks bool
}

// Lanes are the campaigns that share a rate limit, packed. The zero Lanes are none.
type Lanes string

// longestLease is longer than turns are leased ahead, at the slowest pace too.
const longestLease = 5 * time.Minute

// Claim grants a turn that begins soon, or else a ticket, and returns the rate limit
// that is left to the others: the same one for a ticket that was there before.
func (p RateLimit) Claim(now time.Time, c Claim, rate int) (Grant, RateLimit) {
	p = p.atRate(now, rate)
	if p.Lanes == "" && p.Next.Sub(now) > longestLease {
		p = p.slowTo(now, p.Every) // leased frame by frame by the version before
	}
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

// freshAhead is leaseAhead for a campaign that has not had its share lately: other
// frames do not lease that far ahead.
func (p RateLimit) freshAhead() time.Duration { return 2*leaseAhead + FrameSize*p.Every }

// lane is that of one campaign: its messages up to head were served, those from there
// to tail wait.
type lane struct {
	id         uint32
	head, tail int64
}

func (l lane) waits() bool { return l.tail > l.head }

// lanes are unpacked Lanes. The clock is the position of the frame served last.
type lanes struct {
	clock int64
	all   []lane
}

// spot is where a claim stands.
type spot struct {
	lane     uint32
	position int64
	held     bool // by a ticket
	served   bool // before
	fresh    bool // the campaign has had less than its share
}

func noLanes() lanes { return lanes{clock: firstPosition} }

func (l *lanes) lane(id uint32) *lane {
	if i := slices.IndexFunc(l.all, func(other lane) bool { return other.id == id }); i >= 0 {
		return &l.all[i]
	}
	return nil
}

// find returns the claim's place: that of its ticket, or behind its campaign's
// last one.
func (l *lanes) find(c Claim) spot {
	if own := l.lane(c.Ticket.Lane); own != nil && c.Ticket.Position > 0 && c.Ticket.Position+int64(c.Messages) <= own.tail {
		return spot{lane: own.id, position: c.Ticket.Position, held: true, served: c.Ticket.Served}
	}
	id := laneOf(c.ID)
	if l.lane(id) == nil && !l.makeRoom() {
		id = sharedLane
	}
	own := l.lane(id)
	switch {
	case own == nil:
		return spot{lane: id, position: l.clock, fresh: true}
	case own.waits():
		return spot{lane: id, position: own.tail}
	}
	position := max(l.clock, own.tail)
	return spot{lane: id, position: position, fresh: position == l.clock}
}

// makeRoom reports whether there can be one lane more beside the shared one. It
// gives up the lane that is nearest to the end of its use, if none waits in it.
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

// ahead returns how many messages go before the spot's: those with a lower position
// and, of other lanes, whole frames.
func (l *lanes) ahead(s spot) int64 {
	n := int64(0)
	for _, other := range l.all {
		before := s.position - other.head
		switch {
		case other.id == s.lane:
			before = max(before, 0)
		case before > 0 || before == 0 && other.id < s.lane:
			before = (before/FrameSize + 1) * FrameSize
		default:
			before = 0
		}
		n += max(min(before, other.tail-other.head), 0)
	}
	return n
}

// waiting returns in how many lanes messages wait.
func (l *lanes) waiting() int {
	n := 0
	for _, other := range l.all {
		if other.waits() {
			n++
		}
	}
	return n
}

// join lets messages wait.
func (l *lanes) join(s spot, messages int) {
	own := l.enter(s)
	own.tail = s.position + int64(messages)
}

// enter returns the spot's lane. One in which nobody waits begins at the spot, if that
// is behind its end.
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

// serve moves the spot's lane on by messages that get their turn. In order, what
// has a lower position in the lane is late or lost, and does not count any more.
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

// tidy drops the lanes that mean nothing any more: those that have had no more
// than their share, and those whose frames did not come when it was their turn.
func (l *lanes) tidy(p RateLimit) {
	missed := int64(5 * FrameSize)
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

// unpack reads packed lanes. What it cannot read, it takes for none: the waiting
// frames get new tickets.
func (l Lanes) unpack() lanes {
	b := []byte(l)
	if len(b) == 0 || b[0] != lanesFormat {
		return noLanes()
	}
	clock, n := binary.Varint(b[1:])
	if n <= 0 {
		return noLanes()
	}
	all := lanes{clock: clock}
	for b = b[1+n:]; len(b) > 0; {
		own, size := readLane(b, clock)
		if size == 0 {
			return noLanes()
		}
		all.all, b = append(all.all, own), b[size:]
	}
	return all
}

// readLane returns the first lane and how many bytes it takes, 0 where there is
// none.
func readLane(b []byte, clock int64) (lane, int) {
	if len(b) < 4 {
		return lane{}, 0
	}
	head, n := binary.Varint(b[4:])
	if n <= 0 {
		return lane{}, 0
	}
	length, m := binary.Uvarint(b[4+n:])
	if m <= 0 {
		return lane{}, 0
	}
	head += clock
	return lane{binary.BigEndian.Uint32(b), head, head + int64(length)}, 4 + n + m //nolint:gosec // the row is this service's
}

// laneOf names a campaign's lane. Two that meet in one share it.
func laneOf(id ID) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id.Tenant + "\x00" + id.CampaignID))
	return max(h.Sum32(), sharedLane+1)
}
