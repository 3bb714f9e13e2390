package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"campaign-dispatch/internal/base/wired"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/phone"
	"campaign-dispatch/internal/privacy"
	"campaign-dispatch/internal/reach/lists/book"
	"campaign-dispatch/internal/reach/optout"
)

// exports is the default folder of exports. Git ignores it.
const exports = ".local"

func numberFlags(flags *flag.FlagSet) (tenant, phone *string) {
	return flags.String("tenant", "", tenantUsage),
		flags.String("phone", "", "`NUMBER`, best in E.164, such as +55 and its digits (required)")
}

func exportNumberCommand(flags *flag.FlagSet) action {
	tenant, number := numberFlags(flags)
	file := flags.String("file", "", "`FILE` to write (default: in "+exports+", named for the time)")
	return func(ctx context.Context, s *stack) (answer, error) {
		service, err := s.people()
		if err != nil {
			return answer{}, err
		}
		x, err := service.Export(ctx, *tenant, *number)
		if err != nil {
			return answer{}, err
		}
		path := cmp.Or(*file, filepath.Join(exports, "export-"+x.ExportedAt.Format("20060102T150405Z")+".json"))
		result := answer{
			Lines: []string{
				fmt.Sprintf("%d messages, %d rejected lines, %d stored answers, %d replies and opt-outs, %d uploads, %d webhooks",
					len(x.Messages), len(x.Rejected), len(x.Answers), len(x.Events), len(x.Uploads), len(x.Posts)),
				"written to " + path + " (readable only by you); docs/privacy.md describes its format",
			},
			Data: map[string]any{
				"file": path, "messages": len(x.Messages), "rejected": len(x.Rejected), "answers": len(x.Answers),
				"events": len(x.Events), "replies": len(x.Replies), "uploads": len(x.Uploads), "posts": len(x.Posts),
				"testNumbers": len(x.TestNumbers), "optedOut": x.OptOut.OptedOut, "lists": x.Lists,
			},
			Next: "give the file to the person, and delete it; " + s.next("erase-number", "tenant", *tenant, "phone", "…") + " erases this data",
		}
		if x.Nothing() {
			result.Lines[0] = "the tenant's data contains nothing about this number"
			result.Next = "give the file to the person, and delete it"
		}
		if x.OptOut.OptedOut {
			result.Lines[0] += "; it is opted out"
		}
		result.Lines = append(result.Lines, refusedNote(*number)...)
		return result, writePrivate(path, x)
	}
}

