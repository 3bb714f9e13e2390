package webhook

import (
	"context"
	"errors"
	"sync"
	"time"

	"campaign-dispatch/internal/webhook/delivery"
)

// The counts of a tenant are written from PerWrite posts on, or from the part 1/dueShare of an hour's posts on.
const (
	PerWrite = 100
	dueShare = 10
)

// PostStore counts the posts to a tenant's endpoints, by endpoint ID.
type PostStore interface {
	// AddPosts adds counts to the hour of an instant. A repeated call adds them twice.
	AddPosts(ctx context.Context, tenant string, at time.Time, posts map[string]delivery.PostCount) error
}

// PostSums aggregates post counts in memory to save writes. At the end of a call, it writes the counts of a
// tenant if they are a tenth of its posts in this hour or more, or PerWrite, and the rest with the first post
// of a later hour. So the written counts are at most 10% below the posts, and exact after few posts. Unwritten
// counts are lost when the process ends.
type PostSums struct {
	Store PostStore

	mu   sync.Mutex
	sums map[tenantHour]*postSum
}

type tenantHour struct {
	tenant string
	hour   time.Time
}

type postSum struct {
	written, count int                           // posts in the hour that are written, and not yet
	posts          map[string]delivery.PostCount // not yet written
}

// due reports whether the counts are to be written.
func (s *postSum) due() bool {
	return s.count >= PerWrite || s.count*dueShare >= s.written+s.count
}

func (s *postSum) add(endpointID string, p delivery.PostCount) {
	before := s.posts[endpointID]
	s.posts[endpointID] = delivery.PostCount{Accepted: before.Accepted + p.Accepted, Failed: before.Failed + p.Failed}
	s.count += p.Accepted + p.Failed
}

// CountPosts adds posts to the endpoint's counts in the hour of at.
func (s *PostSums) CountPosts(tenant, endpointID string, at time.Time, p delivery.PostCount) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sumOf(tenantHour{tenant, at.Truncate(time.Hour)}).add(endpointID, p)
}

// WritePosts writes the counts that are due. Counts that cannot be written are kept for the next write.
func (s *PostSums) WritePosts(ctx context.Context, now time.Time) error {
	var errs []error
	for key, posts := range s.takeDue(now.Truncate(time.Hour)) {
		if err := s.Store.AddPosts(ctx, key.tenant, key.hour, posts); err != nil {
			s.putBack(key, posts)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// takeDue returns the counts to write, and deletes the sums of earlier hours.
func (s *PostSums) takeDue(hour time.Time) map[tenantHour]map[string]delivery.PostCount {
	s.mu.Lock()
	defer s.mu.Unlock()
	due := map[tenantHour]map[string]delivery.PostCount{}
	for key, sum := range s.sums {
		over := key.hour.Before(hour)
		if sum.count > 0 && (over || sum.due()) {
			due[key] = sum.posts
			s.sums[key] = &postSum{written: sum.written + sum.count, posts: map[string]delivery.PostCount{}}
		}
		if over {
			delete(s.sums, key)
		}
	}
	return due
}

// sumOf returns the sum of a tenant and an hour.
func (s *PostSums) sumOf(key tenantHour) *postSum {
	if s.sums == nil {
		s.sums = map[tenantHour]*postSum{}
	}
	if s.sums[key] == nil {
		s.sums[key] = &postSum{posts: map[string]delivery.PostCount{}}
	}
	return s.sums[key]
}

func (s *PostSums) putBack(key tenantHour, posts map[string]delivery.PostCount) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := s.sumOf(key)
	for id, p := range posts {
		sum.add(id, p)
		sum.written -= p.Accepted + p.Failed
	}
}
