package prove

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	logs "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/localstack/stackenv"
)

// uses are the tests in which a function uses all its permissions.
var uses = map[string]string{
	"token":     "TestToken_StandardClient|TestRefresh_SecondUse",
	"dispatch":  "TestDispatch_SentOnce|TestDispatch_Scheduled|TestDispatch_ConcurrentIdempotentCalls|TestDispatch_ProviderErrors|TestLists",
	"campaigns": "TestTemplates_Dispatch|TestTemplates_UploadedFile|TestReschedule|TestCampaignPause|TestCancel_Revoke|TestErrorFile_WithoutToken|TestLedger_Counts|TestDispatch_ProviderErrors|TestClicks|TestLists",
	"release":   "TestDispatch_SentOnce|TestTasks_Repeated|TestRelease_EarlyAndRepeatedTask",
	"send":      "TestDispatch_ProviderErrors|TestLedger_Counts|TestOptOuts|TestPause_Tenant|TestOutcomes_AllUnreachable|TestLists",
	"events":    "TestLedger_Counts|TestOptOuts",
	"feed":      "TestFeed_UnreadableRecord|TestLedger_Counts",
	"outcomes":  "TestLedger_Counts|TestOptOuts",
	"notify":    "TestLedger_Counts|TestWebhooks_EndpointOutage",
	"revoke":    "TestCancel_Revoke|TestCancel_ScheduledCampaign|TestCancel_LostTask|TestLedger_Counts",
	"exports":   "TestExport_ReadByPython|TestExport_Large|TestSubmission_RestDiscarded",
	"intake":    "TestSubmission_LargeFile|TestSubmission_Scheduled|TestSubmission_Large|TestSubmission_OnList",
	"sweep":     "TestSweep_LostTasks|TestSweep_ExpiredCampaign|TestSweep_CampaignWithoutMessages|TestSend_ExpiredMessages|TestWebhooks_EndpointOutage|TestLists_UnusedSegments",
	"dashboard": "TestCredential_Lifecycle|TestCampaignUpload|TestScheduledCampaign|TestWebhookEndpoint|TestDashboard_RoleAndTenant|TestDashboard_SignInAndOut|TestTeam_Person|TestMedia|TestSubmission_LargeFile|TestSubmission_Discarded|TestSubmission_RestDiscarded|TestLists",
}

// timeouts are the timeouts, in seconds, of functions that queue the rest of their work when their
// time ends. Their own timeouts would need files of millions of lines.
var timeouts = map[string]int32{"exports": 15, "intake": 22}

// largeSizes are the sizes of TestSubmission_Large and TestExport_Large, for which the timeouts of their
// functions are too short.
var largeSizes = []string{"SUBMISSION_LINES=200001", "EXPORT_MESSAGES=200000"}

// unchecked are statements that the emulator does not check: it writes the functions'
// logs, takes their tasks, reads their stream and opens their parameters itself, lets any
// role be handed on, and answers 404 for a missing object to every caller. It has no traces, and no segment of its lists is
// old enough to be deleted.
var unchecked = []string{
	"Log", "TakeTasks", "ReadStream", "DecryptAgentKeys", "DistinguishMissingFromForbidden", "AllowSchedulesToRelease", "DeleteUnusedSegments",
	"WriteTraces",
}

// leastPrivilege removes each statement of each role in turn and checks that AWS then denies
// a call. Of a statement with prefixes of keys, it checks for each prefix that the role has made a call, in all tests, that
// nothing else in its policy allows. ROLES selects roles, statements and prefixes:
// send,dashboard.ManageTeam,sweep.ExpireCampaigns.N#*. A prefix that ROLES names is replaced by one that fits nothing, and
// AWS must deny a call.
func leastPrivilege(ctx context.Context, t *testing.T, env stackenv.Env) {
	t.Helper()
	binaries := compileUses(ctx, t)
	roles, err := readRoles(ctx, env)
	check(t, err)
	var needed, unused, left []string
	var keyed []keyedPermission
	for _, r := range roles {
		if seconds, ok := timeouts[r.function]; ok {
			reconfigure(ctx, t, env, functionName(env, r.function), func(to *lambda.UpdateFunctionConfigurationInput) { to.Timeout = &seconds })
		}
		for _, p := range r.permissions() {
			if !selected(r.function, r.function+"."+p.sid, p.name) {
				continue
			}
			if slices.Contains(unchecked, p.sid) {
				left = append(left, p.name)
				continue
			}
			if p.keyed && !named(p.name) {
				keyed = append(keyed, keyedPermission{r, p})
				continue
			}
			refused, err := r.refusedUnder(ctx, env, p.without, binaries)
			if err != nil {
				t.Fatalf("%s: %v", p.name, err)
			}
			if refused {
				needed = append(needed, p.name)
			} else {
				unused = append(unused, p.name)
			}
			t.Logf("without %s: refused %v", p.name, refused)
		}
	}
	calls, err := callsOfAllTests(ctx, keyed, binaries)
	check(t, err)
	for _, k := range keyed {
		switch {
		case k.role.needs(k.permission, calls):
			needed = append(needed, k.name)
		case isUnreached(k.name):
			left = append(left, k.name)
		default:
			unused = append(unused, k.name)
		}
	}
	record(t, len(unused) == 0 && len(needed) > 0,
		fmt.Sprintf("%d statements and prefixes of %d roles removed in turn; %d left out, which the emulator does not check or no test on the stack uses",
			len(needed)+len(unused), len(roles), len(left)),
		fmt.Sprintf("%d needed, %d not: %s", len(needed), len(unused), strings.Join(unused, ", ")))
}

