package runner

import (
	"cmp"
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

// processGroup makes stopOwner signal the emulator's whole process group, with the functions.
const processGroup = -1

// startEmulator starts the AWS emulator in a new process group, which its functions share.
func (s Stack) startEmulator(ctx context.Context) (*exec.Cmd, error) {
	dir, err := filepath.Abs(s.state("aws"))
	if err != nil {
		return nil, fmt.Errorf("find the emulator's folder: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "tmp"), 0o700); err != nil {
		return nil, fmt.Errorf("create the emulator's folder: %w", err)
	}
	log, err := os.Create(s.state("emulator.log"))
	if err != nil {
		return nil, fmt.Errorf("open the emulator's log: %w", err)
	}
	defer func() { _ = log.Close() }()
	held, err := lock(s.state(emulatorLock))
	if err != nil {
		return nil, fmt.Errorf("acquire the emulator's lock: %w", err)
	}
	defer func() { _ = held.Close() }() // the emulator's copy keeps the lock
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

// emulatorCommand returns the command that runs the emulator in dir. Cancelling ctx
// does not stop the emulator: stop does, together with the functions.
func (s Stack) emulatorCommand(ctx context.Context, dir string) (*exec.Cmd, error) {
	python, err := filepath.Abs(filepath.Join(s.venv(), "bin", "python"))
	if err != nil {
		return nil, fmt.Errorf("find the emulator: %w", err)
	}
	script, err := filepath.Abs(emulatorScript)
	if err != nil {
		return nil, fmt.Errorf("find the emulator's script: %w", err)
	}
	emulator := exec.CommandContext(context.WithoutCancel(ctx), python, script) //nolint:gosec // paths of the stack
	emulator.Env, emulator.Dir = s.emulatorEnv(dir), dir
	return emulator, nil
}

// emulatorEnv returns the whole environment of the emulator, which its functions
// inherit. It excludes the developer's environment.
func (s Stack) emulatorEnv(dir string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + dir,
		"TMPDIR=" + filepath.Join(dir, "tmp"),
		"STATE_DIR=" + filepath.Join(dir, "state"),
		"S3_DATA_DIR=" + filepath.Join(dir, "s3"),
		"BIND_HOST=127.0.0.1",
		"MINISTACK_HOST=127.0.0.1", // host in the URLs that the emulator returns
		"IOT_MTLS_ENABLED=0",       // the IoT broker would listen on all interfaces
		"GATEWAY_PORT=" + strconv.Itoa(s.Ports.AWS),
		"EDGE_PORT=" + strconv.Itoa(s.Ports.AWS),
		"AWS_ENDPOINT_URL=" + cmp.Or(s.FunctionsAWS, url(s.Ports.AWS)), // for the functions
		"MINISTACK_REGION=" + Region,
		"AUTH=true", // enforces the policies of the caller's role
		"LOG_LEVEL=WARNING",
	}
}

func (s Stack) awaitHealth(ctx context.Context, ended <-chan error) error {
	const tick, attempts = 50 * time.Millisecond, 600
	client := http.Client{Timeout: time.Second}
	for range attempts {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url(s.Ports.AWS)+"/_localstack/health", http.NoBody)
		if err != nil {
			return fmt.Errorf("check the emulator's health: %w", err)
		}
		if answer, err := client.Do(request); err == nil {
			_ = answer.Body.Close()
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("start the emulator: %w", ctx.Err())
		case <-ended: //nolint:errcheck // the log has the reason
			return fmt.Errorf("the emulator exited: %s", s.lastLogLine())
		case <-time.After(tick):
		}
	}
	return errors.New("the emulator does not respond, see " + s.state("emulator.log"))
}

func (s Stack) lastLogLine() string {
	text, _ := os.ReadFile(s.state("emulator.log"))
	return cmp.Or(lastLine(text), "its log is empty")
}
