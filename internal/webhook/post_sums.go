package webhook

import (
	"context"
	"errors"
	"sync"
	"time"

	"campaign-dispatch/internal/campaign"
)

// PerWrite is after how many posts of a tenant their counts are written.
const PerWrite = 100

// PostStore adds posts to the counts of some of a tenant's endpoints, by their ids, and
// the hour of at.
type PostStore interface {
	AddPosts(ctx context.Context, tenant string, at time.Time, posts map[string]campaign.Posts) error
}

// PostSums adds posts up before it writes their counts, so that a post costs a hundredth
// of a write in a busy hour, and two writes an hour are enough in a quiet one. It writes
// the first posts of a tenant in an hour at once, then those after each hundred, and the
// rest at the first post after the hour has ended. What was not written when the process
// ends is lost, up to 99 posts of a tenant: the counts are approximate.
type PostSums struct {
	Store PostStore

	mu   sync.Mutex
	sums map[tenantHour]*postSum
}

type tenantHour struct {
	tenant string
	hour   time.Time
}

// postSum is what was posted to the endpoints of a tenant in an hour and not written yet.
type postSum struct {
	count int
	posts map[string]campaign.Posts
}

func (s *postSum) add(endpointID string, p campaign.Posts) {
	before := s.posts[endpointID]
	s.posts[endpointID] = campaign.Posts{Taken: before.Taken + p.Taken, Failed: before.Failed + p.Failed}
	s.count += p.Taken + p.Failed
}

// CountPosts adds posts to the counts of an endpoint and the hour of at. After an error
// they are written with those that follow.
func (s *PostSums) CountPosts(ctx context.Context, tenant, endpointID string, at time.Time, taken, failed int) error {
	var errs []error
	for key, posts := range s.add(tenantHour{tenant, at.Truncate(time.Hour)}, endpointID, campaign.Posts{Taken: taken, Failed: failed}) {
		if err := s.Store.AddPosts(ctx, key.tenant, key.hour, posts); err != nil {
			s.putBack(key, posts)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// add adds posts, and returns what is to be written now.
func (s *PostSums) add(key tenantHour, endpointID string, p campaign.Posts) map[tenantHour]map[string]campaign.Posts {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum, begun := s.of(key)
	sum.add(endpointID, p)
	due := map[tenantHour]map[string]campaign.Posts{}
	if !begun || sum.count >= PerWrite {
		due[key] = sum.posts
		s.sums[key] = &postSum{posts: map[string]campaign.Posts{}}
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

// of returns the sum of a tenant and an hour, and whether it was there.
func (s *PostSums) of(key tenantHour) (sum *postSum, begun bool) {
	if sum, begun = s.sums[key]; begun {
		return sum, true
	}
	if s.sums == nil {
		s.sums = map[tenantHour]*postSum{}
	}
	sum = &postSum{posts: map[string]campaign.Posts{}}
	s.sums[key] = sum
	return sum, false
}

// putBack adds what could not be written to what is written next.
func (s *PostSums) putBack(key tenantHour, posts map[string]campaign.Posts) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum, _ := s.of(key)
	for id, p := range posts {
		sum.add(id, p)
	}
}
