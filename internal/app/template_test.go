package app_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"campaign-dispatch/localstack/template"
)

const root = "../../"

// A variable that a function reads and the template does not set fails only after a
// deployment. A variable that no function reads is unused.
func TestTemplate_Variables(t *testing.T) {
	t.Parallel()
	for name, function := range functions(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			read := map[string]bool{}
			for _, variable := range readBy(t, name) {
				if !strings.HasPrefix(variable, "AWS_") { // Lambda itself sets those
					read[variable] = true
				}
			}
			for _, table := range tablesOf(t, name) {
				read[table] = true
			}
			variables := maps.Clone(function.Properties.Environment.Variables)
			delete(variables, "GOMEMLIMIT") // Go's runtime reads these two
			delete(variables, "GOMAXPROCS")
			delete(variables, "TRACED") // Start reads it
			set := slices.Sorted(maps.Keys(variables))
			if diff := cmp.Diff(slices.Sorted(maps.Keys(read)), set); diff != "" {
				t.Errorf("the wiring and template.yaml differ (-read +set):\n%s", diff)
			}
		})
	}
}

// tablesOf returns the variables of the tables that dynamo.FromEnv reads for a function:
// those that its role reaches. All functions get those of Outcomes and Webhooks.
func tablesOf(t *testing.T, name string) (variables []string) {
	t.Helper()
	var reached []string
	for _, g := range grants(t, roleOf(name)) {
		reached = append(reached, attributes(&g.Resource)...)
	}
	for table, variable := range map[string]string{"AuthTable": "AUTH_TABLE", "CampaignsTable": "CAMPAIGNS_TABLE"} {
		if slices.Contains(reached, table) {
			variables = append(variables, variable)
		}
	}
	return variables
}

// roleOf is the name of a function's role.
func roleOf(function string) string { return strings.ToUpper(function[:1]) + function[1:] + "Role" }

