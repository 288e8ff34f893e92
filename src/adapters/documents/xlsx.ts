/**
 * The rows of one sheet of a workbook (ECMA-376, part 1, 18). Own code: a library builds a tree of the whole sheet, and this
 * reads it from left to right, stops where enough was read, and tells what is wrong by the row. A formula gives the value
 * that was stored with it.
 */
import { StringDecoder } from 'node:string_decoder'
import { Parser } from 'htmlparser2'
import { LOAD_RECORD_BYTES } from '../../contracts/limits.ts'
import type { ReadTable, TableFile } from '../../cores/loads/read-table.ts'
import { UnreadableFile } from './blocks.ts'
import { openZip, type Zip } from './read-zip.ts'
import { createTableRows, numberText, TOO_LONG } from './table-rows.ts'

/** Of all parts that are read. */
const INFLATED_MAX_BYTES = 256 * 1024 * 1024
const CHUNK_BYTES = 256 * 1024
const DEPTH_MAX = 100
/** Of the format itself. */
const [ROWS_MAX, COLUMNS_MAX] = [1_048_576, 16_384]
const SHEETS_MAX = 500
/** What Excel puts around a workbook with a password, and the format that it had before. */
const COMPOUND_FILE = Buffer.from('d0cf11e0a1b11ae1', 'hex')

const broken = () => new UnreadableFile('It is broken, or no XLSX file.')
const longCell = () => new UnreadableFile('It has a cell with more text than a row may have.')

export function readXlsx({ content, sheet, rowsMax = Infinity }: TableFile): ReadTable {
  if (COMPOUND_FILE.equals(content.subarray(0, COMPOUND_FILE.length))) {
    throw new UnreadableFile(
      'It is protected by a password, or an old workbook. Save it as XLSX without one.',
    )
  }
  const zip = openZip(content, INFLATED_MAX_BYTES)
  const { sheets, startsIn1904 } = readWorkbook(zip)
  const [first] = sheets
  const found = sheet === undefined ? first : sheets.find(({ name }) => name === sheet)
  if (!first) throw broken()
  const names = sheets.map(({ name }) => name)
  if (!found) throw new UnreadableFile(`There is no such sheet. ${sheetList(names)}`)
  const part = zip.read(found.path)
  if (!part) throw broken()
  const values: Values = { strings: readStrings(zip), kinds: readKinds(zip), startsIn1904 }
  return { sheets: names, sheet: found.name, lists: [], ...readSheet(part, values, rowsMax) }
}

const LISTED_MAX = 20
const LISTED_CHARACTERS = 40

const sheetList = (names: readonly string[]): string => {
  const listed = names.slice(0, LISTED_MAX).map((name) => `“${name.slice(0, LISTED_CHARACTERS)}”`)
  return `It has ${listed.join(', ')}${names.length > LISTED_MAX ? ' and others' : ''}.`
}

type Attributes = Readonly<Record<string, string>>
type Handlers = {
  readonly open: (name: string, attributes: Attributes) => void
  readonly text?: (said: string) => void
  readonly close?: (name: string) => void
}

/** Enough was read. */
class Enough extends Error {}

/** Names without their prefix: some programs write one. */
function parse(xml: Buffer, { open, text = () => {}, close = () => {} }: Handlers): void {
  let depth = 0
  const plain = (name: string) => name.slice(name.indexOf(':') + 1)
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        depth += 1
        if (depth > DEPTH_MAX) throw broken()
        open(plain(name), attributes)
      },
      ontext: text,
      onclosetag(name) {
        depth -= 1
        close(plain(name))
      },
    },
    { xmlMode: true },
  )
  const decoder = new StringDecoder('utf8')
  try {
    for (let at = 0; at < xml.length; at += CHUNK_BYTES)
      parser.write(decoder.write(xml.subarray(at, at + CHUNK_BYTES)))
    parser.end()
  } catch (error) {
    if (!(error instanceof Enough)) throw error
  }
}

type Sheet = { readonly name: string; readonly path: string }

