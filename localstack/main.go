// Command localstack runs the whole service on this machine. Run it in the project's
// root folder; `make help` lists the make targets that call it.
//
//	localstack [flags] up | run | down | logs | status | sam-env
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"campaign-dispatch/localstack/demo"
	"campaign-dispatch/localstack/progress"
	"campaign-dispatch/localstack/runner"
	"campaign-dispatch/localstack/samlocal"
	"campaign-dispatch/localstack/stackenv"
)

func main() {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "localstack: "+oneLine(err))
		os.Exit(1)
	}
}

func oneLine(err error) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(err.Error(), "\n", "; ")), " ")
}

func run(ctx context.Context, arguments []string) error {
	o, err := parse(arguments)
	if err != nil {
		return err
	}
	stack := o.stack
	defer stack.Log.Clear()
	// The background process runs this program with the same flags.
	daemon := slices.Concat(arguments[:len(arguments)-1], []string{"daemon"})
	err = o.execute(ctx, daemon)
	if _, ok := stack.Status(); err != nil && ctx.Err() != nil {
		err = errors.New("interrupted")
		if ok {
			err = errors.New("interrupted; the stack is still running: `make down` stops it")
		}
	}
	return err
}

// execute runs the command.
func (o options) execute(ctx context.Context, daemon []string) error {
	stack := o.stack
	switch o.command {
	case "up":
		return up(ctx, o, nil, daemon)
	case "run":
		if o.campaign == "" {
			return errors.New("CAMPAIGN is empty: set CAMPAIGN=file.csv, or omit it to send the demo campaign")
		}
		c, err := demo.ReadFile(ctx, o.campaign)
		if err != nil {
			return err
		}
		return up(ctx, o, &c, daemon)
	case "down":
		return stack.Down()
	case "logs":
		return stack.Logs(ctx, os.Stdout)
	case "status", "sam-env":
		env, ok := stack.Status()
		if !ok {
			return errors.New("the stack is not running: start it with `make up`")
		}
		if o.command == "sam-env" {
			return samEnv(ctx, o, env)
		}
		summary(stack, env)
		return nil
	case "daemon":
		return stack.Serve(ctx)
	default:
		return fmt.Errorf("unknown command %q: want up, run, down, logs, status or sam-env", o.command)
	}
}

// up starts the stack and sends the campaign unless it is nil.
func up(ctx context.Context, o options, c *demo.Campaign, daemon []string) error {
	begun := o.stack.Now()
	env, err := o.stack.Up(ctx, daemon)
	if err != nil {
		return err
	}
	if c != nil {
		sent := demo.Demo{Env: env, File: o.campaign, Now: o.stack.Now, Log: o.stack.Log}
		if err := sent.Run(ctx, *c); err != nil {
			return err
		}
	}
	if !o.brief {
		summary(o.stack, env)
		o.stack.Log.Line("\nTotal: %.1f s.", o.stack.Now().Sub(begun).Seconds())
	}
	return nil
}

// samEnv writes the environment variables of the functions for `sam local`.
func samEnv(ctx context.Context, o options, env stackenv.Env) error {
	variables, err := samlocal.Read(ctx, env, o.samHost)
	if err != nil {
		return err
	}
	path := filepath.Join(o.stack.Dir, "sam-env.json")
	if err := variables.Write(path); err != nil {
		return err
	}
	o.stack.Log.Line("wrote the variables of %[2]d functions to %[1]s, for sam local --env-vars", path, len(variables))
	return nil
}

// options are the flags and the command of the command line.
type options struct {
	stack    runner.Stack
	command  string
	campaign string // campaign file that run dispatches
	samHost  string // name or address of this machine in a container of `sam local`
	brief    bool
}

