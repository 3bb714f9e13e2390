package webhook

import (
	"context"
	"errors"
	"sync"
	"time"

	"campaign-dispatch/internal/webhook/delivery"
)

// PerWrite is the maximum number of posts of a tenant per write of their counts. unwrittenShare is the
// part of an hour's posts, as a divisor, from which they are written.
const (
	PerWrite       = 100
	unwrittenShare = 20
)

// PostStore adds posts to the hourly counts of a tenant's endpoints, by endpoint ID.
type PostStore interface {
	AddPosts(ctx context.Context, tenant string, at time.Time, posts map[string]delivery.PostCount) error
}

// PostSums aggregates post counts in memory to save writes. It writes the first 20 posts of a tenant
// in an hour one by one, then each twentieth part of what it has counted, at most PerWrite posts, and
// the rest with the first post of a later hour. So a count is at most 5% below the posts. Unwritten
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
	written, count int
	posts          map[string]delivery.PostCount // not written
}

// due reports whether the counts are to be written.
func (s *postSum) due() bool {
	return s.count >= PerWrite || s.count*unwrittenShare >= s.written+s.count
}

func (s *postSum) add(endpointID string, p delivery.PostCount) {
	before := s.posts[endpointID]
	s.posts[endpointID] = delivery.PostCount{Accepted: before.Accepted + p.Accepted, Failed: before.Failed + p.Failed}
	s.count += p.Accepted + p.Failed
}

// CountPosts adds posts to the endpoint's counts in the hour of at. Counts that cannot be
// written are kept for the next write.
func (s *PostSums) CountPosts(ctx context.Context, tenant, endpointID string, at time.Time, p delivery.PostCount) error {
	var errs []error
	for key, posts := range s.add(tenantHour{tenant, at.Truncate(time.Hour)}, endpointID, p) {
		if err := s.Store.AddPosts(ctx, key.tenant, key.hour, posts); err != nil {
			s.putBack(key, posts)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// add adds posts and returns the counts to write now.
func (s *PostSums) add(key tenantHour, endpointID string, p delivery.PostCount) map[tenantHour]map[string]delivery.PostCount {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := s.sumOf(key)
	sum.add(endpointID, p)
	due := map[tenantHour]map[string]delivery.PostCount{}
	if sum.due() {
		due[key] = sum.posts
		s.sums[key] = &postSum{written: sum.written + sum.count, posts: map[string]delivery.PostCount{}}
	}
	for other, sum := range s.sums {
		if !other.hour.Before(key.hour) {
			continue
		}
		if sum.count > 0 {
			due[other] = sum.posts
		}
		delete(s.sums, other)
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
