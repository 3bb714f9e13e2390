// Command print writes template.yaml to standard output, with its loops expanded.
package main

import (
	"fmt"
	"os"

	"campaign-dispatch/localstack/template"
)

func main() {
	text, err := template.Read("template.yaml")
	if err == nil {
		_, err = os.Stdout.Write(text)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
