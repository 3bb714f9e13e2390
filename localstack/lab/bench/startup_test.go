package bench

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/localstack/stackenv"
)

// startLimit is how many times the processor time of a bare aws-lambda-go binary a function
// may take from the start of its process to its first poll.
type startLimit struct {
	function string
	limit    float64
}

// loadingStarts are the functions that load libphonenumber's metadata, which is most of their
// start.
var loadingStarts = []startLimit{{"dispatch", 10}, {"intake", 10}, {"campaigns", 8}, {"dashboard", 8}}

// lightStarts are the other functions. Their starts are so short that other load of the
// machine shows in their figures.
var lightStarts = []startLimit{
	{"token", 2.5},
	{"release", 2.5},
	{"send", 2.5},
	{"sweep", 2.5},
	{"events", 2.5},
	{"outcomes", 2.5},
	{"notify", 2.5},
	{"revoke", 2.5},
	{"exports", 2.5},
	{"feed", 2.5},
}

// firstLimit is how many times the processor time of the start and the first page of
// localstack/lab/bench/plainpage the dashboard may take for its own.
const firstLimit = 4.5

// startRounds is how often every binary is started, in turn.
const startRounds = 25

// BenchmarkStart starts the functions that load much, as far as their cold start is ours.
func BenchmarkStart(b *testing.B) { compareStarts(b, loadingStarts) }

// BenchmarkLightStart starts the other functions.
func BenchmarkLightStart(b *testing.B) { compareStarts(b, lightStarts) }

func compareStarts(b *testing.B, limits []startLimit) {
	b.Helper()
	dir, env := b.TempDir(), globals(b)
	bare := function{build(b, dir, "./localstack/lab/bench/bare"), env}
	for _, s := range limits {
		binary := build(b, dir, "./functions/"+s.function)
		record(b, compared("start of "+s.function, started(b, function{binary, env}, bare, nil), s.limit,
			"CPU from the start of the process to its first poll of the Runtime API, against a bare aws-lambda-go binary"))
	}
}

// BenchmarkFirst starts the dashboard and opens one page, as the first person after a
// deployment does: pages and texts are parsed in the first request that needs them.
func BenchmarkFirst(b *testing.B) {
	r := newBrowser(b, stackenv.Load(b))
	r.plain.variables = globals(b)
	for _, area := range []string{"/overview", "/campaigns", "/templates", "/settings/webhooks"} {
		p := page{path: web.Root + area}
		if _, _, err := open(b.Context(), r.function, r.event(p), 1); err != nil {
			b.Fatalf("open %s: %v", p.path, err)
		}
		record(b, compared("start and first page, "+p.path, started(b, r.function, r.plain, r.event(p)), firstLimit,
			"CPU from the start of the process to the end of its first page, against those of a plain page of 100 rows"))
	}
}

// started starts two functions in turn, and compares their processor time until they have
// answered the event, or until they ask for one if it is nil. The least of the rounds counts:
// other load of the machine only adds to a start, and it adds more to a larger binary.
func started(b *testing.B, f, other function, event []byte) pair {
	b.Helper()
	var subjects, baselines []time.Duration
	for range startRounds {
		subjects, baselines = append(subjects, start(b, f, event)), append(baselines, start(b, other, event))
	}
	subject, baseline := slices.Min(subjects), slices.Min(baselines)
	return pair{subject, baseline, float64(subject) / float64(baseline)}
}

func start(b *testing.B, f function, event []byte) time.Duration {
	b.Helper()
	_, spent, err := f.run(b.Context(), event, min(len(event), 1))
	if err != nil {
		b.Fatalf("%s does not answer: %v", f.binary, err)
	}
	return spent
}

// globals returns the environment of every function: the settings of the Go runtime, and what a client of AWS needs.
func globals(b *testing.B) []string {
	b.Helper()
	env := []string{
		"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=x", "AWS_SECRET_ACCESS_KEY=x", "SIGNING_KEY_ID=x", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=1024",
	}
	for name, value := range runtimeSettings(b) {
		env = append(env, name+"="+value)
	}
	return env
}

// likeDeployed gives this process the settings of the Go runtime that the functions have. The returned function undoes it.
func likeDeployed(b *testing.B) (undo func()) {
	b.Helper()
	settings := runtimeSettings(b)
	percent, err := strconv.Atoi(settings["GOGC"])
	check(b, err)
	processors, err := strconv.Atoi(settings["GOMAXPROCS"])
	check(b, err)
	percent, processors = debug.SetGCPercent(percent), runtime.GOMAXPROCS(processors)
	return func() {
		debug.SetGCPercent(percent)
		runtime.GOMAXPROCS(processors)
	}
}

// runtimeSettings returns the settings of the Go runtime in template.yaml, by name.
func runtimeSettings(b *testing.B) map[string]string {
	b.Helper()
	source, err := os.ReadFile("template.yaml")
	check(b, err)
	var template struct {
		Globals struct {
			Function struct {
				Environment struct {
					Variables map[string]yaml.Node `yaml:"Variables"`
				} `yaml:"Environment"`
			} `yaml:"Function"`
		} `yaml:"Globals"`
	}
	check(b, yaml.Unmarshal(source, &template))
	settings := map[string]string{}
	for _, name := range []string{"GOGC", "GOMEMLIMIT", "GOMAXPROCS"} {
		settings[name] = template.Globals.Function.Environment.Variables[name].Value
		if settings[name] == "" {
			b.Fatalf("template.yaml does not set %s any more", name)
		}
	}
	return settings
}

func build(b *testing.B, dir, pkg string) string {
	b.Helper()
	binary := filepath.Join(dir, filepath.Base(pkg))
	cmd := exec.CommandContext(b.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-tags", "lambda.norpc", "-o", binary, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("build %s: %v\n%s", pkg, err, out)
	}
	return binary
}
