package numberformat

// builtin are the codes of the formats that workbooks name by a number alone, as spreadsheets in Brazil have them.
var builtin = map[int]string{
	1: `0`, 2: `0.00`, 3: `#,##0`, 4: `#,##0.00`,
	5: `"R$" #,##0;-"R$" #,##0`, 6: `"R$" #,##0;-"R$" #,##0`, 7: `"R$" #,##0.00;-"R$" #,##0.00`, 8: `"R$" #,##0.00;-"R$" #,##0.00`,
	9: `0%`, 10: `0.00%`, 11: `0.00E+00`, 12: `# ?/?`, 13: `# ??/??`,
	14: `dd/mm/yyyy`, 15: `dd/mmm/yy`, 16: `dd/mmm`, 17: `mmm/yy`,
	18: `h:mm AM/PM`, 19: `h:mm:ss AM/PM`, 20: `hh:mm`, 21: `hh:mm:ss`, 22: `dd/mm/yyyy hh:mm`,
	37: `#,##0;-#,##0`, 38: `#,##0;-#,##0`, 39: `#,##0.00;-#,##0.00`, 40: `#,##0.00;-#,##0.00`,
	41: `#,##0;-#,##0;"-"`, 42: `"R$"* #,##0;-"R$"* #,##0;"R$"* "-"`,
	43: `#,##0.00;-#,##0.00;"-"`, 44: `"R$"* #,##0.00;-"R$"* #,##0.00;"R$"* "-"`,
	45: `mm:ss`, 46: `[h]:mm:ss`, 47: `mm:ss.0`, 48: `##0.0E+0`, 49: `@`,
}

// Builtin returns the format that a workbook names by a number alone, nil for General.
func Builtin(number int) *Format { return Parse(builtin[number]) }
