/** PDF as blocks. It knows glyphs and their places only: lines, paragraphs and headings are concluded from those. */
import { getDocumentProxy } from 'unpdf'
import { DOCUMENT_PAGES_MAX, DOCUMENT_TEXT_MAX_CHARACTERS } from '../../contracts/limits.ts'
import { inOneLine, UnreadableFile, type Block, type ReadText } from './blocks.ts'

type Line = { readonly text: string; readonly height: number; readonly y: number; readonly page: number }

/** Of the height of ordinary lines: larger ones are headings, and farther apart paragraphs. */
const HEADING_HEIGHT = 1.15
const CHAPTER_HEIGHT = 1.5
const PARAGRAPH_GAP = 1.8
const HEADING_CHARACTERS = 150

export async function readPdf(content: Uint8Array): Promise<ReadText> {
  const lines = await linesOf(content)
  if (lines.length === 0) throw new UnreadableFile('There is no text in it: it may be scanned.')
  return { blocks: blocksOf(lines) }
}

async function linesOf(content: Uint8Array): Promise<Line[]> {
  const file = await open(content)
  if (file.numPages > DOCUMENT_PAGES_MAX) {
    throw new UnreadableFile(`It has more than ${DOCUMENT_PAGES_MAX.toLocaleString('en')} pages. Divide it.`)
  }
  const lines: Line[] = []
  let characters = 0
  for (let number = 1; number <= file.numPages; number++) {
    const page = await file.getPage(number)
    const { items } = await page.getTextContent()
    let [text, height, y] = ['', 0, Number.NaN]
    const endLine = () => {
      // What Postgres cannot store is in none of the words.
      const said = inOneLine(text.replaceAll('\0', '').toWellFormed())
      characters += said.length
      if (said !== '') lines.push({ text: said, height, y, page: number })
      ;[text, height, y] = ['', 0, Number.NaN]
    }
    for (const item of items) {
      if (!('str' in item)) continue
      const at = Number(item.transform[5])
      // A heading may end without saying so.
      if (item.str !== '' && Math.abs(at - y) > Math.max(item.height, height) / 2) endLine()
      text += item.str
      if (item.str.trim() !== '') [height, y] = [Math.max(height, item.height), at]
      if (item.hasEOL) endLine()
    }
    endLine()
    page.cleanup()
    if (characters > DOCUMENT_TEXT_MAX_CHARACTERS) {
      throw new UnreadableFile('It has more text than a document may have. Divide it.')
    }
  }
  return lines
}

async function open(content: Uint8Array) {
  try {
    return await getDocumentProxy(content, { verbosity: 0 })
  } catch (error) {
    const isLocked = error instanceof Error && error.name === 'PasswordException'
    throw new UnreadableFile(isLocked ? 'It is protected by a password.' : 'It is broken, or no PDF file.')
  }
}

function blocksOf(lines: readonly Line[]): Block[] {
  const ordinary = usualHeight(lines)
  const blocks: Block[] = []
  let paragraph = ''
  let before: Line | undefined
  const endParagraph = () => {
    if (paragraph !== '') blocks.push({ kind: 'paragraph', text: paragraph })
    paragraph = ''
  }
  for (const line of lines) {
    const isHeading = line.height > ordinary * HEADING_HEIGHT && line.text.length <= HEADING_CHARACTERS
    // A sentence goes on over the end of a page.
    const isApart =
      before !== undefined &&
      before.page === line.page &&
      Math.abs(before.y - line.y) > Math.max(before.height, line.height) * PARAGRAPH_GAP
    if (isHeading || isApart) endParagraph()
    if (isHeading) {
      const level = line.height > ordinary * CHAPTER_HEIGHT ? 1 : 2
      blocks.push({ kind: 'heading', level, text: line.text })
    } else paragraph = joined(paragraph, line.text)
    before = line
  }
  endParagraph()
  return blocks
}

/** Of most characters. */
function usualHeight(lines: readonly Line[]): number {
  const characters = new Map<number, number>()
  for (const { height, text } of lines) {
    const rounded = Math.round(height * 2) / 2
    characters.set(rounded, (characters.get(rounded) ?? 0) + text.length)
  }
  return [...characters].toSorted(([, a], [, b]) => b - a)[0]![0]
}

/** A word that was divided at the end of a line is one again. */
const joined = (before: string, text: string): string => {
  if (before === '') return text
  return /\p{Ll}-$/u.test(before) && /^\p{Ll}/u.test(text) ? before.slice(0, -1) + text : `${before} ${text}`
}
