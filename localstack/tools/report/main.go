// Command report prints template.yaml with its loops expanded (template) or which limit of AWS
// each load of package scale reaches first (scale), or writes the published costs to README.md
// and docs/proofs.md (costs). With the files of bills that `make cost` has written, costs keeps
// their metered units before.
package main

import (
	"fmt"
	"os"

	"campaign-dispatch/localstack/lab/bill"
	"campaign-dispatch/localstack/lab/scale"
	"campaign-dispatch/localstack/template"
)

func main() {
	reports := map[string]func(files []string) error{"template": expanded, "scale": limits, "costs": costs}
	if len(os.Args) < 2 || reports[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "want one report: template, scale or costs")
		os.Exit(2)
	}
	if err := reports[os.Args[1]](os.Args[2:]); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}

func expanded([]string) error {
	text, err := template.Read("template.yaml")
	if err == nil {
		_, err = os.Stdout.Write(text)
	}
	return err
}

func limits([]string) error {
	model, err := scale.New("template.yaml")
	if err == nil {
		err = model.Print(os.Stdout)
	}
	return err
}

func costs(bills []string) error {
	for _, file := range bills {
		kept, err := bill.Keep(".", file)
		if err != nil {
			return err
		}
		if !kept {
			fmt.Println("The metered units are not kept: the pages have no costs under these conditions.")
		}
	}
	pages, err := bill.Pages(".")
	for path, text := range pages {
		if err == nil {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
	}
	return err
}
