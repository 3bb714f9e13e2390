// Package tools_test tests the scripts of a deployment.
package tools_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"campaign-dispatch/internal/campaign"
)

// account is a fake of an AWS account. It supports read calls and the protection of a stack, so that a call that changes
// anything else fails.
type account struct {
	concurrency, unreserved, reserved int
	stack                             string // status of the stack, "" for no stack
	stackAfter                        int    // number of the first DescribeStacks call that returns the stack
	domainOf                          string // user pool that has the domain
	users                             int    // of the stack's user pool
	protected                         bool   // whether the stack is protected against deletion
	topicMissing                      bool
	topic                             map[string]string // attributes
	unverified, sandbox               bool              // of Amazon SES
	copiesTables                      bool              // AWS Backup manages the backups of tables
	writeQuota                        float64
	highThroughput                    bool              // of Parameter Store
	rates                             []int             // of agents, 0 for none; -1 for an agent that was removed
	hidesRates                        bool              // the rows of agents cannot be read
	warm                              int               // write units that a table, and its indexes, are ready for
	parameters                        map[string]string // of the stack
	api                               int               // status of the stack's API, 0 for 200

	deployedBy string // file with the calls of sam, whose last call sets the parameters; "" for parameters
	address    string
	mu         sync.Mutex
	calls      []string
	asked      int // DescribeStacks calls
}

// serve returns the address of a server of the account, which the test's cleanup closes.
func (a *account) serve(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.address = server.URL
	return server.URL
}

func (a *account) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body bytes.Buffer
	_, _ = body.ReadFrom(r.Body)
	form, _ := url.ParseQuery(body.String())
	call := cmp.Or(r.Header.Get("X-Amz-Target"), form.Get("Action"), r.Method+" "+r.URL.Path)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = append(a.calls, call)
	if path, ok := strings.CutPrefix(r.URL.Path, "/api-of-the-stack/"); ok && path != "" {
		w.WriteHeader(cmp.Or(a.api, http.StatusOK))
		return
	}
	status, answer := a.answer(call, body.Bytes(), form)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(answer))
}

