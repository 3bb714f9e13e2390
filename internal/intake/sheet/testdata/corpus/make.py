"""Writes the files of this folder with the programs of others, and for each what it shows (NAME.json).

    Debian 12: libreoffice-calc-nogui 7.4, Python 3.11, Node 20, Java 17, Go 1.26
    pip install openpyxl==3.1.5 XlsxWriter==3.3.1 pandas==3.1.1
    npm install xlsx@0.18.5 exceljs@4.4.0
    Maven: org.apache.poi:poi-ooxml:5.4.1 and its dependencies, copied to one folder
    python3 make.py NODE_MODULES JARS

make.cjs, Make.java and make.go write the files of SheetJS, ExcelJS, Apache POI and excelize. What is shown comes from the
values and formats of table.json, and LibreOffice has to show the same of each workbook. Files whose names begin with
imitated- are not of the program that they are named for.
"""
import csv, datetime, json, os, pathlib, shutil, subprocess, sys, tempfile, zipfile
from xml.sax.saxutils import escape, quoteattr

import openpyxl, pandas, xlsxwriter

HERE = pathlib.Path(__file__).parent.resolve()
TABLE = json.loads((HERE / 'table.json').read_text(encoding='utf-8'))
HEADER, FORMATS, ROWS, HIDDEN = TABLE['header'], TABLE['formats'], TABLE['rows'], TABLE['hidden']
PLAIN = ['General'] * len(HEADER)


def day(serial):
    return datetime.datetime(1899, 12, 30) + datetime.timedelta(serial)


def brazilian(text):
    return text.translate(str.maketrans(',.', '.,'))


def shown(value, code):
    if value is None or isinstance(value, str):
        return value or ''
    return {
        '"R$" #,##0.00': lambda: 'R$ ' + brazilian(f'{value:,.2f}'),
        'dd/mm/yyyy': lambda: day(value).strftime('%d/%m/%Y'),
        'yyyy-mm-dd hh:mm:ss': lambda: day(value).strftime('%Y-%m-%d 00:00:00'),
        '0%': lambda: f'{int(value * 1000 + 5) // 10}%',
        '00000-000': lambda: f'{value // 1000:05}-{value % 1000:03}',
        '00000': lambda: f'{value:05}',
    }.get(code, lambda: brazilian(str(value)))()


def expect(name, formats=FORMATS, sheets=('Clientes',), hidden=HIDDEN, first=1, rows=ROWS):
    lines = [{'line': first + 1 + n, 'cells': [shown(v, c) for v, c in zip(row, formats)], **({'hidden': True} if n == hidden else {})}
        for n, row in enumerate(rows)]
    told = {'header': HEADER, 'lines': lines} | ({'sheets': list(sheets)} if sheets else {})
    (HERE / f'{name}.json').write_text(json.dumps(told, ensure_ascii=False, indent=1) + '\n', encoding='utf-8')


def write_openpyxl():
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = 'Clientes'
    sheet.append(HEADER)
    for n, row in enumerate(ROWS):
        sheet.append(row)
        for column, code in enumerate(FORMATS):
            sheet.cell(n + 2, column + 1).number_format = code
    sheet.row_dimensions[HIDDEN + 2].hidden = True
    book.create_sheet('Antigos').append(['telefone', 'nome'])
    book['Antigos'].append([5511911112222, 'Antigo'])
    book.create_sheet('Capa')
    hidden = book.create_sheet('Listas')
    hidden.append(['SP'])
    hidden.sheet_state = 'hidden'
    book.save(HERE / 'openpyxl.xlsx')
    expect('openpyxl.xlsx', sheets=('Clientes', 'Antigos'))


def write_libreoffice():
    """LibreOffice opens the workbook of openpyxl, and saves it."""
    convert('xlsx:Calc MS Excel 2007 XML', HERE / 'openpyxl.xlsx', HERE / 'libreoffice.xlsx')
    expect('libreoffice.xlsx', sheets=('Clientes', 'Antigos'))