// writePrivate writes a document atomically to a file that only its owner can read.
func writePrivate(path string, document any) (err error) {
	if filepath.Dir(path) == exports {
		if err := os.MkdirAll(exports, 0o700); err != nil {
			return fmt.Errorf("write the file: %w", err)
		}
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".export-*") // mode 0600
	if err != nil {
		return fmt.Errorf("write the file: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
			err = fmt.Errorf("write the file: %w", err)
		}
	}()
	if err := errors.Join(encode(f, document), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func encode(w io.Writer, document any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(document)
}

func eraseNumberCommand(flags *flag.FlagSet) action {
	tenant, number := numberFlags(flags)
	return func(ctx context.Context, s *stack) (answer, error) {
		if err := s.requireNoDeadEvents(ctx); err != nil {
			return answer{}, err
		}
		service, err := s.people()
		if err != nil {
			return answer{}, err
		}
		done, err := service.Erase(ctx, *tenant, *number)
		again := s.next("erase-number", "tenant", *tenant, "phone", "…")
		result := answer{
			Lines: append(erasedLines(done), refusedNote(*number)...), Data: erasedData(done),
			Next: s.next("export-number", "tenant", *tenant, "phone", "…") + " shows what remains",
		}
		switch {
		case done.Early > 0:
			result.Next = again + " after " + localtime.FormatUTC(done.Again)
		case done.Young > 0:
			result.Next = again + " after " + localtime.FormatUTC(done.YoungUntil)
		}
		return result, err
	}
}

// refusedNote returns a line about a number that dispatch refuses, and none about another one.
func refusedNote(number string) []string {
	if sought, _ := phone.Seek(number); sought.Valid != 0 {
		return nil
	}
	return []string{"dispatch would refuse this number: check its digits, and run the command again if they are wrong"}
}

// requireNoDeadEvents fails while provider events are dead letters: an erasure would delete
// the contents that a redrive needs.
func (s *stack) requireNoDeadEvents(ctx context.Context) error {
	dead, err := s.count(ctx, "EVENTS_DEAD_LETTERS_URL")
	if err == nil && dead > 0 {
		err = fmt.Errorf("%d provider events are dead letters and may contain this number's opt-out: run %s first",
			dead, s.next("redrive", "queue", "events"))
	}
	return err
}

func (s *stack) count(ctx context.Context, queue string) (int, error) {
	url := s.env(queue)
	if url == "" {
		return 0, errors.New("unknown queue: set " + queue)
	}
	return s.mover.Count(ctx, url)
}

func erasedLines(e privacy.Erased) []string {
	lines := []string{
		fmt.Sprintf("erased: %d messages, %d rejected lines, %d lines of stored answers, %d replies and opt-outs, %d uploads",
			e.Messages, e.Rejected, e.Answers, e.Events, e.Uploads),
		"messages that are not sent yet will end as failed (erased); counts do not change",
	}
	if e.Nothing() {
		lines = []string{"nothing to erase"}
	}
	if e.TestNumbers > 0 {
		lines = append(lines, "deleted: the saved number for tests")
	}
	deleted := func(n int, what string) {
		if n > 0 {
			lines = append(lines, fmt.Sprintf("deleted: %d %s", n, what))
		}
	}
	deleted(e.Posts, "webhooks that were kept with the answers of endpoints")
	deleted(e.Logged, "numbers in the log of opt-outs, whose counts stay")
	deleted(e.Exports, "exports of campaigns with the number")
	deleted(e.Remains, "orphaned payloads of failed calls")
	if e.Young > 0 {
		lines = append(lines, fmt.Sprintf("kept until %s: %d orphaned payloads of failed calls, which may contain anybody's data: "+
			"a restored table may need them", localtime.FormatUTC(e.YoungUntil), e.Young))
	}
	if e.Early > 0 {
		lines = append(lines, fmt.Sprintf("run it again at %s: %d replies or opt-outs are not applied yet, or came in the last hour; one that stays is deleted after 30 days",
			localtime.FormatUTC(e.Again), e.Early))
	}
	if e.OptedOut {
		return append(lines, "kept: the number's opt-out, which is needed to honor it")
	}
	return append(lines, "the number is not opted out and may receive messages: the person can opt out by texting parar")
}

func erasedData(e privacy.Erased) map[string]any {
	return map[string]any{
		"messages": e.Messages, "rejected": e.Rejected, "answers": e.Answers, "events": e.Events, "replies": e.Replies,
		"logged": e.Logged, "uploads": e.Uploads, "posts": e.Posts, "testNumbers": e.TestNumbers, "exports": e.Exports,
		"remains": e.Remains, "optedOut": e.OptedOut, "complete": e.Complete(), "early": e.Early, "young": e.Young,
	}
}

func (s *stack) people() (*privacy.Service, error) {
	if s.blobs.Bucket == "" {
		return nil, errors.New("the stack has no BUCKET: is it a stack of this service, fully deployed?")
	}
	return wired.Complete(&privacy.Service{
		Store: privacy.Store{Campaigns: s.store, Outcomes: s.store, Erasure: s.store}, Blobs: s.blobs, OptOuts: &optout.Book{Store: s.store, Now: time.Now},
		Lists: &book.Book{Store: s.store, Blobs: s.blobs, Now: time.Now},
		Now:   time.Now, Progress: s.showProgress(),
	}), nil
}

// showProgress returns a function that prints the progress, at most every few seconds.
func (s *stack) showProgress() func(what string, done, of int) {
	const every = 2 * time.Second
	var mu sync.Mutex
	shown := time.Now()
	return func(what string, done, of int) {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(shown) < every {
			return
		}
		shown = time.Now()
		if of > 0 {
			fmt.Fprintf(s.progress, "searched %d of %d %s\n", done, of, what)
			return
		}
		fmt.Fprintf(s.progress, "searched %d %s\n", done, what)
	}
}
