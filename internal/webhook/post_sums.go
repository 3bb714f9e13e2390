package webhook

import (
	"context"
	"errors"
	"sync"
	"time"

	"campaign-dispatch/internal/webhook/delivery"
)

// PerWrite is the number of posts of a tenant per write of their counts.
const PerWrite = 100

// PostStore adds posts to the hourly counts of a tenant's endpoints, by endpoint ID.
type PostStore interface {
	AddPosts(ctx context.Context, tenant string, at time.Time, posts map[string]delivery.PostCount) error
}

// PostSums aggregates post counts in memory to save writes. It writes the first post of a
// tenant in an hour at once, then every PerWrite posts, and the rest with the first post of
// a later hour. Unwritten counts are lost when the process ends (up to 99 posts per
// tenant), so the counts are approximate.
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
	count int
	posts map[string]delivery.PostCount
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
	sum, begun := s.sumOf(key)
	sum.add(endpointID, p)
	due := map[tenantHour]map[string]delivery.PostCount{}
	if !begun || sum.count >= PerWrite {
		due[key] = sum.posts
		s.sums[key] = &postSum{posts: map[string]delivery.PostCount{}}
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

// sumOf returns the sum of a tenant and an hour, and whether it existed.
func (s *PostSums) sumOf(key tenantHour) (sum *postSum, begun bool) {
	if sum, begun = s.sums[key]; begun {
		return sum, true
	}
	if s.sums == nil {
		s.sums = map[tenantHour]*postSum{}
	}
	sum = &postSum{posts: map[string]delivery.PostCount{}}
	s.sums[key] = sum
	return sum, false
}

func (s *PostSums) putBack(key tenantHour, posts map[string]delivery.PostCount) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum, _ := s.sumOf(key)
	for id, p := range posts {
		sum.add(id, p)
	}
}
