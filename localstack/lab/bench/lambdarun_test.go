package bench

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// function is a Lambda function's binary, with its environment.
type function struct {
	binary    string
	variables []string
}

// maxRun is the maximum time of a function's calls. The emulator takes long for a query of
// many rows, which is no processor time of the function.
const maxRun = 5 * time.Minute

// run starts the function as Lambda does, gives it an event several times, and
// returns its last answer and the processor time of all, its start included.
func (f function) run(ctx context.Context, event []byte, times int) (answer []byte, spent time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, maxRun)
	defer cancel()
	api := runtimeAPI{event: event, left: times, done: make(chan struct{})}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, 0, err
	}
	server := &http.Server{ReadHeaderTimeout: time.Second, Handler: &api}
	go func() { _ = server.Serve(listener) }()
	defer func() { _ = server.Close() }()
	cmd := exec.CommandContext(ctx, f.binary)
	cmd.Env = append([]string{"AWS_LAMBDA_RUNTIME_API=" + listener.Addr().String()}, f.variables...)
	if err := cmd.Start(); err != nil {
		return nil, 0, err
	}
	select {
	case <-api.done:
	case <-ctx.Done():
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	return api.answer, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), ctx.Err()
}

// runtimeAPI is what a function asks for its events: it gives one several times.
type runtimeAPI struct {
	event  []byte
	left   int
	answer []byte
	done   chan struct{}
}

func (a *runtimeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		body, err := io.ReadAll(r.Body)
		if a.answer = body; err != nil || strings.HasSuffix(r.URL.Path, "/error") {
			a.answer, _ = json.Marshal(errors.New("the function failed").Error())
		}
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if a.left == 0 { // it has answered the last one
		close(a.done)
		<-r.Context().Done()
		return
	}
	a.left--
	w.Header().Set("Lambda-Runtime-Aws-Request-Id", "bench")
	w.Header().Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(time.Now().Add(maxRun).UnixMilli(), 10))
	_, _ = w.Write(a.event)
}
