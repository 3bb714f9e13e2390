package runner

import (
	"campaign-dispatch/localstack/stackenv"
)

// Status returns where everything of the running stack is, and false if it is
// not running.
func (s Stack) Status() (stackenv.Env, bool) {
	if !s.running() {
		return nil, false
	}
	env, err := stackenv.Read(s.EnvFile())
	return env, err == nil
}
