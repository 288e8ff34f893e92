/** DOCX as blocks: the text of its main part, with headings, lists and tables. It is read from left to right, without a tree. */
import { Parser } from 'htmlparser2'
import { inOneLine, UnreadableFile, type Block, type ReadText } from './blocks.ts'
import { openZip, type Zip } from './read-zip.ts'

/** Of all its parts that are read. Pictures are not. */
const INFLATED_MAX_BYTES = 64 * 1024 * 1024
const DEPTH_MAX = 2_000
/** Other forms of what is there already, and what was deleted. */
const SKIPPED = new Set(['mc:Fallback', 'w:del', 'w:instrText', 'w:moveFrom'])

type Style = { readonly level?: number; readonly isTitle: boolean; readonly isList: boolean }

export function readDocx(content: Uint8Array): ReadText {
  const zip = openZip(content, INFLATED_MAX_BYTES)
  const main = textOf(zip, 'word/document.xml')
  if (main === undefined) throw new UnreadableFile('It is broken, or no DOCX file.')
  return readMain(main, readStyles(textOf(zip, 'word/styles.xml') ?? ''))
}

const textOf = (zip: Zip, name: string): string | undefined =>
  zip.read(name)?.toString('utf8').replaceAll('\0', '')

type Handlers = {
  readonly open: (name: string, attributes: Readonly<Record<string, string>>) => void
  readonly text?: (said: string) => void
  readonly close: (name: string) => void
}

function parse(xml: string, { open, text = () => {}, close }: Handlers): void {
  let depth = 0
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        depth += 1
        if (depth > DEPTH_MAX) throw new UnreadableFile('Its tags are nested too deeply.')
        open(name, attributes)
      },
      ontext: text,
      onclosetag(name) {
        depth -= 1
        close(name)
      },
    },
    { xmlMode: true },
  )
  parser.end(xml)
}

/** By id: what people see is the name, which is English in every language. */
function readStyles(xml: string): ReadonlyMap<string, Style> {
  const styles = new Map<string, Style>()
  let id = ''
  parse(xml, {
    open(name, attributes) {
      if (name === 'w:style') id = attributes['w:styleId'] ?? ''
      else if (name === 'w:name' && id !== '') styles.set(id, styleOf(attributes['w:val'] ?? ''))
    },
    close(name) {
      if (name === 'w:style') id = ''
    },
  })
  return styles
}

function styleOf(name: string): Style {
  const level = /^heading ([1-6])$/i.exec(name)?.[1]
  return {
    ...(level !== undefined && { level: Number(level) }),
    isTitle: /^title$/i.test(name),
    isList: /^list /i.test(name),
  }
}

function readMain(xml: string, styles: ReadonlyMap<string, Style>): ReadText {
  const blocks: Block[] = []
  let title: string | undefined
  let [text, isText, skipping] = ['', false, 0]
  let style: Style | undefined
  let isItem = false
  let items: string[] = []
  /** Of the outermost table: one within it is a part of its cell. */
  let [tables, rows, cells, cell]: [number, string[], string[], string] = [0, [], [], '']

  const endItems = () => {
    if (items.length > 0) blocks.push({ kind: 'list', lines: items })
    items = []
  }
  const endParagraph = () => {
    const said = inOneLine(text)
    text = ''
    if (said === '') return
    if (tables > 0) {
      cell += ` ${said}`
      return
    }
    if (isItem || style?.isList) {
      items.push(`- ${said}`)
      return
    }
    endItems()
    if (style?.isTitle && title === undefined) title = said
    else if (style?.level !== undefined) blocks.push({ kind: 'heading', level: style.level, text: said })
    else blocks.push({ kind: 'paragraph', text: said })
  }
  const endTable = () => {
    const [header, ...lines] = rows
    if (header !== undefined) blocks.push({ kind: 'table', header, lines })
    rows = []
  }

  parse(xml, {
    open(name, attributes) {
      if (SKIPPED.has(name)) skipping += 1
      if (skipping > 0) return
      if (name === 'w:p') [style, isItem] = [undefined, false]
      else if (name === 'w:pStyle') style = styles.get(attributes['w:val'] ?? '')
      else if (name === 'w:numPr') isItem = true
      else if (name === 'w:t') isText = true
      else if (name === 'w:tab' || name === 'w:br' || name === 'w:cr') text += ' '
      else if (name === 'w:tbl') {
        if (tables === 0) endItems()
        tables += 1
      } else if (name === 'w:tr' && tables === 1) cells = []
      else if (name === 'w:tc' && tables === 1) cell = ''
    },
    text(said) {
      if (isText && skipping === 0) text += said
    },
    close(name) {
      if (SKIPPED.has(name)) skipping = Math.max(0, skipping - 1)
      else if (skipping > 0) return
      else if (name === 'w:t') isText = false
      else if (name === 'w:p') endParagraph()
      else if (name === 'w:tc' && tables === 1) cells.push(inOneLine(cell))
      else if (name === 'w:tr' && tables === 1) rows.push(cells.join(' | '))
      else if (name === 'w:tbl') {
        tables = Math.max(0, tables - 1)
        if (tables === 0) endTable()
      }
    },
  })
  endParagraph()
  endItems()
  endTable()
  return { title, blocks }
}
