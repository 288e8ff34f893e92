/**
 * Markdown as blocks, line by line: headings of both kinds, fenced and indented code, lists, quotes, tables, front matter.
 * It is read for its words, not to be shown: what marks them is taken away, and what nobody closes ends with the document.
 */
import { accessIn, unreadableAccess } from './access.ts'
import { htmlBlocks } from './html.ts'
import { inOneLine, type Block, type ReadText } from './blocks.ts'

const FENCE = /^ {0,3}(`{3,}|~{3,})/
const ATX = /^ {0,3}(#{1,6})(?:[ \t]+(.*))?$/
const SETEXT = /^ {0,3}(=+|-+)[ \t]*$/
const RULE = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/
const ITEM = /^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+(.*)$/
const TABLE_RULE = /^[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/
const DEFINITION = /^ {0,3}\[[^\]]{1,200}\]:[ \t]/
/** Of a block that a browser would show; elsewhere tags are only taken away. */
const HTML_BLOCK =
  /^ {0,3}<(?:!--|\/?(?:article|aside|blockquote|details|div|dl|figure|footer|form|h[1-6]|header|hr|main|nav|ol|p|pre|script|section|style|summary|table|ul)\b)/i

export function readMarkdown(text: string): ReadText {
  const { title, access, body } = frontMatterOf(text)
  return { title, access, blocks: [...blocksOf(body.split('\n'))] }
}

type FrontMatter = Pick<ReadText, 'title' | 'access'> & { readonly body: string }

/** Between two lines of dashes at the beginning. Of its fields only the title and the access are read. */
function frontMatterOf(text: string): FrontMatter {
  const found = /^---[ \t]*\n([^]*?)\n(?:---|\.\.\.)[ \t]*(?:\n|$)/.exec(text)
  if (!found) {
    requireNoAccess(text)
    return { body: text }
  }
  const line = /^title:[ \t]*(.+)$/m.exec(found[1]!)?.[1]?.trim()
  const title = line && inOneLine(line.replace(/^(["'])(.*)\1$/, '$2'))
  return { title: title || undefined, access: accessIn(found[1]!), body: text.slice(found[0].length) }
}

/**
 * What looks like front matter and is none, as `--- {access: …}` in one line, behind an empty one, or without an end: if it
 * says who sees the document, nobody does, since it was not meant for everyone.
 */
function requireNoAccess(text: string): void {
  const found = /^\s*---([^]*)$/.exec(text)?.[1]
  if (found === undefined) return
  const next = /\n[ \t]*(?:---|\.\.\.|\n)/.exec(found)
  const beginning = found.slice(0, next?.index)
  // Behind an empty line a word such as Access may begin a sentence.
  const fields = likeFields(found.split('\n')).filter(
    (line) => line.includes('access') || !/access/i.test(line),
  )
  if ([beginning, fields.join('\n')].some((yaml) => accessIn(yaml) !== undefined)) throw unreadableAccess()
}

const END = /^(?:---|\.\.\.)[ \t]*(?:#.*)?$/
/** Blank, indented, a comment, a name, an item, or of a value in brackets. */
const LIKE_A_FIELD = /^(?:$|[ \t#\-{}[\]?&!%]|.*:(?:[ \t]|$))/

/** All lines until the one that ends them; where none does, as long as they may be fields. */
function likeFields([first = '', ...lines]: readonly string[]): readonly string[] {
  const all = [first.trimStart(), ...lines]
  const end = all.findIndex((line, at) => at > 0 && END.test(line))
  if (end !== -1) return all.slice(0, end)
  const other = all.findIndex((line) => !LIKE_A_FIELD.test(line))
  return other === -1 ? all : all.slice(0, other)
}

function* blocksOf(lines: readonly string[]): Generator<Block> {
  let paragraph: string[] = []
  function* endParagraph(): Generator<Block> {
    const text = plain(paragraph.join(' '))
    if (text !== '') yield { kind: 'paragraph', text }
    paragraph = []
  }
  for (let at = 0; at < lines.length;) {
    // A quote is read as what it quotes.
    const line = lines[at]!.replace(/^(?: {0,3}>[ \t]?)+/, '')
    const taken = blockAt(lines, at, line, paragraph.length > 0)
    if (taken) {
      const isUnderlined = taken.kind === 'setext'
      if (!isUnderlined) yield* endParagraph()
      if (taken.block) yield taken.block
      if (taken.blocks) yield* taken.blocks
      if (isUnderlined) {
        const title = plain(paragraph.join(' '))
        if (title !== '') yield { kind: 'heading', level: taken.level!, text: title }
        paragraph = []
      }
      at = taken.next
      continue
    }
    if (line.trim() === '') yield* endParagraph()
    else if (!DEFINITION.test(line)) paragraph.push(line.trim())
    at += 1
  }
  yield* endParagraph()
}

type Taken = {
  readonly next: number
  readonly kind?: 'setext'
  readonly level?: number
  readonly block?: Block
  readonly blocks?: readonly Block[]
}

/** Undefined: a line of a paragraph, or an empty one. */
function blockAt(
  lines: readonly string[],
  at: number,
  line: string,
  inParagraph: boolean,
): Taken | undefined {
  const fence = FENCE.exec(line)?.[1]
  if (fence !== undefined) return fencedCode(lines, at, fence)
  const [, hashes, heading = ''] = ATX.exec(line) ?? []
  if (hashes !== undefined) {
    const text = plain(heading.replace(/[ \t]#+[ \t]*$/, ''))
    return { next: at + 1, ...(text !== '' && { block: { kind: 'heading', level: hashes.length, text } }) }
  }
  const underline = inParagraph ? SETEXT.exec(line)?.[1] : undefined
  if (underline !== undefined) return { next: at + 1, kind: 'setext', level: underline[0] === '=' ? 1 : 2 }
  if (RULE.test(line)) return { next: at + 1 }
  if (ITEM.test(line)) return list(lines, at)
  if (!inParagraph && line.includes('|') && TABLE_RULE.test(lines[at + 1] ?? '')) return table(lines, at)
  if (!inParagraph && /^(?: {4}|\t)/.test(line) && line.trim() !== '') return indentedCode(lines, at)
  if (!inParagraph && HTML_BLOCK.test(line)) return html(lines, at)
  return undefined
}

/** As it is written: what is indented there says something. */
function fencedCode(lines: readonly string[], at: number, fence: string): Taken {
  let end = at + 1
  const closing = new RegExp(`^ {0,3}\\${fence[0]}{${Math.min(fence.length, 100)},}[ \\t]*$`)
  while (end < lines.length && !closing.test(lines[end]!)) end++
  return { next: end + 1, block: { kind: 'code', lines: lines.slice(at + 1, end) } }
}

function indentedCode(lines: readonly string[], at: number): Taken {
  let end = at
  while (end < lines.length && /^(?: {4}|\t|[ \t]*$)/.test(lines[end]!)) end++
  return {
    next: end,
    block: { kind: 'code', lines: lines.slice(at, end).map((line) => line.replace(/^(?: {4}|\t)/, '')) },
  }
}

/** Until a line that is neither an item nor indented below one. */
function list(lines: readonly string[], at: number): Taken {
  const items: string[] = []
  let end = at
  for (; end < lines.length; end++) {
    const line = lines[end]!
    const item = ITEM.exec(line)?.[1]
    if (item !== undefined) items.push(item)
    else if (line.trim() === '') {
      if (!/^(?:[ \t]+\S)/.test(lines[end + 1] ?? '') && !ITEM.test(lines[end + 1] ?? '')) break
    } else if (ATX.test(line) || FENCE.test(line)) break
    // Also of a line that goes on without being indented.
    else if (items.length > 0) items[items.length - 1] += ` ${line.trim()}`
  }
  const shown = items.map((item) => `- ${plain(item)}`).filter((item) => item !== '- ')
  return { next: Math.max(end, at + 1), ...(shown.length > 0 && { block: { kind: 'list', lines: shown } }) }
}

function table(lines: readonly string[], at: number): Taken {
  let end = at + 2
  while (end < lines.length && lines[end]!.includes('|')) end++
  const rows = lines.slice(at + 2, end).map(row)
  return { next: end, block: { kind: 'table', header: row(lines[at]!), lines: rows } }
}

const row = (line: string): string =>
  line
    .trim()
    .replace(/^\|/, '')
    .replace(/\|$/, '')
    .split(/(?<!\\)\|/)
    .map((cell) => plain(cell.replaceAll('\\|', '|')))
    .join(' | ')

/** Until the next empty line, as CommonMark has it. */
function html(lines: readonly string[], at: number): Taken {
  let end = at
  while (end < lines.length && lines[end]!.trim() !== '') end++
  return { next: end, blocks: htmlBlocks(lines.slice(at, end).join('\n')).blocks }
}

/** Without what marks a word; the text of a link or a picture stays. No pattern may look further than it must. */
function plain(text: string): string {
  return inOneLine(
    text
      .replaceAll(/<!--[^]*?(?:-->|$)/g, ' ')
      .replaceAll(/!?\[([^[\]]{0,1000})\]\([^()\s]{0,2000}(?:[ \t]+["'][^"']{0,500}["'])?\)/g, '$1')
      .replaceAll(/!\[([^[\]]{0,1000})\]\(data:[^)]*\)/g, '$1')
      .replaceAll(/\[([^[\]]{1,1000})\]\[[^[\]]{0,200}\]/g, '$1')
      .replaceAll(/<((?:https?|mailto):[^<>\s]{1,2000})>/g, '$1')
      .replaceAll(/<\/?[a-zA-Z][^<>]{0,2000}>/g, ' ')
      .replaceAll(/(\*\*|__)(?=\S)([^*_]{1,2000}?)\1/g, '$2')
      .replaceAll(/(?<![\w*])([*_])(?=\S)([^*_]{1,2000}?)\1(?![\w*])/g, '$2')
      .replaceAll(/`{1,3}([^`]{1,2000})`{1,3}/g, '$1')
      .replaceAll(/\\([!-/:-@[-`{-~])/g, '$1'),
  )
}