func (a *account) answer(call string, body []byte, form url.Values) (int, string) {
	const noStack = `<ErrorResponse><Error><Type>Sender</Type><Code>ValidationError</Code><Message>does not exist</Message></Error></ErrorResponse>`
	switch call {
	case "GetCallerIdentity":
		return http.StatusOK, `<GetCallerIdentityResponse><GetCallerIdentityResult><Account>123456789012</Account></GetCallerIdentityResult></GetCallerIdentityResponse>`
	case "DescribeStacks", "DescribeStackResource":
		if a.asked++; a.stack == "" || a.asked < a.stackAfter {
			return http.StatusBadRequest, noStack
		}
		if call == "DescribeStackResource" {
			return http.StatusOK, fmt.Sprintf(`<DescribeStackResourceResponse><DescribeStackResourceResult><StackResourceDetail>
				<PhysicalResourceId>own-%s</PhysicalResourceId></StackResourceDetail></DescribeStackResourceResult></DescribeStackResourceResponse>`, form.Get("LogicalResourceId"))
		}
		return http.StatusOK, `<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackName>s</StackName><CreationTime>2026-01-01T00:00:00Z</CreationTime>
			<StackStatus>` + a.stack + `</StackStatus><EnableTerminationProtection>` + strconv.FormatBool(a.protected) + `</EnableTerminationProtection><Parameters>` + members("Parameter", a.deployed()) + `</Parameters>
			<Outputs>` + members("Output", map[string]string{"BaseUrl": a.address + "/api-of-the-stack"}) + `</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`
	case "GET /2016-08-19/account-settings", "GET /2016-08-19/account-settings/":
		return http.StatusOK, fmt.Sprintf(`{"AccountLimit": {"ConcurrentExecutions": %d, "UnreservedConcurrentExecutions": %d}}`, a.concurrency, a.unreserved)
	case "GET /2019-09-30/functions/own-EventsFunction/concurrency":
		return http.StatusOK, fmt.Sprintf(`{"ReservedConcurrentExecutions": %d}`, a.reserved)
	case "AWSCognitoIdentityProviderService.DescribeUserPoolDomain":
		return http.StatusOK, fmt.Sprintf(`{"DomainDescription": {"UserPoolId": %q}}`, a.domainOf)
	case "AWSCognitoIdentityProviderService.DescribeUserPool":
		return http.StatusOK, fmt.Sprintf(`{"UserPool": {"EstimatedNumberOfUsers": %d}}`, a.users)
	case "UpdateTerminationProtection":
		a.protected = form.Get("EnableTerminationProtection") == "true"
		return http.StatusOK, `<UpdateTerminationProtectionResponse><UpdateTerminationProtectionResult><StackId>s</StackId></UpdateTerminationProtectionResult></UpdateTerminationProtectionResponse>`
	case "GetTopicAttributes":
		if a.topicMissing {
			return http.StatusNotFound, `<ErrorResponse><Error><Type>Sender</Type><Code>NotFound</Code><Message>no</Message></Error></ErrorResponse>`
		}
		return http.StatusOK, `<GetTopicAttributesResponse><GetTopicAttributesResult><Attributes>` + entries(a.topic) + `</Attributes></GetTopicAttributesResult></GetTopicAttributesResponse>`
	case "GET /v2/email/identities/example.com":
		return http.StatusOK, fmt.Sprintf(`{"VerifiedForSendingStatus": %v}`, !a.unverified)
	case "GET /v2/email/account":
		return http.StatusOK, fmt.Sprintf(`{"ProductionAccessEnabled": %v}`, !a.sandbox)
	case "GET /account-settings":
		return http.StatusOK, fmt.Sprintf(`{"ResourceTypeManagementPreference": {"DynamoDB": %v}}`, a.copiesTables)
	case "AmazonSSM.GetServiceSetting":
		return http.StatusOK, fmt.Sprintf(`{"ServiceSetting": {"SettingValue": "%t"}}`, a.highThroughput)
	case "DynamoDB_20120810.DescribeTable":
		return http.StatusOK, fmt.Sprintf(`{"Table": {"TableName": "t", "WarmThroughput": {"WriteUnitsPerSecond": %d}}}`, a.warm)
	case "DynamoDB_20120810.Query":
		if !a.hidesRates {
			return http.StatusOK, a.agents(body)
		}
	case "ServiceQuotasV20190624.ListAWSDefaultServiceQuotas":
		return http.StatusOK, `{"Quotas": [{"QuotaName": "Throttle rate", "Value": 10000}]}`
	case "ServiceQuotasV20190624.ListServiceQuotas":
		return a.quotas(body)
	}
	return http.StatusForbidden, `{"__type": "AccessDeniedException"}`
}

// agents returns the rows of one agent, and the key of the next one.
func (a *account) agents(body []byte) string {
	var query struct {
		TableName         string
		ExclusiveStartKey map[string]map[string]string
	}
	_ = json.Unmarshal(body, &query)
	at, _ := strconv.Atoi(query.ExclusiveStartKey["sk"]["S"])
	if query.TableName != "own-CampaignsTable" || at >= len(a.rates) {
		return `{"Items": []}`
	}
	row := fmt.Sprintf(`{"rate": {"N": "%d"}}`, a.rates[at])
	if a.rates[at] < 0 {
		row = `{"rate": {"N": "9000"}, "removedAt": {"N": "1"}}`
	}
	return fmt.Sprintf(`{"Items": [%s], "LastEvaluatedKey": {"sk": {"S": "%d"}}}`, row, at+1)
}

// deployed returns the stack's parameters.
func (a *account) deployed() map[string]string {
	if a.deployedBy == "" {
		return a.parameters
	}
	notes, err := os.ReadFile(a.deployedBy)
	if err != nil { // before the first call
		return a.parameters
	}
	calls := strings.Split(strings.TrimSpace(string(notes)), "\n\n")
	values := map[string]string{}
	for argument := range strings.SplitSeq(calls[len(calls)-1], "\n") {
		name, value, _ := strings.Cut(argument, "=")
		values[name] = value
	}
	return values
}