// parse returns the flags and the command that follows them.
func parse(arguments []string) (options, error) {
	o := options{stack: runner.Stack{Now: time.Now, Log: progress.New(os.Stdout, time.Now), Parameters: map[string]string{}}}
	stack := &o.stack
	flags := flag.NewFlagSet("localstack", flag.ContinueOnError)
	flags.StringVar(&stack.Dir, "dir", ".local", "folder of the stack's state")
	flags.StringVar(&stack.Tools, "tools", ".local", "folder of the downloaded tools and built functions")
	flags.StringVar(&stack.Name, "name", "campaign-dispatch-local", "name of the CloudFormation stack")
	stack.Ports = runner.Ports{Base: 3000, AWS: 4566, RCS: 3001, Sink: 3002}
	flags.Func("port", "port of the service", portFlag(&stack.Ports.Base))
	flags.Func("aws-port", "port of the AWS emulator", portFlag(&stack.Ports.AWS))
	flags.Func("rcs-port", "port of the provider simulator", portFlag(&stack.Ports.RCS))
	flags.Func("sink-port", "port of the webhook sink", portFlag(&stack.Ports.Sink))
	flags.StringVar(&stack.FunctionsAWS, "functions-aws", "", "address of the AWS emulator for the functions only")
	flags.BoolVar(&stack.Built, "built", false, "deploy the functions as they were built last")
	flags.BoolVar(&o.brief, "brief", false, "do not print the addresses and next commands")
	o.samHost = samlocal.Host
	flags.Func("sam-host", "name or address of this machine in a container of sam local", hostFlag(&o.samHost))
	flags.StringVar(&o.campaign, "campaign", "events/demo-campaign.csv", "campaign file that run dispatches")
	flags.Func("parameter", "Name=value of a template parameter; may be repeated", func(text string) error {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return errors.New("want Name=value")
		}
		stack.Parameters[name] = value
		return nil
	})
	flags.SetOutput(io.Discard) // the returned error is printed in one line
	if err := flags.Parse(arguments); err != nil {
		return o, err
	}
	if err := stack.Ports.Check(); err != nil {
		return o, err
	}
	if flags.NArg() != 1 {
		return o, errors.New("want one command: up, run, down, logs, status or sam-env")
	}
	o.command = flags.Arg(0)
	return o, nil
}

// hostFlag parses the name or the address of a host.
func hostFlag(host *string) func(text string) error {
	return func(text string) error {
		if u, err := url.Parse("http://" + text); err != nil || text == "" || u.Host != text || u.Port() != "" {
			return errors.New("want a name or an address without a port")
		}
		*host = text
		return nil
	}
}

// portFlag parses a number. Ports.Check checks its range.
func portFlag(port *int) func(string) error {
	return func(text string) (err error) {
		if *port, err = strconv.Atoi(text); err != nil {
			return errors.New("want a number from 1 to 65535")
		}
		return nil
	}
}

// summary prints the stack's addresses and next commands.
func summary(stack runner.Stack, env stackenv.Env) {
	stack.Log.Line(`
The stack is running:
  dashboard           %s
    sign in as        %s (admin) or %s (viewer)
    password          %s
  service             %s
  provider simulator  %s/_sim/phone
  webhook sink        %s/_sink/events
  AWS emulator        %s
  keys and addresses  %s

Try next:
  make run CAMPAIGN=file.csv   send another campaign: columns phone, uid and the template's variables
  make logs                    show the functions' logs
  . %s && curl -s "$BASE_URL/api/v1/oauth/token" -H "Content-Type: application/json" \
    -d "{\"grant_type\":\"client_credentials\",\"client_id\":\"$CLIENT_ID\",\"client_secret\":\"$CLIENT_SECRET\"}"
  make down                    stop the stack and delete its data`,
		env["DASHBOARD_URL"], env["DASHBOARD_EMAIL"], env["DASHBOARD_VIEWER_EMAIL"], env["DASHBOARD_PASSWORD"],
		env["BASE_URL"], env["RCS_URL"], env["WEBHOOK_SINK_URL"], env["AWS_ENDPOINT_URL"], stack.EnvFile(), stack.EnvFile())
}
