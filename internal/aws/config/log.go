package config

import (
	"io"
	"log/slog"

	"github.com/aws/aws-lambda-go/lambdacontext"
)

// Logger returns a logger whose lines Lambda's JSON log format understands:
// with the names of its members, by which CloudWatch knows a line's time and
// level, and from the given level on (TRACE, DEBUG, INFO, WARN, ERROR or FATAL,
// Lambda's AWS_LAMBDA_LOG_LEVEL; INFO where it is none of them).
func Logger(w io.Writer, level string) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{
		Level: levelOf(level), ReplaceAttr: lambdacontext.ReplaceAttr,
	}))
}

func levelOf(name string) slog.Level {
	switch name {
	case "TRACE", "DEBUG":
		return slog.LevelDebug
	case "WARN":
		return slog.LevelWarn
	case "ERROR", "FATAL":
		return slog.LevelError
	}
	return slog.LevelInfo
}
