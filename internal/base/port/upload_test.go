package port_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"

	"campaign-dispatch/internal/base/inputerr"
	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/campaign"
)

// bucket has the chunks of one upload, nil after its end.
type bucket map[int]int64

func (bucket) StartUpload(context.Context, string) (string, error) { return "", nil }

func (bucket) ChunkURL(_ context.Context, _, _ string, chunk int, size int64) (string, error) {
	return strconv.Itoa(chunk) + " of " + strconv.FormatInt(size, 10), nil
}

func (b bucket) UploadedChunks(context.Context, string, string) (map[int]int64, error) {
	if b == nil {
		return nil, campaign.ErrNotFound
	}
	return b, nil
}

func (bucket) FinishUpload(context.Context, string, string) error { return nil }

func TestUpload_ChunkURL(t *testing.T) {
	t.Parallel()
	u := port.Upload{Size: port.ChunkSize + 7}
	for chunk, want := range map[int]string{1: "1 of 5242880", 2: "2 of 7", 0: "", 3: "", -1: "", 1 << 62: ""} {
		got, err := u.ChunkURL(t.Context(), bucket{}, chunk)
		if got != want || errors.Is(err, campaign.ErrNotFound) != (want == "") {
			t.Errorf("chunk %d: %q, %v, want %q", chunk, got, err, want)
		}
	}
	if got, err := (port.Upload{Size: port.ChunkSize}).ChunkURL(t.Context(), bucket{}, 2); err == nil {
		t.Errorf("a file of one whole chunk has a second one, %q", got)
	}
}

func TestUpload_Sent(t *testing.T) {
	t.Parallel()
	u := port.Upload{Size: 2*port.ChunkSize + 7}
	sent, err := u.Sent(t.Context(), bucket{3: 7, 1: port.ChunkSize, 2: 8})
	if err != nil || !slices.Equal(sent, []int{1, 3}) {
		t.Errorf("sent are %v, %v, want 1 and 3", sent, err)
	}
	if _, err := u.Sent(t.Context(), bucket(nil)); !errors.Is(err, campaign.ErrNotFound) {
		t.Errorf("a finished upload: %v", err)
	}
}

func TestUpload_Finish(t *testing.T) {
	t.Parallel()
	u := port.Upload{Size: port.ChunkSize + 7}
	for name, test := range map[string]struct {
		chunks bucket
		code   string
	}{
		"complete": {bucket{1: port.ChunkSize, 2: 7}, ""},
		"again":    {nil, ""},
		"none":     {bucket{}, port.CodeIncomplete},
		"no last":  {bucket{1: port.ChunkSize}, port.CodeIncomplete},
		"too much": {bucket{1: port.ChunkSize, 2: 8}, port.CodeIncomplete},
	} {
		code, err := "", u.Finish(t.Context(), test.chunks)
		if wrong, ok := errors.AsType[*inputerr.Error](err); ok {
			code = wrong.Code
		}
		if code != test.code || (err != nil) != (code != "") {
			t.Errorf("%s: %v, want %q", name, err, test.code)
		}
	}
}
