package wired_test

import (
	"io"
	"testing"
	"time"

	"campaign-dispatch/internal/base/wired"
)

type reader struct{ In io.Reader }

type service struct {
	Now    func() time.Time
	Input  reader
	Worker *reader
	AtOnce int
	Wait   time.Duration
	Name   string

	cache map[string]string
}

func complete() *service {
	return &service{Now: time.Now, Input: reader{In: io.MultiReader()}, Worker: &reader{}, AtOnce: 1}
}

func TestComplete(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change  func(s *service)
		without []string
		want    string
	}{
		"complete":        {change: func(s *service) { s.cache = nil }},
		"function":        {change: func(s *service) { s.Now = nil }, want: "wired_test.service lacks Now"},
		"inner interface": {change: func(s *service) { s.Input.In = nil }, want: "wired_test.service lacks Input.In"},
		"pointer":         {change: func(s *service) { s.Worker = nil }, want: "wired_test.service lacks Worker"},
		"number":          {change: func(s *service) { s.AtOnce = 0 }, want: "wired_test.service lacks AtOnce"},
		"two": {
			change: func(s *service) { s.Now, s.Worker = nil, nil }, want: "wired_test.service lacks Now, Worker",
		},
		"unused": {change: func(s *service) { s.Worker = nil }, without: []string{"Worker"}},
		"unused and another": {
			change: func(s *service) { s.Now, s.Worker = nil, nil }, without: []string{"Worker"}, want: "wired_test.service lacks Now",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := complete()
			tt.change(s)
			if got := panicOf(func() { wired.Complete(s, tt.without...) }); got != tt.want {
				t.Errorf("Complete panics with %q, want %q", got, tt.want)
			}
		})
	}
}

func panicOf(do func()) (message string) {
	defer func() { message, _ = recover().(string) }()
	do()
	return ""
}
