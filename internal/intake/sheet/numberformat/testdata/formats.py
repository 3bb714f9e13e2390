"""Writes formats.json: what LibreOffice and SheetJS show for number formats.

    pip install (nothing), LibreOffice 7.4 as soffice, npm install xlsx@0.18.5
    python3 formats.py FOLDER_OF_NODE_MODULES

LibreOffice reads a workbook with each value in each format as in Brazil, and writes what its cells
show. SheetJS shows the same in American form.
"""
import csv, json, os, pathlib, subprocess, sys, tempfile, zipfile
from xml.sax.saxutils import quoteattr

HERE = pathlib.Path(__file__).parent
MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main'
OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
PACKAGE = 'http://schemas.openxmlformats.org/package/2006'

CASES = {  # a format, or the number of a built-in one: values
    '"R$" #,##0.00': ['129.9', '1234567.891', '0', '-5', '0.005', '-0.001'],
    '"R$ "#,##0.00': ['129.9'],
    '[$R$-416] #,##0.00': ['129.9', '-129.9'],
    '[$R$-416]#,##0.00;[Red]-[$R$-416]#,##0.00': ['129.9', '-129.9'],
    '_-"R$"\\ * #,##0.00_-;\\-"R$"\\ * #,##0.00_-;_-"R$"\\ * "-"??_-;_-@_-': ['129.9', '-129.9', '0'],
    '_-[$R$-416]\\ * #,##0.00_-;\\-[$R$-416]\\ * #,##0.00_-;_-[$R$-416]\\ * "-"??_-;_-@_-': ['1234.5', '0'],
    '[$US$-409] #,##0.00': ['1234.5'],
    '[$€-2] #,##0.00': ['1234.5'],
    '#,##0.00 [$€-407]': ['1234.5'],
    '#,##0.00_);(#,##0.00)': ['1234.5', '-1234.5'],
    '00000-000': ['1310100', '80010000'],
    '00000\\-000': ['1310100'],
    '00000': ['42', '123456', '-42', '42.5'],
    '000"."000"."000"-"00': ['12345678909', '1234567890'],
    '000\\.000\\.000\\-00': ['12345678909'],
    '00\\.000\\.000\\/0000\\-00': ['11222333000181'],
    '00"."000"."000"/"0000"-"00': ['1222333000181'],
    '(00) 00000-0000': ['11987654321'],
    '\\(00\\)\\ 00000\\-0000': ['11987654321'],
    '+55 (00) 00000-0000': ['11987654321'],
    '"+"00" ("00") "00000-0000': ['5511987654321'],
    '[<=99999999]####-####;(###) ####-####': ['98765432', '1198765432'],
    '[<=9999999999](00) 0000-0000;(00) 00000-0000': ['1132345678', '11987654321'],
    '000-0000': ['5551234'],
    '0': ['5511987654321', '0.5', '1.5', '2.5', '-0.5', '1e15'],
    '0.0': ['0.25', '0.35', '0.05', '-0.05'],
    '0.00': ['1.005', '2.675', '0.285', '129.9', '1e-7', '1234.5'],
    '0.000': ['3.14159'],
    '#': ['0', '7', '0.4'],
    '#.##': ['0.5', '5', '1.257'],
    '#.00': ['0.5'],
    '0.##': ['5', '5.1', '5.129'],
    '0.0#': ['5', '5.128'],
    '#,##0': ['999', '1000', '5511987654321', '-1234', '999.5'],
    '#,##0.0': ['1234.56'],
    '#,###': ['0', '1234567'],
    '0,000': ['42', '1234567'],
    '#,##0.00##': ['1234.5', '1234.56789'],
    '???0.0??': ['1.5'],
    '0,': ['1234567', '499', '1500'],
    '0.0,,': ['1234567', '50000'],
    '0.0,"mil"': ['12345'],
    '0.0,,\\ "mi"': ['12345678'],
    '#,##0.00,': ['12345678'],
    '[>=1000000]0.0,,"M";[>=1000]0.0,"k";0': ['2500000', '1500', '15'],
    '[>1000000]0.0,,"M";0': ['2500000', '15', '-3'],
    '[=1]0" dia";0" dias"': ['1', '2', '0'],
    '[<0]"negativo";"positivo"': ['-1', '1', '0'],
    '0%': ['0.125', '0.15', '0.005', '0.285', '1', '-0.125', '0.12499999'],
    '0.0%': ['0.125', '0.0705', '7.0000000000000007E-2'],
    '0.00%': ['0.12345', '0'],
    '#,##0%': ['12.5'],
    '0 %': ['0.15'],
    '0.0%;[Red]\\-0.0%': ['0.5', '-0.5'],
    '0"%"': ['15'],
    '0.0"%"': ['0.5'],
    '"-"0%': ['0.1'],
    '0% "off"': ['0.3'],
    '0.00E+00': ['5511987654321', '0.00012', '-1234', '0'],
    '0.00E-00': ['0.00012', '1234'],
    '##0.0E+0': ['12345', '1234567', '0.012'],
    '0E+0': ['12345'],
    '# ?/?': ['0.5', '1.25', '2', '0.333333333333333', '-1.5'],
    '# ??/??': ['3.14159', '0.875'],
    '#\\ ?/8': ['2.375'],
    '# ???/???': ['0.123'],
    '0\\ "unidades"': ['3'],
    '0" un."': ['3'],
    '0\\ \\d\\i\\a\\s_d': ['30'],
    '"Pedido n° "0': ['77'],
    '"a;b "0': ['5'],
    '0" @ casa"': ['5'],
    '0"_x"': ['5'],
    '""0': ['5'],
    '#0"h"00': ['1830'],
    '0"º"': ['2'],
    '#,##0.00" m²"': ['70.5'],
    '0.0 "kg"': ['1.25'],
    '"sim";"não";"zero"': ['1', '-1', '0'],
    '0;(0)': ['5', '-5', '0'],
    '0;-0;"grátis"': ['5', '0'],
    '0;;': ['5', '-5', '0'],
    ';;;': ['5'],
    '[Blue]0.00;[Red]-0.00': ['1.5', '-1.5'],
    '[Color10]0.00': ['1.5'],
    '@': ['5511987654321', '12.5'],
    'General': ['5511987654321', '12.5', '0.1', '0.30000000000000004', '33.3333333333333', '0.333333333333333', '-2.5', '1234.5678', '100000', '0.0001', '1E-5', '123456789.123'],
    'General" un"': ['2.5'],
    '"R$ "General': ['129.9'],
    'dd/mm/yyyy': ['46000', '46000.75', '1', '59', '61', '60', '0', '2958465'],
    'd/m/yy': ['46000'],
    'dd/mm/yyyy hh:mm': ['46000.75', '46000.999988'],
    'dd/mm/yyyy\\ hh:mm:ss': ['46000.756944'],
    'yyyy-mm-dd': ['46000'],
    'yyyy\\-mm\\-dd\\Thh:mm:ss': ['46000.75'],
    'dd-mm-yyyy': ['46000'],
    'dd.mm.yyyy': ['46000'],
    'd-mmm': ['46000'],
    'd\\-mmm\\-yy': ['46000'],
    'dd/mmm/yyyy': ['46000', '45000', '45900'],
    'mmm/yy': ['46000'],
    'mmmm': ['46000', '45000'],
    'mmmm/yyyy': ['46082'],
    'mmmmm': ['46000'],
    'ddd': ['46000', '46004', '46005'],
    'dddd': ['46000', '46004', '46005'],
    'dd "de" mmmm "de" yyyy': ['46000'],
    'd\\ "de"\\ mmmm\\ "de"\\ yyyy;@': ['46000'],
    '[$-416]d\\ mmm\\ yy;@': ['46000'],
    '[$-416]dddd, d "de" mmmm "de" yyyy': ['46000'],
    '[$-409]mmmm d, yyyy': ['46000'],
    '[$-F800]dddd\\,\\ mmmm\\ dd\\,\\ yyyy': ['46000'],
    '[$-F400]h:mm:ss\\ AM/PM': ['0.75'],
    'h:mm': ['0.75', '0.3854'],
    'hh:mm': ['0.75', '46000.3854'],
    'h"h"mm': ['0.75'],
    'hh:mm:ss': ['0.756944'],
    'hh:mm:ss.0': ['0.7569445'],
    'h:mm AM/PM': ['0.75', '0.25', '0'],
    'h AM/PM': ['0.75'],
    'mm:ss': ['0.0103'],
    '[h]:mm': ['1.5', '0.25'],
    '[hh]:mm:ss': ['2.0001'],
    '[mm]:ss': ['0.0833'],
    '[ss]': ['0.01'],
    'yy': ['46000'],
    'yyyy': ['46000'],
    'm/yyyy': ['46000'],
    'd': ['46000'],
    **{number: ['46000.75'] for number in [14, 15, 16, 17, 18, 19, 20, 21, 22, 45, 46, 47]},
    **{number: ['1234.5', '-1234.5'] for number in [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 37, 38, 39, 40, 41, 42, 43, 44, 48, 49]},
}


