/** The block of a skill between its two markers in AGENTS.md and GEMINI.md: found or not, and never guessed at. */
import { BOM, encoded, lineEndOf, withoutBom } from './content.ts'

export type Block =
  | { readonly is: 'absent' }
  /** Where the text between the marker lines begins and ends. */
  | { readonly is: 'present'; readonly from: number; readonly to: number }
  | { readonly is: 'damaged'; readonly why: string }

const beginning = (id: string): string =>
  `<!-- BEGIN svc-skill:${id} (managed by "svc skills install ${id}"; edits between the markers are refused without --force) -->`
const ending = (id: string): string => `<!-- END svc-skill:${id} -->`

type Line = { readonly number: number; readonly from: number; readonly text: string }
type Marker = Line & { readonly kind: 'BEGIN' | 'END'; readonly id: string }

/** Wider than what we write, so that a marker somebody has touched counts as damaged and not as absent. */
const LIKE_A_MARKER = /^<!--[ \t]*(BEGIN|END)[ \t]+svc-skill:([\w-]*)/i

/** Counts only what stands at the start of a line: an indented example is an example. */
export function findBlock(text: string, id: string): Block {
  const lines = linesOf(text)
  const markers = lines.flatMap(asMarker)
  const ours = markers.filter((marker) => marker.id === id)
  const [begin, end, ...more] = ours
  if (!begin) return { is: 'absent' }
  const touched = ours.find((marker) => !isWhole(marker))
  if (touched) return damaged(`line ${touched.number} is not a whole marker`, ours)
  if (!end) {
    return damaged(
      begin.kind === 'BEGIN'
        ? `line ${begin.number} begins a block that does not end`
        : `line ${begin.number} ends a block that does not begin`,
      ours,
    )
  }
  if (more.length > 0) return damaged('there is more than one block', ours)
  if (begin.kind !== 'BEGIN' || end.kind !== 'END') return damaged('BEGIN and END do not make a pair', ours)
  if (markers.some(({ number }) => number > begin.number && number < end.number)) {
    return damaged('another block begins or ends inside', ours)
  }
  if (standsInFence(lines, begin, end)) {
    return damaged('the block stands in a code fence, where it may be an example', ours)
  }
  return { is: 'present', from: begin.from + begin.text.length + 1, to: end.from }
}

const damaged = (what: string, markers: readonly Marker[]): Block => {
  const places = markers.map(({ number }) => number).join(', ')
  const [lines, them] = markers.length === 1 ? ['line', 'it'] : ['lines', 'them']
  return {
    is: 'damaged',
    why: `has damaged svc markers (${what}): mend or delete ${them} by hand (${lines} ${places}), or indent ${them} by a space`,
  }
}

function linesOf(text: string): Line[] {
  const bom = text.length - withoutBom(text).length
  let from = bom
  return text
    .slice(bom)
    .split('\n')
    .map((line, index) => {
      const found = { number: index + 1, from, text: line }
      from += line.length + 1
      return found
    })
}

function asMarker(line: Line): Marker[] {
  const [, kind, id] = LIKE_A_MARKER.exec(line.text) ?? []
  if (kind === undefined || id === undefined) return []
  return [{ ...line, kind: kind.toUpperCase() === 'BEGIN' ? 'BEGIN' : 'END', id: id.toLowerCase() }]
}

/** The words in brackets may change from release to release; nothing may stand behind the comment. */
function isWhole({ kind, id, text }: Marker): boolean {
  const line = text.trimEnd()
  return kind === 'END'
    ? line === ending(id)
    : line.startsWith(`<!-- BEGIN svc-skill:${id} `) && line.indexOf('-->') === line.length - 3
}

const FENCE = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)$/

/** Only a fence that is closed below again: an open one further up may be a slip, and our own block was written under it. */
function standsInFence(lines: readonly Line[], begin: Line, end: Line): boolean {
  const above = lines.slice(0, begin.number - 1).reduce<string | undefined>(fenceAfter, undefined)
  return above !== undefined && lines.slice(end.number).some((line) => fenceAfter(above, line) === undefined)
}

/** The fence that is open after this line, if `open` was before it. */
function fenceAfter(open: string | undefined, { text }: Line): string | undefined {
  const [, fence, behind] = FENCE.exec(text.trimEnd()) ?? []
  if (fence === undefined) return open
  if (open === undefined) return fence
  return behind === '' && fence.startsWith(open) ? undefined : open
}

/** Everything outside the markers, and the marker lines themselves, stay byte for byte. */
export function withBody(text: string, { from, to }: { from: number; to: number }, body: string): string {
  return text.slice(0, from) + onLines(body, lineEndOf(text)) + text.slice(to)
}

/** At the end, a blank line between; a text without a final newline stays one. */
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