/** The sheets that people see, in their order. */
function readWorkbook(zip: Zip): { sheets: Sheet[]; startsIn1904: boolean } {
  const workbook = zip.read('xl/workbook.xml')
  const relations = zip.read('xl/_rels/workbook.xml.rels')
  if (!workbook || !relations) throw broken()
  const paths = new Map<string, string>()
  parse(relations, {
    open(name, { Id: id = '', Target: target = '', Type: type = '' }) {
      if (name !== 'Relationship' || !type.endsWith('/worksheet')) return
      paths.set(id, target.startsWith('/') ? target.slice(1) : `xl/${target}`)
    },
  })
  const sheets: Sheet[] = []
  let startsIn1904 = false
  parse(workbook, {
    open(name, attributes) {
      if (name === 'workbookPr') startsIn1904 = isTrue(attributes['date1904'])
      if (name !== 'sheet' || (attributes['state'] ?? 'visible') !== 'visible') return
      const id = Object.entries(attributes).find(([key]) => /(^|:)id$/.test(key))?.[1] ?? ''
      const path = paths.get(id)
      if (path !== undefined) sheets.push({ name: attributes['name'] ?? '', path })
      if (sheets.length > SHEETS_MAX) throw broken()
    },
  })
  return { sheets, startsIn1904 }
}

const isTrue = (value: string | undefined): boolean => value === '1' || value === 'true'

/** Texts that cells name by their number. Without what says how one is pronounced. */
function readStrings(zip: Zip): readonly string[] {
  const strings: string[] = []
  let [text, isText, skipping] = ['', false, false]
  parse(zip.read('xl/sharedStrings.xml') ?? Buffer.alloc(0), {
    open(name) {
      if (name === 'si') text = ''
      else if (name === 'rPh') skipping = true
      else if (name === 't') isText = !skipping
    },
    text(said) {
      if (!isText) return
      if (text.length + said.length > LOAD_RECORD_BYTES) throw longCell()
      text += said
    },
    close(name) {
      if (name === 't') isText = false
      else if (name === 'rPh') skipping = false
      else if (name === 'si') strings.push(unescaped(text))
    },
  })
  return strings
}

/** `_x000D_` is how a character is written that XML cannot have. */
const unescaped = (text: string): string =>
  text.replaceAll(/_x([0-9A-Fa-f]{4})_/g, (_all, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  )

type Kind = 'plain' | 'date' | 'time' | 'both'

/** How the numbers of each style are shown: a day is a number like any other, but for that. */
function readKinds(zip: Zip): readonly Kind[] {
  const formats = new Map<number, string>()
  const kinds: Kind[] = []
  let isInCells = false
  parse(zip.read('xl/styles.xml') ?? Buffer.alloc(0), {
    open(name, attributes) {
      if (name === 'numFmt') formats.set(Number(attributes['numFmtId']), attributes['formatCode'] ?? '')
      else if (name === 'cellXfs') isInCells = true
      else if (name === 'xf' && isInCells) {
        const id = Number(attributes['numFmtId'] ?? 0)
        const own = formats.get(id)
        kinds.push(own === undefined ? builtInKind(id) : kindOf(own))
      }
    },
    close(name) {
      if (name === 'cellXfs') isInCells = false
    },
  })
  return kinds
}

function builtInKind(id: number): Kind {
  if (id === 22) return 'both'
  if ((id >= 14 && id <= 17) || (id >= 27 && id <= 31) || id === 36 || (id >= 50 && id <= 58)) return 'date'
  return (id >= 18 && id <= 21) || (id >= 32 && id <= 35) || (id >= 45 && id <= 47) ? 'time' : 'plain'
}

function kindOf(format: string): Kind {
  // Without texts, colors and what is escaped. A length of time is a number.
  const [positive = ''] = format.replaceAll(/"[^"]*"|\\.|_.|\*./g, '').split(';')
  if (/\[[hms]+\]/i.test(positive)) return 'plain'
  const codes = positive.replaceAll(/\[[^\]]*\]|AM\/PM|A\/P|General/gi, '').toLowerCase()
  const hasTime = /[hs]/.test(codes)
  const hasDate = /[yd]/.test(codes) || (codes.includes('m') && !hasTime)
  if (hasDate) return hasTime ? 'both' : 'date'
  return hasTime ? 'time' : 'plain'
}

type Values = {
  readonly strings: readonly string[]
  readonly kinds: readonly Kind[]
  readonly startsIn1904: boolean
}
type Cell = {
  column: number
  type: string
  style: number
  value: string
  isFormula: boolean
  hasValue: boolean
}