def write_xlsxwriter():
    book = xlsxwriter.Workbook(HERE / 'xlsxwriter.xlsx')
    sheet = book.add_worksheet('Clientes')
    sheet.write_row(0, 0, HEADER)
    formats = [book.add_format({'num_format': code}) for code in FORMATS]
    for n, row in enumerate(ROWS):
        for column, value in enumerate(row):
            if value is not None:
                sheet.write(n + 1, column, value, formats[column])
    sheet.autofilter(0, 0, len(ROWS), len(HEADER) - 1)
    sheet.set_row(HIDDEN + 1, options={'hidden': True})
    book.close()
    expect('xlsxwriter.xlsx')


def write_pandas():
    frame = pandas.DataFrame(ROWS, columns=HEADER)
    frame['vencimento'] = [day(row[4]) for row in ROWS]
    with pandas.ExcelWriter(HERE / 'pandas.xlsx', engine='openpyxl') as writer:
        frame.to_excel(writer, sheet_name='Clientes', index=False)
    expect('pandas.xlsx', formats=PLAIN[:4] + ['yyyy-mm-dd hh:mm:ss'] + PLAIN[5:], hidden=-1)


def write_csv():
    with open(HERE / 'python.csv', 'w', newline='', encoding='utf-8') as file:
        writer = csv.writer(file, delimiter=';')
        writer.writerow(HEADER)
        writer.writerows([[shown(v, c) for v, c in zip(row, FORMATS)] for row in ROWS])
    expect('python.csv', sheets=None, hidden=-1)


def write_powershell():
    """Export-Csv -Delimiter ';' -NoTypeInformation -Encoding UTF8 of Windows PowerShell."""
    lines = [HEADER] + [[shown(v, c) for v, c in zip(row, FORMATS)] for row in ROWS]
    text = ''.join(';'.join('"' + cell.replace('"', '""') + '"' for cell in line) + '\r\n' for line in lines)
    (HERE / 'imitated-powershell.csv').write_bytes(b'\xef\xbb\xbf' + text.encode())
    expect('imitated-powershell.csv', sheets=None, hidden=-1)


def write_sqlplus():
    """SET MARKUP CSV ON, spooled: an empty line, then texts in quotes and numbers without."""
    def cell(value, code):
        text = shown(value, code)
        return '"' + text.replace('"', '""') + '"' if code not in ('0',) else text
    lines = [','.join(f'"{name}"' for name in HEADER)] + [','.join(cell(v, c) for v, c in zip(row, FORMATS)) for row in ROWS]
    (HERE / 'imitated-sqlplus.csv').write_bytes(('\n' + '\n'.join(lines) + '\n').encode())
    expect('imitated-sqlplus.csv', sheets=None, hidden=-1, first=2)


