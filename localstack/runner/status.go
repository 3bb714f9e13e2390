package runner

import (
	"campaign-dispatch/localstack/stackenv"
)

// Status returns the running stack's stack.env. It returns false if the stack is not
// running.
func (s Stack) Status() (stackenv.Env, bool) {
	if !s.running() {
		return nil, false
	}
	env, err := stackenv.Read(s.EnvFile())
	return env, err == nil
}
