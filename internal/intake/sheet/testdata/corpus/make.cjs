// Writes the workbooks of SheetJS and ExcelJS. See make.py.
const fs = require("fs"), path = require("path"), XLSX = require("xlsx"), ExcelJS = require("exceljs");

const folder = process.argv[2];
const table = JSON.parse(fs.readFileSync(path.join(folder, "table.json"), "utf8"));

function sheetjs() {
  const sheet = XLSX.utils.aoa_to_sheet([table.header, ...table.rows]);
  for (const name of Object.keys(sheet)) {
    if (name[0] === "!") continue;
    const { r, c } = XLSX.utils.decode_cell(name);
    if (r > 0) sheet[name].z = table.formats[c];
  }
  sheet["!rows"] = [];
  sheet["!rows"][table.hidden + 1] = { hidden: true };
  const book = XLSX.utils.book_new();
  XLSX.utils.book_append_sheet(book, sheet, "Clientes");
  XLSX.writeFile(book, path.join(folder, "sheetjs.xlsx"), { compression: true });
}

async function exceljs() {
  const book = new ExcelJS.Workbook();
  const sheet = book.addWorksheet("Clientes");
  sheet.addRow(table.header);
  for (const row of table.rows) {
    const added = sheet.addRow(row);
    table.formats.forEach((format, n) => { added.getCell(n + 1).numFmt = format; });
  }
  sheet.getRow(table.hidden + 2).hidden = true;
  await book.xlsx.writeFile(path.join(folder, "exceljs.xlsx"));
}

sheetjs();
exceljs();
