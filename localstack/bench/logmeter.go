package main

import (
	"sync"

	"campaign-dispatch/localstack/metering"
)

// logMeter counts what the functions log, as CloudWatch bills it.
type logMeter struct {
	mu    sync.Mutex
	bytes int
}

// Write counts one line.
func (m *logMeter) Write(line []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bytes += len(line) + metering.LogLine
	return len(line), nil
}

// take returns the bytes since the last take.
func (m *logMeter) take() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	bytes := m.bytes
	m.bytes = 0
	return bytes
}
