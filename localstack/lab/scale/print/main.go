// Command print prints which limit of AWS each load of package scale reaches first.
package main

import (
	"fmt"
	"os"

	"campaign-dispatch/localstack/lab/scale"
)

func main() {
	model, err := scale.New("template.yaml")
	if err == nil {
		err = model.Print(os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}