// selected reports whether ROLES selects one of the names, or is empty.
func selected(names ...string) bool {
	return os.Getenv("ROLES") == "" || slices.ContainsFunc(names, named)
}

// named reports whether ROLES has a name.
func named(name string) bool { return slices.Contains(strings.Split(os.Getenv("ROLES"), ","), name) }

// compileUses compiles the tests once, and returns their binaries.
func compileUses(ctx context.Context, t *testing.T) (binaries []string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"e2e", "browser"} {
		binary := filepath.Join(dir, name)
		if out, err := exec.CommandContext(ctx, "go", "test", "-c", "-o", binary, "./localstack/"+name).CombinedOutput(); err != nil {
			t.Fatalf("compile the tests: %v\n%s", err, out)
		}
		binaries = append(binaries, binary)
	}
	return binaries
}

// role is a function's role with its one policy.
type role struct {
	client           *iam.Client
	function         string
	name, policyName string
	policy           policy
}

type policy struct {
	Version   string           `json:"Version"`
	Statement []map[string]any `json:"Statement"`
}

// permission is a statement of a role, or a prefix of keys in one.
type permission struct {
	sid, name string
	keyed     bool   // whether it is a prefix
	without   policy // the role's policy less the permission
}

func (r role) permissions() (all []permission) {
	for i, s := range r.policy.Statement {
		sid, _ := s["Sid"].(string)
		name := r.function + "." + sid
		prefixes := leadingKeys(s)
		for _, prefix := range prefixes {
			all = append(all, permission{sid, name + "." + prefix, true, r.policy.withoutPrefix(i, prefix)})
		}
		if len(prefixes) == 0 {
			all = append(all, permission{sid, name, false, r.policy.withoutStatement(i)})
		}
	}
	return all
}

// fitsNothing is a pattern of keys that no row has.
const fitsNothing = "NOTHING#"

// keysOf is the condition of a statement on partition keys.
type keysOf struct {
	Condition struct {
		All struct {
			Leading []string `json:"dynamodb:LeadingKeys"`
		} `json:"ForAllValues:StringLike"`
	} `json:"Condition"`
}

// leadingKeys returns the prefixes of a statement, none if it allows all keys.
func leadingKeys(statement map[string]any) []string {
	var s keysOf
	if text, err := json.Marshal(statement); err != nil || json.Unmarshal(text, &s) != nil {
		return nil
	}
	return s.Condition.All.Leading
}

func (p policy) withoutStatement(n int) policy {
	p.Statement = slices.Delete(slices.Clone(p.Statement), n, n+1)
	return p
}

// withoutPrefix is the policy with a prefix of a statement replaced by one that fits nothing.
func (p policy) withoutPrefix(n int, prefix string) policy {
	keys := leadingKeys(p.Statement[n])
	keys[slices.Index(keys, prefix)] = fitsNothing
	p.Statement = slices.Clone(p.Statement)
	p.Statement[n] = maps.Clone(p.Statement[n])
	p.Statement[n]["Condition"] = map[string]any{"ForAllValues:StringLike": map[string]any{"dynamodb:LeadingKeys": keys}}
	return p
}

func readRoles(ctx context.Context, env stackenv.Env) (roles []role, err error) {
	functions, client := lambda.NewFromConfig(env.AWS()), iam.NewFromConfig(env.AWS())
	for _, function := range slices.Sorted(maps.Keys(uses)) {
		name := functionName(env, function)
		c, err := functions.GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: &name})
		if err != nil {
			return nil, fmt.Errorf("look up the role of %s: %w", function, err)
		}
		arn := aws.ToString(c.Role)
		r := role{client: client, function: function, name: arn[strings.LastIndexByte(arn, '/')+1:]}
		if err := r.read(ctx); err != nil {
			return nil, fmt.Errorf("read the role of %s: %w", function, err)
		}
		if !slices.ContainsFunc(r.permissions(), func(p permission) bool { return selected(function, function+"."+p.sid, p.name) }) {
			continue
		}
		roles = append(roles, r)
	}
	return roles, nil
}

func functionName(env stackenv.Env, function string) string {
	return env[strings.ToUpper(function)+"_FUNCTION"]
}

var errPolicies = errors.New("it has not exactly one policy of its own")

func (r *role) read(ctx context.Context) error {
	list, err := r.client.ListRolePolicies(ctx, &iam.ListRolePoliciesInput{RoleName: &r.name})
	if err != nil {
		return err
	}
	if len(list.PolicyNames) != 1 {
		return errPolicies
	}
	r.policyName = list.PolicyNames[0]
	got, err := r.client.GetRolePolicy(ctx, &iam.GetRolePolicyInput{RoleName: &r.name, PolicyName: &r.policyName})
	if err != nil {
		return err
	}
	document, err := url.PathUnescape(aws.ToString(got.PolicyDocument))
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(document), &r.policy)
}

