// Command admin is the operator's tool for tenants, agents, templates, credentials,
// webhook endpoints, pauses, dead letters, drift and restores. Run it without arguments
// for a list of its commands.
//
// It finds the stack in the environment (AUTH_TABLE, CAMPAIGNS_TABLE and so on), else
// in .local/stack.env; --stack NAME selects a stack on AWS. The exit status is 0 for
// success, 1 for a failure, and 2 for a usage error. An error is one line on stderr.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

const (
	exitFailed = 1
	exitUsage  = 2
)

// timeLimit limits commands, except those without a time limit.
const timeLimit = time.Minute

// command is one of the tool's commands.
type command struct {
	name, summary string
	// prepare declares the command's flags and returns the action to run once they are
	// parsed.
	prepare func(*flag.FlagSet) action
	endless bool // no time limit
}

// action runs a command on a stack. The answer is printed if there is no error.
type action func(ctx context.Context, s *stack) (answer, error)

type usageError struct{ error }

func run(ctx context.Context, args []string, env func(string) string, stdout, stderr io.Writer) int {
	if len(args) == 0 || args[0] == "-h" || args[0] == "--help" || args[0] == "help" {
		overview(stdout)
		if len(args) == 0 {
			return exitUsage
		}
		return 0
	}
	cmd, ok := find(args[0])
	if !ok {
		fmt.Fprintf(stderr, "admin: unknown command %q: run admin without arguments to list the commands\n", args[0])
		return exitUsage
	}
	err := cmd.execute(ctx, args[1:], env, stdout, stderr)
	_, usage := errors.AsType[usageError](err)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return 0
	}
	message, help := oneLine(err), "`admin "+cmd.name+" -h` shows its flags"
	if env(calledByMake) != "" {
		message, help = asVariables(message), "`make help` shows its variables"
	}
	if usage {
		fmt.Fprintf(stderr, "admin %s: %s (%s)\n", cmd.name, message, help)
		return exitUsage
	}
	fmt.Fprintf(stderr, "admin %s: %s\n", cmd.name, message+advice(err))
	return exitFailed
}

func (c command) execute(ctx context.Context, args []string, env func(string) string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("admin "+c.name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	asJSON := flags.Bool("json", false, "print the result as JSON, for scripts")
	stackName := flags.String("stack", "", "`NAME` of the CloudFormation stack on AWS (default: the local stack)")
	act := c.prepare(flags)
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		c.help(flags, stdout)
		return err
	case err != nil:
		return usageError{err}
	case flags.NArg() > 0:
		return unexpected(flags)
	}
	if !c.endless {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeLimit)
		defer cancel()
	}
	s, err := open(ctx, env, *stackName)
	if err != nil {
		return err
	}
	s.progress = stderr
	if err := missing(flags); err != nil {
		return err
	}
	result, err := act(ctx, s)
	if err != nil {
		return err
	}
	if err := result.print(stdout, *asJSON); err != nil {
		return err
	}
	return result.Failure
}

// required ends the usage of a flag that must be set.
const required = "(required)"

// Texts of several commands.
const (
	tenantUsage = "`ID` of the tenant " + required
	onlyOnce    = "\t(shown only once: store it now)"
)

// missing returns an error for a required flag that is not set.
func missing(flags *flag.FlagSet) error {
	var names []string
	flags.VisitAll(func(f *flag.Flag) {
		if f.Value.String() == "" && strings.HasSuffix(f.Usage, required) {
			names = append(names, f.Name)
		}
	})
	switch {
	case len(names) == 0:
		return nil
	case slices.Contains(names, "tenant"):
		names[0] = "tenant"
	}
	return usageError{errors.New("--" + names[0] + " is missing")}
}

// unexpected returns an error for an argument that is not a flag. It does not repeat an
// argument that may be a phone number.
func unexpected(flags *flag.FlagSet) error {
	if flags.Lookup("phone") != nil {
		return usageError{errors.New("unexpected argument: use flags only")}
	}
	return usageError{fmt.Errorf("unexpected argument %q: use flags only", flags.Arg(0))}
}

func (c command) help(flags *flag.FlagSet, w io.Writer) {
	fmt.Fprintf(w, "admin %s: %s\n", c.name, c.summary)
	flags.SetOutput(w)
	flags.PrintDefaults()
}

func overview(w io.Writer) {
	fmt.Fprint(w, "admin COMMAND [flags]\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-19s %s\n", c.name, c.summary)
	}
	fmt.Fprint(w, "\nEvery command takes -h, --json, and --stack NAME for a stack on AWS (default: the local one).\n")
}

func find(name string) (command, bool) {
	for _, c := range commands() {
		if c.name == name {
			return c, true
		}
	}
	return command{}, false
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
