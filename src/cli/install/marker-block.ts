/** The block of a skill between its two markers in AGENTS.md and GEMINI.md; damaged markers are never guessed at. */
import { BOM, encoded, lineEndOf, withoutBom } from './file-text.ts'

export type Block =
  | { readonly is: 'absent' }
  /** Start and end of the text between the marker lines. */
  | { readonly is: 'present'; readonly from: number; readonly to: number }
  | { readonly is: 'damaged'; readonly why: string }

const beginning = (id: string): string =>
  `<!-- BEGIN svc-skill:${id} (managed by "svc skills install ${id}"; edits between the markers are refused without --force) -->`
const ending = (id: string): string => `<!-- END svc-skill:${id} -->`

type Marker = {
  readonly kind: 'BEGIN' | 'END'
  readonly id: string
  readonly from: number
  /** The whole line. */
  readonly line: string
}

/**
 * Only at the start of a line (`(?<![^\n])`; `^` would take a lone CR for one): an indented example is an example. Wider
 * than what we write, so that a marker somebody has touched counts as damaged and not as absent.
 */
const LIKE_A_MARKER = /(?<![^\n])<!--[ \t]*(BEGIN|END)[ \t]+svc-skill:([\w-]*)[^\n]*/gi

export function findBlock(text: string, id: string): Block {
  const markers = markersIn(text)
  const ours = markers.filter((marker) => marker.id === id)
  const [begin, end, ...more] = ours
  if (!begin) return { is: 'absent' }
  const damaged = (what: string): Block => ({ is: 'damaged', why: sentence(text, ours, what) })
  const touched = ours.find((marker) => !isWhole(marker))
  if (touched) return damaged(`line ${lineOf(text, touched)} is not a complete marker`)
  if (!end) {
    const [does, not] = begin.kind === 'BEGIN' ? ['begins', 'end'] : ['ends', 'begin']
    return damaged(`line ${lineOf(text, begin)} ${does} a block that does not ${not}`)
  }
  if (more.length > 0) return damaged('there is more than one block')
  if (begin.kind !== 'BEGIN' || end.kind !== 'END') return damaged('BEGIN and END do not match')
  if (markers.some(({ from }) => from > begin.from && from < end.from)) {
    return damaged('another block begins or ends inside')
  }
  if (isInsideFence(text.slice(0, begin.from), text.slice(end.from))) {
    return damaged('the block is inside a code fence, where it may be an example')
  }
  return { is: 'present', from: begin.from + begin.line.length + 1, to: end.from }
}

function markersIn(text: string): Marker[] {
  const bom = text.length - withoutBom(text).length
  return [...text.slice(bom).matchAll(LIKE_A_MARKER)].map(({ 0: line, 1: kind, 2: id, index }) => ({
    kind: kind?.toUpperCase() === 'BEGIN' ? 'BEGIN' : 'END',
    id: id?.toLowerCase() ?? '',
    from: bom + index,
    line,
  }))
}

/** The words in brackets may differ between releases; nothing may follow the comment. */
function isWhole({ kind, id, line }: Marker): boolean {
  const marker = line.trimEnd()
  return kind === 'END'
    ? marker === ending(id)
    : marker.startsWith(`<!-- BEGIN svc-skill:${id} `) && marker.indexOf('-->') === marker.length - 3
}

/** Each number costs a pass over the text. */
const LINES_SHOWN_MAX = 4

function sentence(text: string, markers: readonly Marker[], what: string): string {
  const [lines, them] = markers.length === 1 ? ['line', 'it'] : ['lines', 'them']
  const numbers = markers.slice(0, LINES_SHOWN_MAX).map((marker) => lineOf(text, marker))
  const shown = [...numbers, ...(markers.length > LINES_SHOWN_MAX ? ['…'] : [])].join(', ')
  return `has damaged svc markers (${what}): fix or delete ${them} by hand (${lines} ${shown}), or indent ${them} by a space`
}

const lineOf = (text: string, { from }: Marker): number => text.slice(0, from).split('\n').length

const FENCES = /(?<![^\n]) {0,3}(`{3,}|~{3,})([^\n]*)/g

/** Only a fence that is closed below: an unclosed one may be a mistake, with our own block written after it. */
function isInsideFence(above: string, below: string): boolean {
  let open: string | undefined
  for (const fence of above.matchAll(FENCES)) open = fenceAfter(open, fence)
  if (open === undefined) return false
  for (const fence of below.matchAll(FENCES)) if (fenceAfter(open, fence) === undefined) return true
  return false
}

/** The fence that is open after this one, if `open` was open before it. */
function fenceAfter(
  open: string | undefined,
  [, fence = '', behind = '']: RegExpExecArray,
): string | undefined {
  if (open !== undefined) return behind.trim() === '' && fence.startsWith(open) ? undefined : open
  // Text after backticks that contains more of them is inline code.
  return fence.startsWith('`') && behind.includes('`') ? undefined : fence
}

/** Everything outside the markers, and the marker lines themselves, stay byte for byte. */
export function withBody(text: string, { from, to }: { from: number; to: number }, body: string): string {
  return text.slice(0, from) + onLines(body, lineEndOf(text)) + text.slice(to)
}

/** Appended after a blank line; a text without a final newline stays without one. */
export function withNewBlock(text: string, id: string, body: string): string {
  const lineEnd = lineEndOf(text)
  const block = onLines(`${beginning(id)}\n${trimmed(body)}\n${ending(id)}`, lineEnd)
  if (text === '' || text === BOM) return text + block
  if (!text.endsWith('\n')) return text + lineEnd + lineEnd + block.slice(0, -lineEnd.length)
  return text + (/\n\r?\n$/.test(text) ? '' : lineEnd) + block
}

const onLines = (text: string, lineEnd: string): string =>
  `${encoded(trimmed(text)).replaceAll('\n', lineEnd)}${lineEnd}`

/** Without blank lines at either end: formatters put them beside a comment. */
export function trimmed(text: string): string {
  let [from, to] = [0, text.length]
  while (text[from] === '\n') from++
  while (to > from && text[to - 1] === '\n') to--
  return text.slice(from, to)
}