def workbook(path, cells):
    codes = {code: 164 + n for n, code in enumerate(c for c in CASES if isinstance(c, str))}
    ids = [codes.get(code, code) for code, _ in cells]
    formats = ''.join(f'<numFmt numFmtId="{n}" formatCode={quoteattr(code)}/>' for code, n in codes.items())
    styles = ''.join(f'<xf numFmtId="{n}" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>' for n in ids)
    rows = ''.join(f'<row r="{n + 1}"><c r="A{n + 1}" s="{n + 1}"><v>{value}</v></c></row>' for n, (_, value) in enumerate(cells))
    plain = '<xf numFmtId="0" fontId="0" fillId="0" borderId="0"/>'
    types = 'application/vnd.openxmlformats-officedocument.spreadsheetml.'
    parts = {
        '[Content_Types].xml': f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{types}sheet.main+xml"/><Override PartName="/xl/styles.xml" ContentType="{types}styles+xml"/>'
            f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{types}worksheet+xml"/></Types>',
        '_rels/.rels': f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="rId1" Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        'xl/workbook.xml': f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets><sheet name="a" sheetId="1" r:id="rId1"/></sheets></workbook>',
        'xl/_rels/workbook.xml.rels': f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="rId1" Type="{OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>'
            f'<Relationship Id="rId2" Type="{OFFICE}/styles" Target="styles.xml"/></Relationships>',
        'xl/styles.xml': f'<styleSheet xmlns="{MAIN}"><numFmts count="{len(codes)}">{formats}</numFmts><fonts count="1"><font/></fonts>'
            f'<fills count="1"><fill/></fills><borders count="1"><border/></borders><cellStyleXfs count="1">{plain}</cellStyleXfs>'
            f'<cellXfs count="{len(ids) + 1}">{plain}{styles}</cellXfs></styleSheet>',
        'xl/worksheets/sheet1.xml': f'<worksheet xmlns="{MAIN}"><cols><col min="1" max="1" width="60" customWidth="1"/></cols><sheetData>{rows}</sheetData></worksheet>',
    }
    with zipfile.ZipFile(path, 'w') as z:
        for name, text in parts.items():
            z.writestr(name, text)


