// Command publish writes the published costs to README.md and docs/proofs.md. With the file of
// a bill that `make cost` has written, it keeps its metered units before.
package main

import (
	"fmt"
	"os"

	"campaign-dispatch/localstack/lab/bill"
)

func main() {
	if err := publish(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "publish:", err)
		os.Exit(1)
	}
}

func publish(billFiles []string) error {
	for _, file := range billFiles {
		kept, err := bill.Keep(".", file)
		if err != nil {
			return err
		}
		if !kept {
			fmt.Println("The metered units are not kept: the pages have no costs under these conditions.")
		}
	}
	pages, err := bill.Pages(".")
	if err != nil {
		return err
	}
	for path, text := range pages {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return fmt.Errorf("write the costs: %w", err)
		}
	}
	return nil
}