func TestTemplate_Functions(t *testing.T) {
	t.Parallel()
	mains, err := filepath.Glob(filepath.Join(root, "functions", "*", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, path := range mains {
		want = append(want, filepath.Base(filepath.Dir(path)))
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(functions(t)))); diff != "" {
		t.Errorf("functions/ and template.yaml differ (-folders +template):\n%s", diff)
	}
}

// The visibility timeout is six times the function's timeout, as AWS recommends, so
// that throttled polls can be retried.
func TestTemplate_VisibilityTimeouts(t *testing.T) {
	t.Parallel()
	all := resources(t)
	checked := 0
	for name, function := range functions(t) {
		for _, event := range function.Properties.Events {
			if event.Type != "SQS" {
				continue
			}
			queue, _, _ := strings.Cut(event.Properties.Queue, ".")
			visible, timeout := all[queue].Properties.VisibilityTimeout, function.Properties.Timeout
			if timeout == 0 || visible < 6*timeout {
				t.Errorf("%s: %s hides a message for %d s, the function takes up to %d s", name, queue, visible, timeout)
			}
			checked++
		}
	}
	if checked == 0 {
		t.Error("no function takes its work from a queue")
	}
}

// Lambda's loop detection moves a message to the dead-letter queue after about 16 calls
// that requeue it, unless the function allows recursion.
func TestTemplate_RecursiveFunctions(t *testing.T) {
	t.Parallel()
	var loops, allowed []string
	for name, function := range functions(t) {
		for _, event := range function.Properties.Events {
			if queue, _, _ := strings.Cut(event.Properties.Queue, "."); event.Type == "SQS" && sendsTo(t, name, queue) {
				loops = append(loops, name)
			}
		}
		if function.Properties.RecursiveLoop == "Allow" {
			allowed = append(allowed, name)
		}
	}
	slices.Sort(loops)
	slices.Sort(allowed)
	if diff := cmp.Diff(loops, allowed); diff != "" || len(loops) == 0 {
		t.Errorf("functions that queue for themselves, and those that may (-do +may):\n%s", diff)
	}
}

// sendsTo reports whether a function's role lets it put messages on a queue.
func sendsTo(t *testing.T, function, queue string) bool {
	t.Helper()
	return slices.ContainsFunc(grants(t, roleOf(function)), func(g grant) bool {
		sends := slices.ContainsFunc(texts(g.Actions), func(action string) bool { return strings.HasPrefix(action, "sqs:SendMessage") })
		return sends && slices.Contains(attributes(&g.Resource), queue)
	})
}

// GOMEMLIMIT leaves room for the program and its stacks. A lower limit makes the
// garbage collector run constantly beside a large cache; with a higher one Lambda ends
// the function.
func TestTemplate_GOMEMLIMIT(t *testing.T) {
	t.Parallel()
	for name, function := range functions(t) {
		text := function.Properties.Environment.Variables["GOMEMLIMIT"].Value
		limit, err := strconv.Atoi(strings.TrimSuffix(text, "MiB"))
		if memory := function.Properties.MemorySize; err != nil || limit < memory*3/4 || limit > memory*17/20 {
			t.Errorf("%s: GOMEMLIMIT is %q, want 75 to 85%% of its %d MB", name, text, memory)
		}
	}
}

// A function has as many vCPUs as its memory divided by 1,769 MB.
// See https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html.
func TestTemplate_GOMAXPROCS(t *testing.T) {
	t.Parallel()
	for name, function := range functions(t) {
		text, memory := function.Properties.Environment.Variables["GOMAXPROCS"].Value, function.Properties.MemorySize
		if want := strconv.Itoa((memory + 1768) / 1769); text != want {
			t.Errorf("%s: GOMAXPROCS is %q, want %s for %d MB", name, text, want, memory)
		}
	}
}

// Payloads outlive the furthest schedule, a year after acceptance, plus a margin for
// delays.
func TestTemplate_PayloadLifetime(t *testing.T) {
	t.Parallel()
	const furthestSchedule, margin = 366, 90 // days
	checked := 0
	for _, rule := range resources(t)["Bucket"].Properties.Lifecycle.Rules {
		if rule.Days == 0 || (rule.Prefix != "payloads/" && rule.Prefix != "") {
			continue
		}
		if rule.Days < furthestSchedule+margin {
			t.Errorf("rule %s deletes payloads after %d days, want %d or more", rule.ID, rule.Days, furthestSchedule+margin)
		}
		checked++
	}
	if checked == 0 {
		t.Error("payloads are kept for ever")
	}
}

type resource struct {
	Type       string     `yaml:"Type"`
	Properties properties `yaml:"Properties"`
}

type properties struct {
	CodeURI           string `yaml:"CodeUri"`
	MemorySize        int    `yaml:"MemorySize"` // of a function, in MB
	Timeout           int    `yaml:"Timeout"`
	VisibilityTimeout int    `yaml:"VisibilityTimeout"`
	RecursiveLoop     string `yaml:"RecursiveLoop"`

	MessageRetentionPeriod int `yaml:"MessageRetentionPeriod"` // of a queue, in seconds
	RefreshTokenValidity   int `yaml:"RefreshTokenValidity"`   // of the user pool's client, in minutes
	TTL                    struct {
		Attribute string `yaml:"AttributeName"`
		Enabled   bool   `yaml:"Enabled"`
	} `yaml:"TimeToLiveSpecification"`
	Lifecycle struct {
		Rules []struct {
			ID     string `yaml:"Id"`
			Prefix string `yaml:"Prefix"`
			Days   int    `yaml:"ExpirationInDays"`
			Abort  struct {
				Days int `yaml:"DaysAfterInitiation"`
			} `yaml:"AbortIncompleteMultipartUpload"`
		} `yaml:"Rules"`
	} `yaml:"LifecycleConfiguration"`
	Policies    yaml.Node `yaml:"Policies"` // a role's, or those of passwords
	Environment struct {
		Variables map[string]yaml.Node `yaml:"Variables"`
	} `yaml:"Environment"`
	Events map[string]struct {
		Type       string `yaml:"Type"`
		Properties struct {
			Queue string `yaml:"Queue"`
		} `yaml:"Properties"`
	} `yaml:"Events"`
}

// setDefaults sets the sizes that all functions have unless they set their own.
func (p *properties) setDefaults(global properties) {
	if p.MemorySize == 0 {
		p.MemorySize = global.MemorySize
	}
	if p.Timeout == 0 {
		p.Timeout = global.Timeout
	}
	for _, name := range []string{"GOMEMLIMIT", "GOMAXPROCS"} {
		if _, set := p.Environment.Variables[name]; !set {
			p.Environment.Variables[name] = global.Environment.Variables[name]
		}
	}
}

// resources returns the resources of template.yaml. Tests share them and must not change them.
func resources(t *testing.T) map[string]resource {
	t.Helper()
	found, err := readResources()
	if err != nil {
		t.Fatalf("read template.yaml: %v", err)
	}
	return found
}

var readResources = sync.OnceValues(func() (map[string]resource, error) {
	var stack struct {
		Globals struct {
			Function properties `yaml:"Function"`
		} `yaml:"Globals"`
		Resources map[string]resource `yaml:"Resources"`
	}
	text, err := expand()
	if err != nil {
		return nil, err
	}
	if err := yaml.Unmarshal(text, &stack); err != nil {
		return nil, err
	}
	for name, r := range stack.Resources {
		if r.Type == "AWS::Serverless::Function" {
			r.Properties.setDefaults(stack.Globals.Function)
			stack.Resources[name] = r
		}
	}
	return stack.Resources, nil
})

// expanded returns template.yaml with its loops expanded.
func expanded(t *testing.T) []byte {
	t.Helper()
	text, err := expand()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

var expand = sync.OnceValues(func() ([]byte, error) { return template.Read(root + "template.yaml") })

// functions returns the template's functions by the names of their folders.
func functions(t *testing.T) map[string]resource {
	t.Helper()
	found := map[string]resource{}
	for _, r := range resources(t) {
		if r.Type == "AWS::Serverless::Function" {
			found[filepath.Base(r.Properties.CodeURI)] = r
		}
	}
	if len(found) == 0 {
		t.Fatal("template.yaml has no functions")
	}
	return found
}

// People cannot choose their tenant or sign themselves up.
func TestTemplate_UserPool(t *testing.T) {
	t.Parallel()
	var stack struct {
		Resources struct {
			UserPool struct {
				Properties struct {
					Schema []struct {
						Name     string `yaml:"Name"`
						Required bool   `yaml:"Required"`
					} `yaml:"Schema"`
					AdminCreateUserConfig struct {
						AllowAdminCreateUserOnly bool `yaml:"AllowAdminCreateUserOnly"`
					} `yaml:"AdminCreateUserConfig"`
				} `yaml:"Properties"`
			} `yaml:"UserPool"`
			UserPoolClient struct {
				Properties struct {
					WriteAttributes []string `yaml:"WriteAttributes"`
				} `yaml:"Properties"`
			} `yaml:"UserPoolClient"`
		} `yaml:"Resources"`
	}
	if err := yaml.Unmarshal(expanded(t), &stack); err != nil {
		t.Fatal(err)
	}
	if !stack.Resources.UserPool.Properties.AdminCreateUserConfig.AllowAdminCreateUserOnly {
		t.Error("anybody may sign up")
	}
	// Without a list the client may write every attribute.
	writes := stack.Resources.UserPoolClient.Properties.WriteAttributes
	if len(writes) == 0 || slices.Contains(writes, "custom:tenant") || slices.Contains(writes, "email") {
		t.Errorf("people may write %q", writes)
	}
	for _, a := range stack.Resources.UserPool.Properties.Schema {
		if a.Required && !slices.Contains(writes, a.Name) {
			t.Errorf("the attribute %s is required, and not among those that the client may write: Cognito refuses that", a.Name)
		}
	}
}
