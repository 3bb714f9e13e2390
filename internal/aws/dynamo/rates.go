package dynamo

import (
	"context"
	"encoding/binary"
	"strconv"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/oauth/authrow"
)

// SwapWindow replaces the window of a rate limit if it is unchanged since it was read.
// Otherwise swapped is false and current is the stored window. current equals next if a
// repeated write had succeeded before.
func (s *AuthStore) SwapWindow(
	ctx context.Context, key string, read, next authrow.Window,
) (current authrow.Window, swapped bool, err error) {
	put := s.putNew(windowRow(key, next))
	if len(read) > 0 {
		put = s.putIf(windowRow(key, next), "passes = :read", Item{":read": packWindow(read)})
	}
	there, swapped, err := s.repeatWrite(ctx, "count a token request", inTable(s.Auth, put))
	if swapped {
		return next, true, nil
	}
	return readWindow(there), false, err
}

// TakePlace takes a slot of a rate limit if it is unused since the instant. Otherwise taken
// is false and current contains all slots. The slot contains p if a repeated write had
// succeeded before.
func (s *AuthStore) TakePlace(
	ctx context.Context, key string, place int, p authrow.Pass, since time.Time,
) (current authrow.Places, taken bool, err error) {
	name := "#" + placeName(place)
	update, condition := "SET "+name+" = :pass, "+TTL+" = :ttl", "attribute_not_exists("+name+") OR "+name+" < :since"
	there, taken, err := s.repeatWrite(ctx, "count a token request", inTable(s.Auth, s.update(rateKey(key), update, condition, Item{
		":pass": packPlace(p), ":since": packPlace(authrow.Pass{At: since}), ":ttl": number(p.At.Add(campaign.RateLife).Unix()),
	})))
	return readPlaces(there), taken, err
}

// windowRow is the row of a rate limit. A client's own window is kept longer, because it
// also records the last use of the credential.
func windowRow(key string, w authrow.Window) Item {
	row := rateKey(key)
	row["passes"] = packWindow(w)
	life := campaign.RateLife
	if strings.HasPrefix(key, authrow.ClientWindow("")) {
		life = campaign.LastUseLife
	}
	row[TTL] = number(w[len(w)-1].At.Add(life).Unix())
	return row
}

// packWindow encodes a pass in 16 bytes: nanoseconds since 1970, and the ID.
func packWindow(w authrow.Window) attribute {
	b := make([]byte, 0, 16*len(w))
	for _, p := range w {
		b = binary.BigEndian.AppendUint64(b, uint64(p.At.UnixNano()))
		b = binary.BigEndian.AppendUint64(b, p.ID)
	}
	return bytesOf(b)
}

func readWindow(row Item) authrow.Window {
	var w authrow.Window
	for b := getBinary(row, "passes"); len(b) >= 16; b = b[16:] {
		at := int64(binary.BigEndian.Uint64(b)) //nolint:gosec // written by packWindow
		w = append(w, authrow.Pass{At: time.Unix(0, at).UTC(), ID: binary.BigEndian.Uint64(b[8:])})
	}
	return w
}

const placePrefix = "p"

func placeName(i int) string { return placePrefix + strconv.Itoa(i) }

// packPlace encodes a pass as one number: milliseconds since 1970, and the ID in the last
// six digits. 60 of them fit in one write unit.
func packPlace(p authrow.Pass) attribute {
	return number(p.At.UnixMilli()*authrow.PlaceIDs + int64(p.ID%authrow.PlaceIDs))
}

func readPlaces(row Item) (places authrow.Places) {
	for name := range row {
		i, err := strconv.Atoi(strings.TrimPrefix(name, placePrefix))
		if err != nil || i < 0 {
			continue // another attribute
		}
		for len(places) <= i {
			places = append(places, authrow.Pass{})
		}
		n := getNumber(row, name)
		at := time.UnixMilli(n / authrow.PlaceIDs).UTC()
		places[i] = authrow.Pass{At: at, ID: uint64(n % authrow.PlaceIDs)} //nolint:gosec // written by packPlace
	}
	return places
}

const periodPrefix = "period"

func periodName(n int) string { return periodPrefix + strconv.Itoa(n) }

// AddCall counts a call in the tenant's bucket as read. If the bucket is empty or its
// period has ended, it writes nothing, counted is false and current is the stored bucket.
// It makes a single attempt, because callers proceed without the limit on errors.
//
// A call that finds the bucket full starts the next period. Concurrent calls compute the
// same period name: the first one creates the period, the others add to it, with one write
// each.
func (s *AuthStore) AddCall(
	ctx context.Context, tenant string, read acceptance.CallBucket, l acceptance.CallLimit, now time.Time,
) (current acceptance.CallBucket, counted bool, err error) {
	period, next := "#"+periodName(read.Period), "#"+periodName(read.Period+1)
	update, condition := "SET "+period+" = "+period+" + :every, "+TTL+" = :ttl", period+" <= :latest"
	values := Item{
		":every": number(l.Every().Microseconds()), ":latest": number(l.Latest(now).UnixMicro()),
		":ttl": number(now.Add(campaign.RateLife).Unix()),
	}
	if read.Full(now) {
		update = "SET " + next + " = if_not_exists(" + next + ", :now) + :every, " + TTL + " = :ttl REMOVE " + period
		condition = absent + " OR " + period + " <= :now OR " + next + " <= :latest"
		values[":now"] = number(now.UnixMicro())
	}
	w := inTable(s.Auth, s.update(callsKey(tenant), update, condition, values))
	there, counted, err := s.writeOrRead(ctx, "count a call of tenant "+tenant, w, once)
	return readCalls(there), counted, err
}

func readCalls(row Item) acceptance.CallBucket {
	for name := range row {
		if n, err := strconv.Atoi(strings.TrimPrefix(name, periodPrefix)); err == nil {
			return acceptance.CallBucket{Period: n, Next: time.UnixMicro(getNumber(row, name)).UTC()}
		}
	}
	return acceptance.CallBucket{}
}
