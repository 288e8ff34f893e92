/**
 * Divides a document into passages: along its headings, then its paragraphs, lists, tables and code, each as long as the
 * model reads with the headings above it. The same text gives the same passages, and an edit changes those around it alone.
 */
import type { Passage } from '../../cores/documents/read-document.ts'
import { inOneLine, type Block } from './blocks.ts'
import { sentencesOf } from './sentences.ts'

/**
 * Of a text, without those that the model adds by itself. Of two texts with a blank between them it is no more than the sum,
 * and a text has no more of them than characters.
 */
export type CountTokens = (text: string) => number

type Limits = {
  /** Of a passage with its headings. */
  readonly tokensMax: number
}

/** What is never divided further. `before` stands between it and what is before it in the same passage. */
type Piece = {
  readonly text: string
  readonly tokens: number
  readonly before: '' | ' ' | '\n' | '\n\n'
  /** Of a paragraph: its last sentence may be said again. */
  readonly isProse: boolean
  /** The header of its table: said again where a passage begins with this row. */
  readonly header?: { readonly text: string; readonly tokens: number } | undefined
}

/** Of `tokensMax`: headings may take so much, and a sentence that is said again. */
const HEADING_SHARE = 1 / 4
const OVERLAP_SHARE = 1 / 5
const HEADER_SHARE = 1 / 4
const SEPARATOR = ' > '

export function passagesOf(
  title: string,
  blocks: readonly Block[],
  count: CountTokens,
  { tokensMax }: Limits,
): Passage[] {
  const passages: Passage[] = []
  const headings: { level: number; text: string }[] = []
  let section: Block[] = []
  const endSection = () => {
    if (section.length > 0) {
      const heading = headingPath([title, ...headings.map(({ text }) => text)], count, tokensMax)
      const room = tokensMax - count(heading)
      for (const text of divideSection(section, count, room)) passages.push({ heading, text })
    }
    section = []
  }
  for (const block of blocks) {
    if (block.kind !== 'heading') {
      section.push(block)
      continue
    }
    endSection()
    while (headings.length > 0 && headings.at(-1)!.level >= block.level) headings.pop()
    headings.push({ level: block.level, text: block.text })
  }
  endSection()
  return passages
}

/** The innermost ones, as far as there is room. The first heading of a document is often its title. */
function headingPath(path: readonly string[], count: CountTokens, tokensMax: number): string {
  const names = path.filter((name, at) => name !== '' && name !== path[at - 1])
  const most = Math.floor(tokensMax * HEADING_SHARE)
  let shown = ''
  for (const name of names.toReversed()) {
    const longer = shown === '' ? firstWords(name, count, most) : name + SEPARATOR + shown
    if (count(longer) > most) break
    shown = longer
  }
  return shown
}

function firstWords(text: string, count: CountTokens, most: number): string {
  if (count(text) <= most) return text
  const words = wordsOf(text, count, most)
  let [shown, tokens] = ['', 0]
  for (const word of words) {
    tokens += count(word)
    if (tokens > most) break
    shown += (shown === '' ? '' : ' ') + word
  }
  return shown
}

function* divideSection(section: readonly Block[], count: CountTokens, room: number): Generator<string> {
  let text = ''
  let tokens = 0
  let last: Piece | undefined
  for (const piece of piecesOf(section, count, room)) {
    const isFull = tokens + piece.tokens > room
    // Where a passage is half full its end depends on what follows, and not on how much was before it: behind an edit the
    // same passages come again soon.
    const isEnd = piece.before === '\n\n' && tokens > room / 2 && endsBefore(piece.text)
    if (text !== '' && (isFull || isEnd)) {
      yield text
      ;({ text, tokens } = beginning(last!, piece, count, room))
    }
    text += (text === '' ? '' : piece.before || ' ') + piece.text
    tokens += piece.tokens
    last = piece
  }
  if (text !== '') yield text
}

/** What is said again: the last sentence before, or the header of the table. */
function beginning(last: Piece, next: Piece, count: CountTokens, room: number) {
  if (next.header) return next.header
  const sentence = last.isProse && next.isProse ? (sentencesOf(last.text).at(-1) ?? '') : ''
  const tokens = count(sentence)
  const fits = tokens <= room * OVERLAP_SHARE && tokens + next.tokens <= room
  return fits ? { text: sentence, tokens } : { text: '', tokens: 0 }
}

function* piecesOf(section: readonly Block[], count: CountTokens, room: number): Generator<Piece> {
  for (const block of section) {
    if (block.kind === 'heading') continue
    if (block.kind === 'paragraph') yield* paragraphPieces(block.text, count, room)
    else yield* linePieces(block, count, room)
  }
}

function* paragraphPieces(
  text: string,
  count: CountTokens,
  room: number,
  first: Piece['before'] = '\n\n',
): Generator<Piece> {
  const tokens = count(text)
  if (tokens <= room) {
    if (text.trim() !== '') yield { text, tokens, before: first, isProse: true }
    return
  }
  let before = first
  for (const sentence of sentencesOf(text)) {
    const own = count(sentence)
    const parts =
      own <= room
        ? [{ text: sentence, tokens: own }]
        : wordPieces(wordsOf(sentence, count, room), count, room)
    for (const part of parts) {
      yield { ...part, before, isProse: true }
      before = ' '
    }
  }
}

/** As many words as fit. */
function* wordPieces(words: Iterable<string>, count: CountTokens, room: number) {
  let [text, tokens] = ['', 0]
  for (const word of words) {
    const own = count(word)
    if (text !== '' && tokens + own > room) {
      yield { text, tokens }
      ;[text, tokens] = ['', 0]
    }
    text += (text === '' ? '' : ' ') + word
    tokens += own
  }
  if (text !== '') yield { text, tokens }
}

/** Of a word without an end its parts: some scripts have no blanks. */
function* wordsOf(text: string, count: CountTokens, room: number): Generator<string> {
  const most = Math.max(1, Math.floor(room / 2))
  for (const word of text.split(/\s+/)) {
    if (word === '') continue
    if (count(word) <= most) yield word
    else yield* slicesOf(word, most)
  }
}

function* slicesOf(word: string, length: number): Generator<string> {
  const characters = [...word]
  for (let at = 0; at < characters.length; at += length) yield characters.slice(at, at + length).join('')
}

function* linePieces(
  block: Extract<Block, { lines: readonly string[] }>,
  count: CountTokens,
  room: number,
): Generator<Piece> {
  const isProse = block.kind === 'list'
  const top = block.header === undefined ? undefined : { text: block.header, tokens: count(block.header) }
  // A long one is a row like the others.
  const header = top && top.tokens <= room * HEADER_SHARE ? top : undefined
  const left = room - (header?.tokens ?? 0)
  let before: Piece['before'] = '\n\n'
  for (const [at, line] of [...(top ? [top.text] : []), ...block.lines].entries()) {
    if (line.trim() === '') continue
    const tokens = count(line)
    // The header itself is not said again.
    const again = at === 0 ? undefined : header
    if (tokens <= left) yield { text: line, tokens, before, isProse, header: again }
    else {
      for (const part of paragraphPieces(inOneLine(line), count, left, before)) {
        yield { ...part, isProse, header: again }
      }
    }
    before = '\n'
  }
}

/** Half of all texts, always the same ones. */
function endsBefore(text: string): boolean {
  let hash = 0
  for (let at = 0; at < Math.min(text.length, 64); at++) hash = (hash * 31 + text.charCodeAt(at)) | 0
  return ((hash >>> 4) & 1) === 0
}
