package runner

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	neturl "net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"campaign-dispatch/localstack/sim"
	"campaign-dispatch/localstack/sink"
)

// The background process holds daemonLock and the emulator holds emulatorLock until they exit.
const (
	daemonLock   = "daemon.pid"
	emulatorLock = "emulator.pid"
	readyFD      = 3
)

// running reports whether the stack's background process runs.
func (s Stack) running() bool { return lockOwner(s.state(daemonLock)) != 0 }

// deployedAndSeeded reports whether the stack runs and is deployed and seeded. It is false after an interrupted Up.
func (s Stack) deployedAndSeeded() bool {
	for _, path := range []string{s.state(portsFile), s.state(deployedFile), s.EnvFile()} {
		if _, err := os.Stat(path); err != nil {
			return false
		}
	}
	return s.running()
}

// startDaemon starts the background process and waits until it is ready. The arguments are
// those of a command that calls Serve.
func (s Stack) startDaemon(ctx context.Context, arguments []string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	log, err := os.OpenFile(s.state("daemon.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the log of the background process: %w", err)
	}
	defer func() { _ = log.Close() }()
	result, resultWriter, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("create a pipe: %w", err)
	}
	defer func() { _ = result.Close() }()
	daemon := exec.Command(self, arguments...) //nolint:gosec,noctx // this program; it keeps running after the command
	daemon.Stdout, daemon.Stderr, daemon.ExtraFiles = log, log, []*os.File{resultWriter}
	daemon.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = daemon.Start()
	_ = resultWriter.Close()
	if err != nil {
		return fmt.Errorf("start the background process: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = result.Close() })
	defer stop()
	if text, _ := io.ReadAll(result); string(text) != ready {
		return fmt.Errorf("start the background process: %s", cmp.Or(strings.TrimSpace(string(text)), "it exited, see "+s.state("daemon.log")))
	}
	return nil
}

const ready = "ready"

// Serve runs in the background process. It listens on the stack's ports, runs the
// emulator and writes the result of the start to file descriptor 3. It returns when
// ctx is done or the emulator exits.
func (s Stack) Serve(ctx context.Context) error {
	result := os.NewFile(readyFD, "ready")
	defer func() { _ = result.Close() }()
	err := s.serve(ctx, func() {
		_, _ = result.WriteString(ready)
		_ = result.Close()
	})
	if err != nil {
		_, _ = result.WriteString(err.Error())
	}
	return err
}

func (s Stack) serve(ctx context.Context, ready func()) error {
	held, err := lock(s.state(daemonLock))
	if err != nil {
		return fmt.Errorf("take the stack's lock: %w", err)
	}
	defer func() { _ = held.Close() }()
	if err := writePID(held, os.Getpid()); err != nil {
		return err
	}
	stop, err := s.listen(ctx)
	if err != nil {
		return err
	}
	defer stop()
	emulator, err := s.startEmulator(ctx)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- emulator.Wait() }()
	defer func() { _ = stopOwner(s.state(emulatorLock), processGroup, 2*time.Second) }()
	if err := s.awaitHealth(ctx, ended); err != nil {
		return err
	}
	ready()
	select {
	case <-ctx.Done():
		return nil
	case err := <-ended:
		return fmt.Errorf("the emulator exited: %w", errors.Join(err, errors.New("see "+s.state("emulator.log"))))
	}
}

// listen serves the proxy of the HTTP API, the provider simulator and the webhook sink.
func (s Stack) listen(ctx context.Context) (stop func(), err error) {
	provider, err := s.simulator()
	if err != nil {
		return nil, err
	}
	sink, err := s.sink()
	if err != nil {
		return nil, err
	}
	var servers []*http.Server
	stop = func() {
		for _, server := range servers {
			_ = server.Close()
		}
	}
	for port, handler := range map[int]http.Handler{s.Ports.Base: s.proxy(), s.Ports.RCS: provider, s.Ports.Sink: sink} {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address(port))
		if err != nil {
			stop()
			return nil, fmt.Errorf("listen on port %d: %w", port, err)
		}
		server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
		servers = append(servers, server)
		go func() { _ = server.Serve(listener) }()
	}
	return stop, nil
}

// apiIDFile holds the id of the deployed HTTP API.
const apiIDFile = "http-api-id"

// proxy forwards requests to the deployed HTTP API. As API Gateway does, it replaces
// X-Forwarded-For with the client's address and upgrades no connection: Java's HTTP client asks
// for HTTP/2 in each request, and the emulator would drop the request's body.
func (s Stack) proxy() http.Handler {
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 256}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, err := os.ReadFile(s.state(apiIDFile))
		if err != nil {
			http.Error(w, "the stack is not deployed yet", http.StatusServiceUnavailable)
			return
		}
		// The address has the API's id in its path: the emulator may route some host names to its own services.
		api := &neturl.URL{Scheme: "http", Host: address(s.Ports.AWS), Path: "/_aws/execute-api/" + string(id) + "/$default"}
		forward := httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(api)
			r.Out.URL.RawQuery = r.In.URL.RawQuery // keeps malformed parameters
			peer, _, _ := net.SplitHostPort(r.In.RemoteAddr)
			r.Out.Header.Set("X-Forwarded-For", peer)
			r.Out.Header.Del("Connection")
			r.Out.Header.Del("Upgrade")
		}}
		forward.ServeHTTP(w, r)
	})
}

// The background process and the seeder share two generated secrets: the key of the
// agents' service accounts and the signing secret of the webhooks.
const (
	providerKeyFile   = "provider-key.pem"
	webhookSecretFile = "webhook-secret"
)

func (s Stack) generateSecrets() error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return fmt.Errorf("generate the provider's key: %w", err)
	}
	block := pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}
	if err := writeFile(s.state(providerKeyFile), string(pem.EncodeToMemory(&block))); err != nil {
		return err
	}
	secret := make([]byte, 32)
	_, _ = rand.Read(secret)
	return writeFile(s.state(webhookSecretFile), "whsec_"+base64.StdEncoding.EncodeToString(secret))
}

// simulator returns the RCS provider simulator.
func (s Stack) simulator() (*sim.Sim, error) {
	text, err := os.ReadFile(s.state(providerKeyFile))
	if err != nil {
		return nil, fmt.Errorf("read the provider's key: %w", err)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("read the provider's key: not in PEM format")
	}
	key, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read the provider's key: %w", err)
	}
	return sim.New(sim.Options{URL: url(s.Ports.RCS), Key: key, Now: s.Now, Random: mathrand.Float64}), nil
}

// sink returns the receiver of the demo tenant's webhooks.
func (s Stack) sink() (http.Handler, error) {
	secret, err := s.webhookSecret()
	if err != nil {
		return nil, err
	}
	return sink.New(secret, s.Now)
}

func (s Stack) webhookSecret() (string, error) {
	secret, err := os.ReadFile(s.state(webhookSecretFile))
	if err != nil {
		return "", fmt.Errorf("read the webhook secret: %w", err)
	}
	return string(secret), nil
}
