package reach

import (
	"hash/fnv"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/window"
)

// Frames are the frames of a batch with unsent messages.
type Frames struct {
	Open   []int      // with a message that may go
	Opened []int      // those of Open with a message that waited until now
	Closed window.Set // the zones whose unsent messages must wait
}

// FramesOf returns the frames with unsent messages. unsent reports whether the message at an index has no outcome.
// The messages of a batch that has ended do not wait, so that they end, nor do those whose window never opens after
// campaign.MaxNeverOpen.
func (h Hours) FramesOf(b campaign.Batch, unsent func(index int) bool, now time.Time) (f Frames) {
	ended, over := b.PastLastSend(now) || b.Cancelled(), h.zonesOver(b, now)
	for frame := range b.Frames() {
		zones, left := unsentZones(b, frame, unsent)
		if !left {
			continue
		}
		var closed window.Set
		if !ended {
			closed = h.Closed(zones&^over, now)
		}
		f.Closed |= closed
		open := zones &^ closed
		if open == 0 && closed != 0 {
			continue
		}
		f.Open = append(f.Open, frame)
		if b.Waits.Paused || open&b.Waits.Zones != 0 {
			f.Opened = append(f.Opened, frame)
		}
	}
	return f
}

// unsentZones returns the zones of the unsent messages of a frame, and whether there are any. In a batch that was
// accepted before there was a send window, only the zones that wait are known.
func unsentZones(b campaign.Batch, frame int, unsent func(int) bool) (zones window.Set, left bool) {
	for i := range b.FrameLen(frame) {
		index := frame*campaign.FrameSize + i
		if !unsent(index) {
			continue
		}
		left = true
		zone, known := b.ZoneOf(index)
		if !known {
			return b.Waits.Zones, true
		}
		zones = zones.With(zone)
	}
	return zones, left
}

// spread is the time over which the batches that wait for the same opening are released.
const spread = time.Minute

// Postpone returns a batch while its messages to the zones wait, and when it is checked next. That is zero if none wait.
func (h Hours) Postpone(b campaign.Batch, waiting window.Set, now time.Time) (_ campaign.Batch, check time.Time) {
	b.Waits.Zones = waiting
	b.NeverOpen = b.NeverOpen.Seen(h.neverOpen(b, waiting|b.NeverOpen.Zones, now), now)
	if waiting != 0 {
		check = h.NextCheck(b, waiting, now)
	}
	return b, check
}

// NextCheck returns when a batch is checked whose zones wait: when the first window opens, or when its messages end.
// Batches with the same opening follow one after the other within a minute.
func (h Hours) NextCheck(b campaign.Batch, waiting window.Set, now time.Time) time.Time {
	next := h.NextOpening(waiting, now)
	if ends := b.NeverOpen.Ends(); b.NeverOpen.Zones&waiting != 0 && ends.Before(next) {
		next = ends
	}
	return b.CheckBy(next.Add(offset(b.BatchID)))
}

func offset(batchID string) time.Duration {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(batchID))
	return time.Duration(hash.Sum32()%uint32(spread/time.Second)) * time.Second
}
