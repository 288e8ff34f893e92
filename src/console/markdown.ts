/**
 * Text of others as Markdown, of which a safe part is drawn: paragraphs, lists, quotes, code, emphasis and links. There is no raw
 * HTML, no image and no heading of the page; what is not of that part stays as it was written. Nothing in it is invisible.
 */
import { html } from 'hono/html'
import type { Content } from '../pages/parts.ts'
import { codeFrame, visibleText } from './pages/apps/source-text.ts'

export function markdown(text: string): Content {
  return html`<div class="written">${blocksIn(text.split(/\r?\n/)).map(drawBlock)}</div>`
}

/** Whole: people write a paragraph as one line. */
const shown = (text: string): Content => visibleText(text, Infinity)

type Block =
  | { readonly kind: 'paragraph' | 'heading' | 'quote' | 'code'; readonly lines: readonly string[] }
  | { readonly kind: 'bullets' | 'numbers'; readonly items: readonly (readonly string[])[] }

/** Behind it stands the name of a language at most, which nobody misses. */
const FENCE = /^ {0,3}(?:```|~~~)[\w+-]*\s*$/
const HEADING = /^ {0,3}#{1,6} +(.*)$/
const QUOTE = /^ {0,3}> ?(.*)$/
const ITEMS = {
  bullets: /^ {0,3}[-*+] +(.*)$/,
  numbers: /^ {0,3}\d{1,9}[.)] +(.*)$/,
} as const

function blocksIn(lines: readonly string[]): Block[] {
  const blocks: Block[] = []
  for (let at = 0; at < lines.length;) {
    const { block, next } = blockAt(lines, at)
    if (block) blocks.push(block)
    at = next
  }
  return blocks
}

/** The block that begins there, and where the next one does: always further on. */
function blockAt(lines: readonly string[], from: number): { block?: Block; next: number } {
  const line = lines[from]!
  if (line.trim() === '') return { next: from + 1 }
  if (FENCE.test(line)) {
    const end = lines.findIndex((one, at) => at > from && FENCE.test(one))
    const until = end === -1 ? lines.length : end
    return { block: { kind: 'code', lines: lines.slice(from + 1, until) }, next: until + 1 }
  }
  const heading = HEADING.exec(line)
  if (heading) return { block: { kind: 'heading', lines: [heading[1]!] }, next: from + 1 }
  if (QUOTE.test(line)) {
    const next = endOf(lines, from, (one) => QUOTE.test(one))
    const quoted = lines.slice(from, next).map((one) => QUOTE.exec(one)![1]!)
    return { block: { kind: 'quote', lines: quoted }, next }
  }
  for (const kind of ['bullets', 'numbers'] as const) {
    if (!ITEMS[kind].test(line)) continue
    // A line that is indented goes on with the item before it.
    const next = endOf(lines, from, (one) => ITEMS[kind].test(one) || /^ {2,}\S/.test(one))
    return { block: { kind, items: itemsIn(lines.slice(from, next), ITEMS[kind]) }, next }
  }
  const next = endOf(lines, from, (one) => one.trim() !== '' && !startsBlock(one))
  return { block: { kind: 'paragraph', lines: lines.slice(from, next) }, next }
}

const startsBlock = (line: string): boolean =>
  [FENCE, HEADING, QUOTE, ITEMS.bullets, ITEMS.numbers].some((start) => start.test(line))

function endOf(lines: readonly string[], from: number, belongs: (line: string) => boolean): number {
  let next = from + 1
  while (next < lines.length && belongs(lines[next]!)) next += 1
  return next
}

function itemsIn(lines: readonly string[], start: RegExp): string[][] {
  const items: string[][] = []
  for (const line of lines) {
    const begun = start.exec(line)
    if (begun) items.push([begun[1]!])
    else items.at(-1)?.push(line.trim())
  }
  return items
}

function drawBlock(block: Block): Content {
  switch (block.kind) {
    case 'paragraph':
      return html`<p>${drawLines(block.lines)}</p>`
    // Bold, and no heading: what others write is no part of the page.
    case 'heading':
      return html`<p><strong>${drawLines(block.lines)}</strong></p>`
    case 'quote':
      return html`<blockquote>${drawLines(block.lines)}</blockquote>`
    case 'code':
      return codeFrame(
        'Code',
        html`<table class="code-lines" role="presentation"><tbody>${block.lines.map((line) => html`<tr><td class="code-text">${shown(line)}</td></tr>`)}</tbody></table>`,
      )
    case 'bullets':
      return html`<ul>${block.items.map((lines) => html`<li>${drawLines(lines)}</li>`)}</ul>`
    case 'numbers':
      return html`<ol>${block.items.map((lines) => html`<li>${drawLines(lines)}</li>`)}</ol>`
  }
}

const drawLines = (lines: readonly string[]): Content =>
  lines.map((line, at) => html`${at > 0 && html`<br />`}${drawSpans(line)}`)

/**
 * Each alternative ends at the next sign of its own, so that a line is read in time that grows with its length alone. An
 * underscore is no emphasis: names of things have them.
 */
const SPAN =
  /(?<ticks>`{1,3})(?<code>[^`]+)\k<ticks>|\*\*(?<bold>[^*]+)\*\*|\*(?<italic>[^*\s][^*]*)\*|\[(?<label>[^[\]]{1,200})\]\((?<target>https?:\/\/[^\s()<>]{1,1000})\)|(?<bare>\bhttps?:\/\/[^\s<>"'`()[\]*]{1,1000})/giu

/** Bold in a link in bold: nobody needs more. */
const DEPTH_MAX = 3

function drawSpans(line: string, depth = 0): Content {
  const drawn: Content[] = []
  let end = 0
  for (const found of line.matchAll(SPAN)) {
    const span = drawSpan(found.groups!, depth)
    if (span === undefined) continue
    drawn.push(shown(line.slice(end, found.index)), span)
    end = found.index + found[0].length
  }
  return [...drawn, shown(line.slice(end))]
}

type Span = Readonly<Partial<Record<string, string>>>

function drawSpan({ code, bold, italic, label, target, bare }: Span, depth: number): Content | undefined {
  const inner = (text: string): Content => (depth < DEPTH_MAX ? drawSpans(text, depth + 1) : shown(text))
  if (code !== undefined) return html`<code>${shown(code)}</code>`
  if (bold !== undefined) return html`<strong>${inner(bold)}</strong>`
  if (italic !== undefined) return html`<em>${inner(italic)}</em>`
  if (bare !== undefined) {
    const address = bare.replace(/[.,;:!?]+$/, '')
    const link = drawLink(address, shown(address))
    return link && html`${link}${bare.slice(address.length)}`
  }
  if (target === undefined || label === undefined) return undefined
  // No link in a link.
  return drawLink(target, shown(label), true)
}

/**
 * With the host that it leads to, whatever its words say, and where the address is written in other letters: foreign ones that
 * look the same, or encoded. Undefined: no address to follow.
 */
function drawLink(target: string, words: Content, isNamed = false): Content | undefined {
  if (!URL.canParse(target)) return undefined
  const { href, host, protocol, username, password } = new URL(target)
  const showsHost = isNamed || !hostWritten(target).startsWith(host)
  if (!['http:', 'https:'].includes(protocol) || username !== '' || password !== '') return undefined
  return html`<a href="${href}" rel="noopener nofollow">${words}</a>${showsHost && html` <span class="note">(${host})</span>`}`
}

const hostWritten = (address: string): string => address.replace(/^https?:\/\//i, '').toLowerCase()