func (r role) put(ctx context.Context, p policy) error {
	document, err := json.Marshal(p)
	if err != nil {
		return err
	}
	_, err = r.client.PutRolePolicy(ctx, &iam.PutRolePolicyInput{RoleName: &r.name, PolicyName: &r.policyName, PolicyDocument: aws.String(string(document))})
	return err
}

// refusedUnder reports whether the function is refused something, while the tests of
// what it does run, under another policy.
func (r role) refusedUnder(ctx context.Context, env stackenv.Env, other policy, binaries []string) (refused bool, err error) {
	if err := r.put(ctx, other); err != nil {
		return false, err
	}
	defer func() {
		err = errors.Join(err, r.put(context.WithoutCancel(ctx), r.policy), endProcesses(env, r.function))
	}()
	if err := endProcesses(env, r.function); err != nil { // which keep what they were given
		return false, err
	}
	if err := discardSubmissions(ctx, env); err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	since, done := time.Now(), make(chan struct{})
	go func() {
		defer close(done)
		for _, binary := range binaries {
			runTests(ctx, binary, "^("+uses[r.function]+")$")
		}
	}()
	defer func() { cancel(); <-done }()
	for {
		if refused, err = denied(ctx, env, r.function, since); refused || err != nil && ctx.Err() == nil {
			return refused, err
		}
		select {
		case <-done:
			return denied(context.WithoutCancel(ctx), env, r.function, since)
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// runTests runs tests on the stack. What they say does not matter: what AWS has refused or allowed does.
func runTests(ctx context.Context, binary, pattern string) {
	cmd := exec.CommandContext(ctx, binary, "-test.run", pattern, "-test.parallel", "4")
	cmd.Dir = filepath.Join("localstack", filepath.Base(binary))
	cmd.Env = slices.Concat(os.Environ(), []string{stackenv.Variable + "=" + absolute(os.Getenv(stackenv.Variable))}, largeSizes)
	_ = cmd.Run()
}

// discardSubmissions discards the submissions that tests without a statement have left unfinished. A
// tenant with submission.MaxOpen of them cannot start another.
func discardSubmissions(ctx context.Context, env stackenv.Env) error {
	store := storeOf(env)
	all, err := store.Submissions(ctx, env["TENANT"])
	if err != nil {
		return fmt.Errorf("list the submissions: %w", err)
	}
	for _, sub := range all {
		if sub.Closed() {
			continue
		}
		sub.State = submission.StateDiscarded
		if _, err := store.SaveSubmission(ctx, sub); err != nil && !errors.Is(err, campaign.ErrLostRace) {
			return fmt.Errorf("discard a submission: %w", err)
		}
	}
	return nil
}

func absolute(path string) string {
	whole, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	return whole
}

// refusals are what the SDK says of a call that AWS refused. The answer to HEAD has no body and
// thus no code, so the SDK names its status.
var refusals = []string{"AccessDenied", "api error Forbidden"}

// denied reports whether a function has logged since a time that AWS refused it
// something.
func denied(ctx context.Context, env stackenv.Env, function string, since time.Time) (bool, error) {
	for _, refusal := range refusals {
		if found, err := logged(ctx, env, function, since, refusal); found || err != nil {
			return found, err
		}
	}
	return false, nil
}

// logged reports whether a function has logged a text since a time.
func logged(ctx context.Context, env stackenv.Env, function string, since time.Time, text string) (bool, error) {
	group := "/campaign-dispatch/" + env["STACK_NAME"] + "/" + function
	got, err := cloudwatchlogs.NewFromConfig(env.AWS()).FilterLogEvents(ctx, &cloudwatchlogs.FilterLogEventsInput{
		LogGroupName: &group, StartTime: aws.Int64(since.UnixMilli()), FilterPattern: aws.String(strconv.Quote(text)),
	})
	if err != nil {
		return false, fmt.Errorf("read the log of %s: %w", function, err)
	}
	return slices.ContainsFunc(got.Events, func(e logs.FilteredLogEvent) bool { return strings.Contains(aws.ToString(e.Message), text) }), nil
}

// A pattern of uses that matches no test would run none.
func TestUses_NamesOfTests(t *testing.T) {
	t.Parallel()
	var source []byte
	for _, folder := range []string{"e2e", "browser"} {
		files, err := filepath.Glob("../../" + folder + "/*_test.go")
		check(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			check(t, err)
			source = append(source, text...)
		}
	}
	named := maps.Clone(uses)
	named["end-to-end"] = strings.Join(large, "|")
	for function, names := range named {
		for name := range strings.SplitSeq(names, "|") {
			if !bytes.Contains(source, []byte("\nfunc "+name+"(t *testing.T)")) {
				t.Errorf("%s uses %s, which does not exist", function, name)
			}
		}
	}
}
