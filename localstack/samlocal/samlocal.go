// Package samlocal writes the environment variables that `sam local` needs to run the
// functions against the local stack.
package samlocal

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"campaign-dispatch/localstack/stackenv"
)

// Host is the name of this machine in a container of Docker Desktop.
const Host = "host.docker.internal"

// Variables holds the environment variables of each function by its logical id.
type Variables map[string]map[string]string

// Read returns the variables of the deployed functions. The addresses of the emulator
// and the provider simulator name host, so that a container reaches them. Addresses
// for browsers and clients do not change.
func Read(ctx context.Context, env stackenv.Env, host string) (Variables, error) {
	client, all := lambda.NewFromConfig(env.AWS()), Variables{}
	for logical, name := range functions(env) {
		got, err := client.GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: aws.String(name)})
		if err != nil {
			return nil, fmt.Errorf("read the variables of %s: %w", logical, err)
		}
		variables := map[string]string{}
		if got.Environment != nil {
			variables = got.Environment.Variables
		}
		all[logical] = reachable(variables, env, host)
	}
	return all, nil
}

// Write writes the file that `sam local --env-vars` reads.
func (v Variables) Write(path string) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the functions' variables: %w", err)
	}
	return nil
}

// reachable returns a function's variables with addresses that a container reaches.
func reachable(variables map[string]string, env stackenv.Env, host string) map[string]string {
	variables["AWS_ENDPOINT_URL"] = env["AWS_ENDPOINT_URL"]
	for _, name := range []string{"AWS_ENDPOINT_URL", "RCS_URL"} {
		if address, ok := variables[name]; ok {
			variables[name] = strings.Replace(address, "//127.0.0.1:", "//"+host+":", 1)
		}
	}
	return variables
}

// functions returns the names of the stack's functions by logical id: TOKEN_FUNCTION is the name of TokenFunction.
func functions(env stackenv.Env) map[string]string {
	names := map[string]string{}
	for key, name := range env {
		if short, ok := strings.CutSuffix(key, "_FUNCTION"); ok {
			names[short[:1]+strings.ToLower(short[1:])+"Function"] = name
		}
	}
	return names
}
