package config

import (
	"io"
	"log/slog"

	"github.com/aws/aws-lambda-go/lambdacontext"
)

// Logger returns a logger in Lambda's JSON log format, from which CloudWatch reads the time
// and the level of a line. level is a value of AWS_LAMBDA_LOG_LEVEL: TRACE, DEBUG, INFO,
// WARN, ERROR or FATAL. Other values mean INFO.
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