/** The first row that says anything is the header. */
function readSheet(part: Buffer, values: Values, rowsMax: number) {
  const rows = createTableRows()
  const names = new Map<number, string>()
  let [line, headerLine, column, count] = [0, 0, 0, 0]
  let cells: [number, string][] = []
  let problem: string | undefined
  let cell: Cell | undefined
  let [isValue, skipping] = [false, false]

  const endCell = ({ column: at, isFormula, hasValue, ...given }: Cell) => {
    if (isFormula && !hasValue) problem ??= NO_VALUE
    const said = textOf(given, values)
    if (said !== '') cells.push([at, said])
  }
  const endRow = () => {
    if (cells.length === 0 && problem === undefined) return
    if (headerLine === 0) {
      headerLine = line
      for (const [at, name] of cells) names.set(at, name.trim())
      if (problem === TOO_LONG) throw longCell()
      if (problem !== undefined) throw new UnreadableFile('A formula in its header has no value.')
      return
    }
    if (cells.some(([at]) => !names.has(at))) problem ??= NO_NAME
    if (problem === undefined) {
      rows.add(line, Object.fromEntries(cells.map(([at, said]) => [names.get(at), said])))
    } else rows.refuse(line, problem)
    count += 1
    if (count >= rowsMax) throw new Enough()
  }

  parse(part, {
    open(name, attributes) {
      if (name === 'row') {
        const next = attributes['r'] === undefined ? line + 1 : Number(attributes['r'])
        if (!Number.isInteger(next) || next <= line || next > ROWS_MAX) throw broken()
        line = next
        column = 0
        cells = []
        problem = undefined
      } else if (name === 'c') {
        column = attributes['r'] === undefined ? column + 1 : columnOf(attributes['r'])
        if (column > COLUMNS_MAX) throw broken()
        const type = attributes['t'] ?? 'n'
        const style = Number(attributes['s'] ?? 0)
        cell = { column, type, style, value: '', isFormula: false, hasValue: false }
      } else if (name === 'f' && cell) cell.isFormula = true
      else if (name === 'rPh') skipping = true
      else if ((name === 'v' || name === 't') && cell && !skipping) {
        isValue = true
        cell.hasValue = true
      }
    },
    text(said) {
      if (!isValue || !cell) return
      if (cell.value.length + said.length > LOAD_RECORD_BYTES) problem ??= TOO_LONG
      else cell.value += said
    },
    close(name) {
      if (name === 'v' || name === 't') isValue = false
      else if (name === 'rPh') skipping = false
      else if (name === 'c' && cell) {
        endCell(cell)
        cell = undefined
      } else if (name === 'row') endRow()
    },
  })
  const headers = [...names].toSorted(([one], [other]) => one - other).map(([, name]) => name)
  return { headers, line: Math.max(1, headerLine), ...rows.end() }
}

const NO_VALUE = 'a formula has no value; open the file, and save it again'
const NO_NAME = 'a value stands in a column without a name'

/** `AB12` is the 28th. */
function columnOf(place: string): number {
  const name = /^[A-Z]{1,3}(?=\d)/.exec(place)?.[0]
  if (name === undefined) throw broken()
  return [...name].reduce((sum, digit) => 26 * sum + digit.charCodeAt(0) - 64, 0)
}

function textOf({ type, style, value }: Pick<Cell, 'type' | 'style' | 'value'>, values: Values): string {
  switch (type) {
    case 's':
      return values.strings[Number(value)] ?? ''
    case 'str':
    case 'inlineStr':
      return unescaped(value)
    case 'b':
      return isTrue(value) ? 'true' : 'false'
    // `#N/A` and its like: there is no value.
    case 'e':
      return ''
    case 'd':
      return value
    default:
      return value.trim() === ''
        ? ''
        : shownNumber(value, values.kinds[style] ?? 'plain', values.startsIn1904)
  }
}

/** A double, of which spreadsheets show 15 digits. */
function shownNumber(value: string, kind: Kind, startsIn1904: boolean): string {
  // Whole numbers as they are written: those of more digits than a double has would be others.
  if (kind === 'plain' && /^-?(?:0|[1-9]\d*)$/.test(value)) return value
  const number = Number(value)
  if (!Number.isFinite(number)) throw broken()
  return dateText(number, kind, startsIn1904) ?? numberText(Number(number.toPrecision(15)))
}

const DAY_MS = 86_400_000
/** Days are counted from here on; a 29th of February 1900 that never was is counted, too. */
const [START_1900, START_1904] = [Date.UTC(1899, 11, 30), Date.UTC(1904, 0, 1)]
const LAST_DAY = 2_958_465

function dateText(number: number, kind: Kind, startsIn1904: boolean): string | undefined {
  if (kind === 'plain' || number < 0 || number > LAST_DAY + 1) return undefined
  const isEarly = !startsIn1904 && number < 60
  const start = startsIn1904 ? START_1904 : START_1900 + (isEarly ? DAY_MS : 0)
  const ms = start + Math.round((number * DAY_MS) / 1000) * 1000
  const [day = '', time = ''] = new Date(ms).toISOString().split(/T|\./)
  if (kind === 'time') return number < 1 ? time : undefined
  if (number < 1 && !startsIn1904) return undefined
  return kind === 'date' && Number.isInteger(number) ? day : `${day} ${time}`
}
