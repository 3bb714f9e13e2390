package runner

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

const emulatorScript = "localstack/tools/emulator.py"

// wholeGroup makes end take the emulator's functions with it.
const wholeGroup = -1

// startEmulator starts the emulator of AWS in a process group of its own,
// which its functions share.
func (s Stack) startEmulator(ctx context.Context) (*exec.Cmd, error) {
	dir, err := filepath.Abs(s.state("aws"))
	if err != nil {
		return nil, fmt.Errorf("find the emulator's folder: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "tmp"), 0o700); err != nil {
		return nil, fmt.Errorf("make the emulator's folder: %w", err)
	}
	log, err := os.Create(s.state("emulator.log"))
	if err != nil {
		return nil, fmt.Errorf("open the emulator's log: %w", err)
	}
	defer func() { _ = log.Close() }()
	held, err := lock(s.state(emulatorLock))
	if err != nil {
		return nil, fmt.Errorf("take the emulator's lock: %w", err)
	}
	defer func() { _ = held.Close() }() // the emulator keeps it
	emulator, err := s.emulatorCommand(ctx, dir)
	if err != nil {
		return nil, err
	}
	emulator.Stdout, emulator.Stderr, emulator.ExtraFiles = log, log, []*os.File{held}
	emulator.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := emulator.Start(); err != nil {
		return nil, fmt.Errorf("start the emulator: %w", err)
	}
	return emulator, writePID(held, emulator.Process.Pid)
}

// emulatorCommand returns the command that runs the emulator in dir. The emulator ends by
// its lock, not with ctx, so that its functions end with it.
func (s Stack) emulatorCommand(ctx context.Context, dir string) (*exec.Cmd, error) {
	python, err := filepath.Abs(filepath.Join(s.venv(), "bin", "python"))
	if err != nil {
		return nil, fmt.Errorf("find the emulator: %w", err)
	}
	script, err := filepath.Abs(emulatorScript)
	if err != nil {
		return nil, fmt.Errorf("find the emulator's script: %w", err)
	}
	emulator := exec.CommandContext(context.WithoutCancel(ctx), python, script) //nolint:gosec // our own paths
	emulator.Env, emulator.Dir = s.emulatorEnv(dir), dir
	return emulator, nil
}

// emulatorEnv is the whole environment of the emulator, and so of the
// functions: nothing of the person's own gets in.
func (s Stack) emulatorEnv(dir string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + dir,
		"TMPDIR=" + filepath.Join(dir, "tmp"),
		"STATE_DIR=" + filepath.Join(dir, "state"),
		"S3_DATA_DIR=" + filepath.Join(dir, "s3"),
		"BIND_HOST=127.0.0.1",
		"MINISTACK_HOST=127.0.0.1", // in the URLs it hands out
		"IOT_MTLS_ENABLED=0",       // or it would listen to the whole network
		"GATEWAY_PORT=" + strconv.Itoa(s.Ports.AWS),
		"EDGE_PORT=" + strconv.Itoa(s.Ports.AWS),
		"AWS_ENDPOINT_URL=" + s.functionsAWS(), // handed on to the functions
		"MINISTACK_REGION=" + Region,
		"AUTH=true", // every call is held to the policies of the caller's role
		"LOG_LEVEL=WARNING",
	}
}

// functionsAWS is where the functions find AWS.
func (s Stack) functionsAWS() string {
	if s.FunctionsAWS != "" {
		return s.FunctionsAWS
	}
	return url(s.Ports.AWS)
}

// awaitHealth returns when the emulator answers.
func (s Stack) awaitHealth(ctx context.Context, ended <-chan error) error {
	const tick, patience = 50 * time.Millisecond, 600
	client := http.Client{Timeout: time.Second}
	for range patience {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url(s.Ports.AWS)+"/_localstack/health", http.NoBody)
		if err != nil {
			return fmt.Errorf("ask the emulator for its health: %w", err)
		}
		if answer, err := client.Do(request); err == nil {
			_ = answer.Body.Close()
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("start the emulator: %w", ctx.Err())
		case <-ended: //nolint:errcheck // its last words tell more
			return fmt.Errorf("the emulator ended: %s", s.lastWords())
		case <-time.After(tick):
		}
	}
	return errors.New("the emulator does not answer, see " + s.state("emulator.log"))
}

func (s Stack) lastWords() string {
	text, _ := os.ReadFile(s.state("emulator.log"))
	return orElse(lastLine(text), "it said nothing")
}
