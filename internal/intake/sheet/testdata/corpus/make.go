//go:build ignore

// Writes the workbook of excelize. See make.py.
package main

import (
	"encoding/json"
	"log"
	"os"
	"path/filepath"

	"github.com/xuri/excelize/v2"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	folder := os.Args[1]
	content, err := os.ReadFile(filepath.Join(folder, "table.json"))
	check(err)
	var table struct {
		Header, Formats []string
		Rows            [][]any
		Hidden          int
	}
	check(json.Unmarshal(content, &table))
	book := excelize.NewFile()
	check(book.SetSheetName("Sheet1", "Clientes"))
	check(book.SetSheetRow("Clientes", "A1", &table.Header))
	for n, row := range table.Rows {
		for column, value := range row {
			name, err := excelize.CoordinatesToCellName(column+1, n+2)
			check(err)
			style, err := book.NewStyle(&excelize.Style{CustomNumFmt: &table.Formats[column]})
			check(err)
			check(book.SetCellValue("Clientes", name, value))
			check(book.SetCellStyle("Clientes", name, name, style))
		}
	}
	check(book.SetRowVisible("Clientes", table.Hidden+2, false))
	check(book.SaveAs(filepath.Join(folder, "excelize.xlsx")))
}
