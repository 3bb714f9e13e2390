package main

import (
	"slices"
	"syscall"
	"time"
)

// cpuTime returns the processor time that this process has used.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err) // the call has no way to fail
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// rounds is how often two things are measured in turn.
const rounds = 15

// pair is the processor time of one call of a subject and of its yardstick, and
// the median of the ratios of the rounds.
type pair struct {
	subject, yardstick time.Duration
	ratio              float64
}

// compare measures the two in turn, so that a machine that changes its speed
// changes it for both. Each round makes calls of both: as many as given.
func compare(subject, yardstick func(), subjectCalls, yardstickCalls int) pair {
	spend(subject, 1)
	spend(yardstick, 1)
	var subjects, yardsticks []time.Duration
	var ratios []float64
	for range rounds {
		s, y := spend(subject, subjectCalls), spend(yardstick, yardstickCalls)
		subjects, yardsticks = append(subjects, s), append(yardsticks, y)
		ratios = append(ratios, float64(s)/float64(y))
	}
	return pair{median(subjects), median(yardsticks), median(ratios)}
}

// spend returns the processor time of one call, out of several.
func spend(call func(), calls int) time.Duration {
	start := cpuTime()
	for range calls {
		call()
	}
	return (cpuTime() - start) / time.Duration(calls)
}

func median[T int | float64 | time.Duration](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
