/** A file as passages: what the process does. */
import { basename } from 'node:path'
import { documentFormatOf, isAccessFile, type DocumentFormat } from '../../contracts/document-formats.ts'
import {
  DOCUMENT_PASSAGES_MAX,
  DOCUMENT_TEXT_MAX_CHARACTERS,
  PASSAGE_TOKENS,
} from '../../contracts/limits.ts'
import type { FileProblem, Passage, ReadFile, TextToDivide } from '../../cores/documents/read-document.ts'
import { accessIn } from './access.ts'
import { inOneLine, UnreadableFile, type Block, type ReadText } from './blocks.ts'
import { decode } from './decode.ts'
import { readDocx } from './docx.ts'
import { readHtml } from './html.ts'
import { readMarkdown } from './markdown.ts'
import { passagesOf, type CountTokens } from './passages.ts'

type Read = (content: Uint8Array) => ReadText | Promise<ReadText>

const READERS: Record<DocumentFormat, Read> = {
  markdown: (content) => readMarkdown(decode(content)),
  html: (content) => readHtml(decode(content)),
  text: (content) => readPlainText(decode(content)),
  // Loaded when there is one: it takes longer than all others together.
  pdf: async (content) => (await import('./pdf.ts')).readPdf(content),
  docx: readDocx,
}

/** The model adds its first and its last token. */
const OWN_TOKENS = 2
/** A word that the model does not know is one token, however long it is: a passage is no longer than people can read. */
const CHARACTERS_PER_TOKEN = 8
const TITLE_CHARACTERS = 200

export async function readDocument(
  path: string,
  content: Uint8Array,
  tokensOf: CountTokens,
): Promise<ReadFile | FileProblem> {
  if (isAccessFile(path)) return readAccessFile(content)
  const format = documentFormatOf(path)
  if (!format) return { problem: 'Files of this kind are not read.' }
  try {
    const { title: given, access, blocks } = await READERS[format](content)
    requireRoom(blocks)
    const title = (given ?? firstHeading(blocks) ?? basename(path)).slice(0, TITLE_CHARACTERS)
    const passages = passagesOf(title, blocks, countIn(tokensOf), LIMITS)
    if (passages.length === 0) return { problem: 'There is no text in it.' }
    if (passages.length > DOCUMENT_PASSAGES_MAX) throw tooLong()
    return { title, access, passages }
  } catch (error) {
    if (error instanceof UnreadableFile) return { problem: error.message }
    throw error
  }
}

const LIMITS = { tokensMax: PASSAGE_TOKENS - OWN_TOKENS }
const countIn =
  (tokensOf: CountTokens): CountTokens =>
  (text) =>
    Math.max(tokensOf(text), Math.ceil(text.length / CHARACTERS_PER_TOKEN))

/** Texts of rows: what the model reads as a whole is not divided, whatever is above it. */
export const divideTexts = (texts: readonly TextToDivide[], tokensOf: CountTokens): Passage[][] =>
  texts.map(({ title, text }) =>
    tokensOf(text) <= LIMITS.tokensMax
      ? []
      : passagesOf(title.slice(0, TITLE_CHARACTERS), readPlainText(text).blocks, countIn(tokensOf), LIMITS),
  )

function readAccessFile(content: Uint8Array): ReadFile | FileProblem {
  try {
    const access = accessIn(decode(content))
    return access ? { title: '', access, passages: [] } : { problem: SAYS_NOTHING }
  } catch (error) {
    if (error instanceof UnreadableFile) return { problem: error.message }
    throw error
  }
}

const SAYS_NOTHING =
  'It does not say who sees this folder, so nobody does. Write it as access: [group:board].'

const firstHeading = (blocks: readonly Block[]): string | undefined => {
  const first = blocks.find(({ kind }) => kind === 'heading')
  return first?.kind === 'heading' && first.level === 1 ? first.text : undefined
}

const tooLong = () => new UnreadableFile('It has more text than a document may have. Divide it.')

function requireRoom(blocks: readonly Block[]): void {
  let characters = 0
  for (const block of blocks) {
    characters +=
      'lines' in block ? block.lines.reduce((sum, line) => sum + line.length, 0) : block.text.length
  }
  if (characters > DOCUMENT_TEXT_MAX_CHARACTERS) throw tooLong()
}

/** Paragraphs, between empty lines. */
const readPlainText = (text: string): ReadText => ({
  blocks: text
    .split(/\n[ \t]*\n/)
    .map(inOneLine)
    .filter((paragraph) => paragraph !== '')
    .map((paragraph) => ({ kind: 'paragraph', text: paragraph })),
})
