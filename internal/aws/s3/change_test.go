package s3_test

import (
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"testing"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"campaign-dispatch/internal/aws/s3"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/localstack/stackenv"
)

func TestChange_Concurrent(t *testing.T) {
	t.Parallel()
	env := stackenv.Load(t)
	blobs := &s3.Store{Client: awss3.NewFromConfig(env.AWS(), func(o *awss3.Options) { o.UsePathStyle = true }), Bucket: env["BUCKET"]}
	key := "errors/" + rand.Text()
	if err := blobs.Put(t.Context(), key, []byte("abcd"), "text/csv"); err != nil {
		t.Fatal(err)
	}
	var all, seen sync.WaitGroup
	seen.Add(4)
	for _, letter := range []string{"a", "b", "c", "d"} {
		all.Go(func() {
			first := sync.OnceFunc(func() { seen.Done(); seen.Wait() }) // all callers read it before the first write
			err := blobs.Change(t.Context(), key, "text/csv", func(body []byte) ([]byte, error) {
				first()
				return []byte(strings.ReplaceAll(string(body), letter, "")), nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got, err := blobs.Get(t.Context(), key); err != nil || len(got) > 0 {
		t.Errorf("left: %q, %v", got, err)
	}
}

func TestChange_NotFound(t *testing.T) {
	t.Parallel()
	env := stackenv.Load(t)
	blobs := &s3.Store{Client: awss3.NewFromConfig(env.AWS(), func(o *awss3.Options) { o.UsePathStyle = true }), Bucket: env["BUCKET"]}
	key := "errors/" + rand.Text()
	err := blobs.Change(t.Context(), key, "text/csv", func(body []byte) ([]byte, error) { return body, nil })
	if !errors.Is(err, campaign.ErrNotFound) {
		t.Errorf("what is not there: %v", err)
	}
	if err := blobs.Put(t.Context(), key, []byte("a"), "text/csv"); err != nil {
		t.Fatal(err)
	}
	err = blobs.Change(t.Context(), key, "text/csv", func([]byte) ([]byte, error) { return []byte("b"), blobs.Delete(t.Context(), key) })
	if !errors.Is(err, campaign.ErrNotFound) {
		t.Errorf("what is deleted meanwhile: %v", err)
	}
}

func TestPutOnce(t *testing.T) {
	t.Parallel()
	env := stackenv.Load(t)
	blobs := s3.New(env.AWS(), env["BUCKET"], true)
	key := "errors/" + rand.Text()
	for _, again := range []bool{false, true} {
		if err := blobs.PutOnce(t.Context(), key, []byte("a"), "text/csv"); err != nil {
			t.Errorf("again %t: %v", again, err)
		}
	}
	if err := blobs.PutOnce(t.Context(), key, []byte("b"), "text/csv"); !errors.Is(err, campaign.ErrLostRace) {
		t.Errorf("another content: %v", err)
	}
	if got, err := blobs.Get(t.Context(), key); err != nil || string(got) != "a" {
		t.Errorf("stored: %q, %v", got, err)
	}
}
