// Writes the workbook of Apache POI. See make.py.
import java.io.FileOutputStream;
import java.nio.file.*;
import java.util.*;
import java.util.regex.*;
import org.apache.poi.ss.usermodel.*;
import org.apache.poi.xssf.usermodel.XSSFWorkbook;

class Make {
    public static void main(String[] args) throws Exception {
        Path folder = Path.of(args[0]);
        Map<String, List<List<Object>>> table = read(Files.readString(folder.resolve("table.json")));
        List<Object> formats = table.get("formats").get(0);
        try (Workbook book = new XSSFWorkbook(); FileOutputStream out = new FileOutputStream(folder.resolve("poi.xlsx").toFile())) {
            Sheet sheet = book.createSheet("Clientes");
            CellStyle[] styles = new CellStyle[formats.size()];
            for (int n = 0; n < styles.length; n++) {
                styles[n] = book.createCellStyle();
                styles[n].setDataFormat(book.createDataFormat().getFormat((String) formats.get(n)));
            }
            add(sheet, table.get("header").get(0), null);
            for (List<Object> row : table.get("rows")) {
                add(sheet, row, styles);
            }
            sheet.getRow(3).setZeroHeight(true);
            book.write(out);
        }
    }

    static void add(Sheet sheet, List<Object> values, CellStyle[] styles) {
        Row row = sheet.createRow(sheet.getPhysicalNumberOfRows());
        for (int n = 0; n < values.size(); n++) {
            Cell cell = row.createCell(n);
            if (styles != null) cell.setCellStyle(styles[n]);
            if (values.get(n) instanceof Double number) cell.setCellValue(number);
            if (values.get(n) instanceof String text) cell.setCellValue(text);
        }
    }

    /** Reads the lists of table.json: each line in brackets is one. */
    static Map<String, List<List<Object>>> read(String json) {
        Map<String, List<List<Object>>> lists = new HashMap<>();
        String name = "";
        for (String line : json.split("\n")) {
            Matcher named = Pattern.compile("^ *\"(\\w+)\": ").matcher(line);
            if (named.find()) name = named.group(1);
            Matcher list = Pattern.compile("\\[(\\S.*)\\]").matcher(line);
            if (list.find()) lists.computeIfAbsent(name, n -> new ArrayList<>()).add(values(list.group(1)));
        }
        return lists;
    }

    static List<Object> values(String list) {
        List<Object> values = new ArrayList<>();
        Matcher value = Pattern.compile("\"((?:[^\"\\\\]|\\\\.)*)\"|null|[0-9.]+").matcher(list);
        while (value.find()) {
            if (value.group(1) != null) values.add(value.group(1).replace("\\\"", "\""));
            else values.add(value.group().equals("null") ? null : (Object) Double.valueOf(value.group()));
        }
        return values;
    }
}