def write_google():
    """The workbook that Google Sheets downloads: rows of the whole grid, formats in quotes, a filter."""
    main, office = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main', 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
    package, types = 'http://schemas.openxmlformats.org/package/2006', 'application/vnd.openxmlformats-officedocument.spreadsheetml.'
    codes = ['0', '@', 'General', '[$R$ -416]#,##0.00', 'dd/mm/yyyy', '0%', '00000"-"000', 'General', '00000']
    texts, rows = [], []
    for n, row in enumerate([HEADER, *ROWS, *[[None] * len(HEADER)] * 30]):
        cells = ''
        for column, value in enumerate(row):
            at = f'{chr(65 + column)}{n + 1}'
            if isinstance(value, str):
                texts.append(value)
                cells += f'<c r="{at}" s="{column if n else 2}" t="s"><v>{len(texts) - 1}</v></c>'
            else:
                cells += f'<c r="{at}" s="{column}">' + (f'<v>{value}</v>' if value is not None else '') + '</c>'
        hidden = ' hidden="1"' if n == HIDDEN + 1 else ''
        rows.append(f'<row r="{n + 1}" ht="15.75" customHeight="1"{hidden}>{cells}</row>')
    formats = ''.join(f'<numFmt numFmtId="{164 + n}" formatCode={quoteattr(code)}/>' for n, code in enumerate(codes))
    styles = ''.join(f'<xf borderId="0" fillId="0" fontId="0" numFmtId="{164 + n if code != "General" else 0}" xfId="0" applyNumberFormat="1"/>' for n, code in enumerate(codes))
    parts = {
        '[Content_Types].xml': f'<Types xmlns="{package}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            + ''.join(f'<Override ContentType="{types}{kind}+xml" PartName="/xl/{part}.xml"/>' for kind, part in
                [('sheet.main', 'workbook'), ('styles', 'styles'), ('sharedStrings', 'sharedStrings'), ('worksheet', 'worksheets/sheet1')]) + '</Types>',
        '_rels/.rels': f'<Relationships xmlns="{package}/relationships"><Relationship Id="rId1" Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        'xl/_rels/workbook.xml.rels': f'<Relationships xmlns="{package}/relationships">' + ''.join(
            f'<Relationship Id="rId{n + 1}" Type="{office}/{kind}" Target="{part}.xml"/>' for n, (kind, part) in
            enumerate([('styles', 'styles'), ('sharedStrings', 'sharedStrings'), ('worksheet', 'worksheets/sheet1')])) + '</Relationships>',
        'xl/workbook.xml': f'<workbook xmlns="{main}" xmlns:r="{office}"><workbookPr/><sheets><sheet state="visible" name="Clientes" sheetId="1" r:id="rId3"/></sheets></workbook>',
        'xl/styles.xml': f'<styleSheet xmlns="{main}"><numFmts count="{len(codes)}">{formats}</numFmts><fonts count="1"><font/></fonts><fills count="1"><fill/></fills>'
            f'<borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="{len(codes)}">{styles}</cellXfs></styleSheet>',
        'xl/sharedStrings.xml': f'<sst xmlns="{main}" count="{len(texts)}" uniqueCount="{len(texts)}">' + ''.join(f'<si><t>{escape(t)}</t></si>' for t in texts) + '</sst>',
        'xl/worksheets/sheet1.xml': f'<worksheet xmlns="{main}"><sheetFormatPr customHeight="1" defaultColWidth="12.63" defaultRowHeight="15.75"/><sheetData>{"".join(rows)}</sheetData></worksheet>',
    }
    with zipfile.ZipFile(HERE / 'imitated-google.xlsx', 'w', zipfile.ZIP_DEFLATED) as z:
        for name, text in parts.items():
            z.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>' + text)
    expect('imitated-google.xlsx')


LOCALE = '''<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Setup/L10N"><prop oor:name="ooSetupSystemLocale" oor:op="fuse"><value>pt-BR</value></prop></item>
</oor:items>'''


def convert(kind, source, target):
    with tempfile.TemporaryDirectory() as folder:
        user = pathlib.Path(folder) / 'profile' / 'user'
        user.mkdir(parents=True)
        (user / 'registrymodifications.xcu').write_text(LOCALE)
        subprocess.run(['soffice', f'-env:UserInstallation=file://{user.parent}', '--headless', '--convert-to', kind, '--outdir', folder, source],
            check=True, capture_output=True)
        shutil.copy(pathlib.Path(folder) / (source.stem + '.' + kind.split(':')[0]), target)


def agree(name):
    """LibreOffice shows the same."""
    told = json.loads((HERE / f'{name}.json').read_text(encoding='utf-8'))
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / 'shown.csv'
        convert('csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,true', HERE / name, path)
        with open(path, newline='', encoding='utf-8') as file:
            rows = [[' '.join(cell.split()) for cell in row] for row in csv.reader(file)]
    for line in told['lines']:
        got, want = rows[line['line'] - 1], [' '.join(c.split()) for c in line['cells']]
        if got[:len(want)] != want:
            print(f'{name}, line {line["line"]}: LibreOffice shows {got}, want {want}')


def main(modules, jars):
    for write in [write_openpyxl, write_libreoffice, write_xlsxwriter, write_pandas, write_csv, write_powershell, write_sqlplus, write_google]:
        write()
    subprocess.run(['node', HERE / 'make.cjs', HERE], check=True, env={**os.environ, 'NODE_PATH': modules})
    subprocess.run(['java', '-cp', f'{jars}/*', HERE / 'Make.java', HERE], check=True)
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(HERE / 'make.go', folder)
        for command in ['go mod init corpus', 'go get github.com/xuri/excelize/v2@v2.11.1', f'go run make.go {HERE}']:
            subprocess.run(command.split(), check=True, cwd=folder)
    for name in ['sheetjs.xlsx', 'exceljs.xlsx', 'poi.xlsx', 'excelize.xlsx']:
        expect(name)
    for path in sorted(HERE.glob('*.xlsx')):
        agree(path.name)


main(*sys.argv[1:])