LOCALE = '''<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Setup/L10N"><prop oor:name="ooSetupSystemLocale" oor:op="fuse"><value>pt-BR</value></prop></item>
<item oor:path="/org.openoffice.Office.Linguistic/General"><prop oor:name="DefaultLocale" oor:op="fuse"><value>pt-BR</value></prop></item>
</oor:items>'''


def libreoffice(path, folder):
    profile = folder / 'profile'
    (profile / 'user').mkdir(parents=True)
    (profile / 'user' / 'registrymodifications.xcu').write_text(LOCALE)
    as_shown = 'csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,true'
    subprocess.run(['soffice', f'-env:UserInstallation=file://{profile}', '--headless', '--convert-to', as_shown,
        '--outdir', folder, path], check=True, capture_output=True)
    with open(path.with_suffix('.csv'), newline='', encoding='utf-8') as f:
        return [' '.join(row[0].split()) if row else '' for row in csv.reader(f)]


def sheetjs(path, modules):
    script = 'const x = require("xlsx"), s = Object.values(x.readFile(process.argv[1], {cellNF: true}).Sheets)[0];' \
        'console.log(JSON.stringify(Object.keys(s).filter(k => k[0] === "A").map(k => s[k].w ?? "")))'
    shown = subprocess.run(['node', '-e', script, path], check=True, capture_output=True, env={**os.environ, 'NODE_PATH': modules})
    return [' '.join(text.split()) for text in json.loads(shown.stdout)]


def main():
    cells = [(code, value) for code, values in CASES.items() for value in values]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / 'formats.xlsx'
        workbook(path, cells)
        shown, american = libreoffice(path, pathlib.Path(folder)), sheetjs(path, sys.argv[1])
    shown += [''] * (len(cells) - len(shown))
    lines = [json.dumps({'format': str(code), 'value': value, 'shown': a, 'sheetjs': b}, ensure_ascii=False)
        for (code, value), a, b in zip(cells, shown, american, strict=True)]
    (HERE / 'formats.json').write_text('[\n' + ',\n'.join(lines) + '\n]\n', encoding='utf-8')


main()