// members returns the parameters or the outputs of a stack as XML.
func members(kind string, values map[string]string) string {
	var list strings.Builder
	for key, value := range values {
		fmt.Fprintf(&list, "<member><%[1]sKey>%[2]s</%[1]sKey><%[1]sValue>%[3]s</%[1]sValue></member>", kind, key, value)
	}
	return list.String()
}

// entries returns the attributes of a topic as XML.
func entries(values map[string]string) string {
	var list strings.Builder
	for key, value := range values {
		fmt.Fprintf(&list, "<entry><key>%s</key><value>%s</value></entry>", key, value)
	}
	return list.String()
}

func (a *account) quotas(body []byte) (int, string) {
	var asked struct{ ServiceCode string }
	_ = json.Unmarshal(body, &asked)
	if asked.ServiceCode == "kms" {
		return http.StatusBadRequest, `{"__type": "AccessDeniedException"}`
	}
	return http.StatusOK, fmt.Sprintf(`{"Quotas": [{"QuotaName": "Table-level write throughput limit", "Value": %f}, {"QuotaName": "Concurrent executions", "Value": %d}]}`,
		cmp.Or(a.writeQuota, 40000), a.concurrency)
}

// preflight runs preflight.py for an environment with additional parameters. It returns
// the output and whether the check passed.
func (a *account) preflight(t *testing.T, environment string, parameters ...string) (string, bool) {
	t.Helper()
	cmd := a.command(t, "preflight.py", environment)
	cmd.Dir = project(t, parameters)
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

// project returns a folder with template.yaml and samconfig.toml, which has additional
// parameters in each environment, and lacks those named with "-".
func project(t *testing.T, parameters []string) string {
	t.Helper()
	folder := t.TempDir()
	for _, name := range []string{"template.yaml", "samconfig.toml"} {
		text, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range parameters {
			if name, ok := strings.CutPrefix(p, "-"); ok {
				text = regexp.MustCompile(`  "`+name+`=.*\n`).ReplaceAll(text, nil)
				continue
			}
			text = bytes.ReplaceAll(text, []byte("  \"GradualDeployment=true\",\n"), []byte("  \"GradualDeployment=true\",\n  \""+p+"\",\n"))
		}
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func TestPreflight(t *testing.T) {
	t.Parallel()
	const page = "PageTopicArn=arn:aws:sns:sa-east-1:123456789012:pages"
	const policyOfSNS = `{"Statement": [{
		"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": ["SNS:Publish", "SNS:Subscribe"], "Condition": {"StringEquals": {"AWS:SourceOwner": "123456789012"}}}]}`
	const ticket = "TicketTopicArn=arn:aws:sns:sa-east-1:123456789012:tickets"
	const identity = "EmailIdentityArn=arn:aws:ses:sa-east-1:123456789012:identity/example.com"
	const sender = "EmailFrom=Campanhas <campanhas@example.com>"
	const vault = "BackupVaultArn=arn:aws:backup:sa-east-1:210987654321:backup-vault:copies"
	complete := func(more ...string) []string { return append([]string{page, ticket, "NoCopies=yes"}, more...) }
	for name, test := range map[string]struct {
		account     *account
		environment string
		parameters  []string
		ok          bool
		want        []string // parts of the output
	}{
		"concurrency 10": {
			&account{concurrency: 10, unreserved: 10}, "production", nil, false,
			[]string{"10 functions at once", "any load needs 260", "ask for 1,000 in Service Quotas (AWS Lambda, Concurrent executions)"},
		},
		"concurrency 10, no reservation": {
			&account{concurrency: 10, unreserved: 10}, "production",
			complete("Load=small"),
			false,
			[]string{"any load needs 260"},
		},
		"concurrency 259, staging": {
			&account{concurrency: 259, unreserved: 259}, "staging", nil, false, []string{"259 functions at once", "any load needs 260"},
		},
		"concurrency 260, no reservation": {
			&account{concurrency: 260, unreserved: 260}, "production", complete("Load=small"), true,
			[]string{"ConcurrencyAlarm fires at 80% of 1,000, and Lambda lets this account run 260", "can hold the production stack"},
		},
		"concurrency 900, with a reservation": {
			&account{concurrency: 900, unreserved: 900}, "production", complete("Load=10m"), true,
			[]string{"ConcurrencyAlarm fires at 600 and 80% of the rest of 1,000, and Lambda lets this account run 900", "can hold the production stack"},
		},
		"concurrency 600, others reserve": {
			&account{concurrency: 600, unreserved: 150}, "staging", []string{"Load=1m"}, false, []string{"reserves 510", `"Load=small"`, "[staging.deploy.parameters]"},
		},
		"load of 10 million": {
			&account{concurrency: 1000, unreserved: 1000}, "production",
			complete("Load=10m"),
			true,
			[]string{"Load=10m is for 10,000,000 messages a day and 2,500,000 in the busiest hour", "Events 600", "AgentRate 500", "lambda Concurrent executions 880"},
		},
		"load of 100 million, new account": {
			&account{concurrency: 1000, unreserved: 1000}, "production",
			complete("Load=100m"),
			false,
			[]string{"reserves 4200", "ask for 5,100"},
		},
		"load of 100 million, concurrency too low": {
			&account{concurrency: 4400, unreserved: 4400, highThroughput: true}, "production", complete("Load=100m"), false,
			[]string{"Load=100m needs higher quotas: lambda: Concurrent executions is 4,400: ask for 5,100 in Service Quotas"},
		},
		"load of 100 million, Parameter Store too slow": {
			&account{concurrency: 5100, unreserved: 5100}, "production", complete("Load=100m"), false,
			[]string{"Load=100m needs higher quotas", "--setting-id /ssm/parameter-store/high-throughput-enabled --setting-value true"},
		},
		"load of 100 million, new tables": {
			&account{concurrency: 5100, unreserved: 5100, highThroughput: true}, "production",
			complete("Load=100m"),
			true,
			[]string{
				"campaigns is new after the first deployment",
				"outcomes is new after the first deployment", "LinkRate 2,100",
			},
		},
		"load of 100 million, cold tables": {
			&account{concurrency: 5100, unreserved: 5100, stack: "UPDATE_COMPLETE", warm: 4000, highThroughput: true}, "production",
			complete("Load=100m"),
			true,
			[]string{"own-CampaignsTable is ready for 4,000 write units a second", "own-OutcomesTable is ready for 4,000"},
		},
		"concurrency 1,000": {
			&account{concurrency: 1000, unreserved: 1000}, "production", complete(), true, []string{"the account 123456789012 can hold the production stack"},
		},
		"concurrency 610, reserved by the stack": {
			&account{concurrency: 610, unreserved: 100, reserved: 510, stack: "UPDATE_COMPLETE"}, "production", complete(), true, []string{"can hold"},
		},
		"concurrency 610, reserved by others": {
			&account{concurrency: 610, unreserved: 150}, "production", complete(), false, []string{"150 of them not reserved"},
		},
		"rates of agents within the load": {
			&account{concurrency: 1000, unreserved: 1000, stack: "UPDATE_COMPLETE", rates: []int{3000, -1, 300}}, "production", complete(), true, []string{"can hold"},
		},
		"rates of agents above the load": {
			&account{concurrency: 1000, unreserved: 1000, stack: "UPDATE_COMPLETE", rates: []int{3000, -1, 301}}, "production", complete(), false,
			[]string{"all agents may send 3,301 messages a second together, and Load=1m is for 3,300", "make agent ENV=production"},
		},
		"an agent without a rate": {
			&account{concurrency: 1000, unreserved: 1000, stack: "UPDATE_COMPLETE", rates: []int{0}}, "production", complete(), false,
			[]string{"may send 17,000 messages a second", "counts as 17,000"},
		},
		"rates that cannot be read": {
			&account{concurrency: 1000, unreserved: 1000, stack: "UPDATE_COMPLETE", hidesRates: true}, "production", complete(), true,
			[]string{"rates of agents could not be read (AccessDeniedException)", "`make list ENV=production` prints with SendRate 3,300"},
		},
		"failed creation": {
			&account{concurrency: 1000, unreserved: 1000, stack: "ROLLBACK_COMPLETE"}, "staging", nil, false,
			[]string{"ROLLBACK_COMPLETE", "aws cloudformation delete-stack --stack-name campaign-dispatch-staging"},
		},
		"declined changeset": {
			&account{concurrency: 1000, unreserved: 1000, stack: "REVIEW_IN_PROGRESS"}, "staging", nil, true, []string{"can hold"},
		},
		"failed rollback": {
			&account{concurrency: 1000, unreserved: 1000, stack: "UPDATE_ROLLBACK_FAILED"}, "staging", nil, false, []string{"continue-update-rollback"},
		},
		"update in progress": {
			&account{concurrency: 1000, unreserved: 1000, stack: "UPDATE_IN_PROGRESS"}, "staging", nil, false, []string{"wait"},
		},
		"domain of another pool": {
			&account{concurrency: 1000, unreserved: 1000, domainOf: "us-east-1_other"}, "staging", nil, false,
			[]string{"campaign-dispatch-staging-123456789012", "us-east-1_other", "stack_name in samconfig.toml"},
		},
		"domain of the stack": {
			&account{concurrency: 1000, unreserved: 1000, stack: "UPDATE_COMPLETE", domainOf: "own-UserPool"}, "staging", nil, true, []string{"can hold"},
		},
		"no topic of alarms": {
			&account{concurrency: 1000, unreserved: 1000}, "production",
			[]string{"NoCopies=yes"},
			false,
			[]string{"alarms have no recipient", "PageTopicArn and TicketTopicArn of [production.deploy.parameters]"},
		},
		"no topic of pages": {
			&account{concurrency: 1000, unreserved: 1000}, "production", []string{ticket, "NoCopies=yes"}, false, []string{"alarms have no recipient"},
		},
		"no topic of tickets, staging": {
			&account{concurrency: 1000, unreserved: 1000}, "staging", []string{page}, false, []string{"alarms have no recipient", "[staging.deploy.parameters]"},
		},
		"no topic of alarms, staging": {
			&account{concurrency: 1000, unreserved: 1000}, "staging", nil, true, []string{"warning: alarms have no recipient", "can hold the staging stack"},
		},
		"missing topic": {
			&account{concurrency: 1000, unreserved: 1000, topicMissing: true}, "production", complete(), false, []string{"NotFound", "PageTopicArn"},
		},
		"topic in another region": {
			&account{concurrency: 1000, unreserved: 1000}, "production",
			[]string{page, strings.ReplaceAll(ticket, "sa-east-1", "us-east-1"), "NoCopies=yes"},
			false,
			[]string{"not in sa-east-1", "TicketTopicArn"},
		},
		"topic with an unusable key": {
			&account{concurrency: 1000, unreserved: 1000, topic: map[string]string{"KmsMasterKeyId": "arn:aws:kms:us-east-1:123456789012:alias/aws/sns"}},
			"production",
			complete(),
			false,
			[]string{"encrypted with alias/aws/sns"},
		},
		"topic with the policy of SNS": {
			&account{concurrency: 1000, unreserved: 1000, topic: map[string]string{"Policy": policyOfSNS}},
			"production",
			complete(),
			true,
			[]string{"can hold"},
		},
		"topic with the policy of SNS, copies": {
			&account{concurrency: 1000, unreserved: 1000, topic: map[string]string{"Policy": policyOfSNS}},
			"production",
			[]string{page, ticket, vault},
			true,
			[]string{"warning: the policy of the alarm topic arn:aws:sns:sa-east-1:123456789012:tickets does not let events.amazonaws.com publish", "can hold"},
		},
		"topic with a policy for CloudWatch": {
			&account{concurrency: 1000, unreserved: 1000, topic: map[string]string{"Policy": `{"Statement": {"Effect": "Allow", "Action": "sns:Publish",
				"Principal": {"Service": ["events.amazonaws.com", "cloudwatch.amazonaws.com"]}}}`}},
			"production",
			complete(),
			true,
			[]string{"can hold"},
		},
		"topic with a policy of others": {
			&account{concurrency: 1000, unreserved: 1000, topic: map[string]string{"Policy": `{"Statement": [
				{"Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"}, "Action": "sns:Publish"},
				{"Effect": "Deny", "Principal": "*", "Action": "sns:Publish"},
				{"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sns:Subscribe"},
				{"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sns:Publish",
					"Condition": {"StringEquals": {"AWS:SourceOwner": "210987654321"}}}]}`}},
			"production",
			complete(),
			true,
			[]string{
				"warning: the policy of the alarm topic arn:aws:sns:sa-east-1:123456789012:pages does not let cloudwatch.amazonaws.com publish",
				"add a statement that allows them sns:Publish", "can hold",
			},
		},
		"topic without a subscription": {
			&account{concurrency: 1000, unreserved: 1000, topic: map[string]string{"SubscriptionsConfirmed": "0"}},
			"production",
			complete(),
			false,
			[]string{"no confirmed subscription", "PageTopicArn"},
		},
		"no copies": {
			&account{concurrency: 1000, unreserved: 1000}, "production", []string{page, ticket}, false, []string{"no copies in a second account", "BackupVaultArn", "NoCopies=yes"},
		},
		"no copies, staging": {
			&account{concurrency: 1000, unreserved: 1000}, "staging", nil, true, []string{"can hold"},
		},
		"21 users without a sender of emails": {
			&account{concurrency: 1000, unreserved: 1000, stack: "UPDATE_COMPLETE", domainOf: "own-UserPool", users: 21}, "production", complete(), false,
			[]string{"about 21 users", "at most 50 emails a day", "EmailIdentityArn and EmailFrom of [production"},
		},
		"20 users without a sender of emails": {
			&account{concurrency: 1000, unreserved: 1000, stack: "UPDATE_COMPLETE", domainOf: "own-UserPool", users: 20}, "production", complete(), true,
			[]string{"warning: Cognito sends at most 50 emails a day"},
		},
		"21 users with a sender of emails": {
			&account{concurrency: 1000, unreserved: 1000, stack: "UPDATE_COMPLETE", domainOf: "own-UserPool", users: 21}, "production", complete(identity, sender), true,
			[]string{"can hold"},
		},
		"no sender of emails": {
			&account{concurrency: 1000, unreserved: 1000}, "production", complete(), true, []string{"at most 50 emails a day", "EmailIdentityArn and EmailFrom of [production"},
		},
		"unverified sender": {
			&account{concurrency: 1000, unreserved: 1000, unverified: true}, "production", complete(identity, sender), true, []string{"identity/example.com is not verified"},
		},
		"sender in the sandbox": {
			&account{concurrency: 1000, unreserved: 1000, sandbox: true}, "production", complete(identity, sender), true, []string{"sandbox", "request production access"},
		},
		"unknown sender": {
			&account{concurrency: 1000, unreserved: 1000}, "production", complete(identity+".br", "EmailFrom=campanhas@example.com.br"), true, []string{"identity/example.com.br cannot be read (AccessDeniedException)"},
		},
		"sender of another region": {
			&account{concurrency: 1000, unreserved: 1000}, "production",
			complete(strings.ReplaceAll(identity, "sa-east-1", "us-east-1"), sender),
			true,
			[]string{"identity/example.com is not in sa-east-1"},
		},
		"sender of another domain": {
			&account{concurrency: 1000, unreserved: 1000}, "production",
			complete(identity, "EmailFrom=campanhas@notexample.com"),
			true,
			[]string{"EmailFrom is no address of example.com"},
		},
		"copies, tables not managed": {
			&account{concurrency: 1000, unreserved: 1000}, "production", []string{page, ticket, vault}, true, []string{"AWS Backup does not copy tables", "DynamoDB=true"},
		},
		"deployed reservation, omitted in samconfig": {
			&account{concurrency: 260, unreserved: 100, stack: "UPDATE_COMPLETE", parameters: map[string]string{"Load": "small"}},
			"production",
			complete("-Load"),
			true,
			[]string{"can hold"},
		},
		"reservation not a number": {
			&account{concurrency: 1000, unreserved: 1000}, "production", []string{"Load=many"}, false, []string{"samconfig.toml", "many"},
		},
		"parameter without a value": {
			&account{concurrency: 1000, unreserved: 1000}, "production", []string{"Load"}, false, []string{"samconfig.toml"},
		},
		"low quota, unreadable quota": {
			&account{concurrency: 1000, unreserved: 1000, writeQuota: 100}, "production",
			complete(),
			true,
			[]string{
				"Table-level write throughput limit is 100: ask for 40,000", "quotas of kms could not be read (AccessDeniedException)",
				"CreateSchedule request rate could not be read",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			output, ok := test.account.preflight(t, test.environment, test.parameters...)
			if ok != test.ok {
				t.Errorf("passed: %v, want %v", ok, test.ok)
			}
			for _, part := range test.want {
				if !strings.Contains(output, part) {
					t.Errorf("printed %q, want %q in it", output, part)
				}
			}
			if lines := strings.Count(output, "\n"); !ok && lines != 1 {
				t.Errorf("printed %d lines, want one:\n%s", lines, output)
			}
		})
	}
}

func TestPreflight_AgentWithoutARate(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("preflight.py")
	if err != nil {
		t.Fatal(err)
	}
	number := strings.ReplaceAll(string(regexp.MustCompile(`(?m)^UNLIMITED_RATE = ([\d_]+)$`).FindSubmatch(script)[1]), "_", "")
	if number != strconv.Itoa(campaign.UnlimitedRate) {
		t.Errorf("preflight counts an agent without a rate as %s messages a second, the commands as %d", number, campaign.UnlimitedRate)
	}
}

// No warning is left once the account has what the largest load needs.
func TestPreflight_ReadyForTheLoad(t *testing.T) {
	t.Parallel()
	a := &account{concurrency: 5100, unreserved: 5100, stack: "UPDATE_COMPLETE", warm: 6000, highThroughput: true, copiesTables: true}
	output, ok := a.preflight(t, "production", "Load=100m", "PageTopicArn=arn:aws:sns:sa-east-1:123456789012:alarms", "TicketTopicArn=arn:aws:sns:sa-east-1:123456789012:alarms",
		"BackupVaultArn=arn:aws:backup:sa-east-1:210987654321:backup-vault:copies",
		"EmailIdentityArn=arn:aws:ses:sa-east-1:123456789012:identity/example.com", "EmailFrom=Campanhas <campanhas@mail.example.com>")
	for _, gone := range []string{"high-throughput", "write units", "ask for", "AWS Backup", "EmailFrom"} {
		if strings.Contains(output, gone) || !ok {
			t.Errorf("printed %q, want no %q", output, gone)
		}
	}
}

// Two plain numbers choose the load.
func TestPreflight_Plan(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		plan []string
		ok   bool
		want string
	}{
		"as planned":           {[]string{"1000000", "250000"}, true, "Load=1m is for"},
		"more a day":           {[]string{"1000001", "250000"}, false, `set "Load=10m" in parameter_overrides of [production.deploy.parameters]`},
		"more in an hour":      {[]string{"1000000", "2500001"}, false, `set "Load=100m"`},
		"less":                 {[]string{"100000", "20000"}, true, `a smaller load than 1m is enough: set "Load=small"`},
		"more than any":        {[]string{"100000001", "1"}, false, "no load is for 100,000,001 messages a day"},
		"one number":           {[]string{"100000", ""}, false, "set both DAY and HOUR"},
		"not a number":         {[]string{"many", "1"}, false, "set both DAY and HOUR"},
		"no plan is no demand": {nil, true, "Load=1m is for"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &account{concurrency: 1000, unreserved: 1000}
			cmd := a.command(t, "preflight.py", append([]string{"production"}, test.plan...)...)
			cmd.Dir = project(t, []string{"PageTopicArn=arn:aws:sns:sa-east-1:123456789012:a", "TicketTopicArn=arn:aws:sns:sa-east-1:123456789012:a", "NoCopies=yes"})
			output, err := cmd.CombinedOutput()
			if (err == nil) != test.ok || !strings.Contains(string(output), test.want) {
				t.Errorf("printed %q (%v), want %q", output, err, test.want)
			}
		})
	}
}

func TestPreflight_NoEnvironment(t *testing.T) {
	t.Parallel()
	for _, environment := range []string{"", "local", "prod"} {
		a := account{}
		output, ok := a.preflight(t, environment)
		if ok || !strings.Contains(output, "ENV=staging") || len(a.calls) > 0 {
			t.Errorf("ENV=%s: printed %q, passed: %v, called %v", environment, output, ok, a.calls)
		}
	}
}
