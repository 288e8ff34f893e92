/**
 * Which hunk of a proposal a reference explains. Runs read the source before the change, so that lines of files are compared with
 * that side; a log line or another text explains the hunk whose lines it names, as a stack trace does.
 */
import { hunksOf, type Hunk, type Span } from '../apps/hunks.ts'
import { readDiffLines, splitDiff } from '../apps/read-diff.ts'

type Read = {
  readonly kind: string
  /** The path, of a file. */
  readonly location: string | null
  readonly from_line: number | null
  readonly to_line: number | null
  readonly text: string | null
}
/** As the page numbers them. */
type Place = { readonly path: string; readonly hunk: Hunk }

/** For each reference the hunk, or undefined where it explains none by itself. */
export function explainedHunks(
  diff: string,
  files: readonly { readonly path: string }[],
  evidence: readonly (Read | undefined)[],
): (Place | undefined)[] {
  const parts = splitDiff(diff)
  const places = files.flatMap(({ path }, at) =>
    hunksOf(readDiffLines(parts[at] ?? '')).map((hunk) => ({ path, hunk })),
  )
  return evidence.map((one) => one && (one.kind === 'file' ? ofLines(places, one) : ofText(places, one.text)))
}

const overlap = (a: Span | undefined, b: Span): number =>
  a === undefined ? 0 : Math.min(a.to, b.to) - Math.max(a.from, b.from) + 1

/** The one that it says most about. */
function ofLines(places: readonly Place[], { location, from_line, to_line }: Read): Place | undefined {
  if (from_line === null) return undefined
  const read = { from: from_line, to: to_line ?? from_line }
  return places
    .filter(({ path, hunk }) => path === location && overlap(hunk.old, read) > 0)
    .toSorted((a, b) => overlap(b.hunk.old, read) - overlap(a.hunk.old, read))[0]
}

/** `cart.js:12`, `src/cart.js:12:5` or `cart.js", line 12`. */
const MENTIONED = /([\w.@/-]{1,300})(?::|"?, line )(\d{1,7})\b/g

function ofText(places: readonly Place[], text: string | null): Place | undefined {
  for (const [, named = '', line = ''] of (text ?? '').matchAll(MENTIONED)) {
    const at = { from: Number(line), to: Number(line) }
    const found = places.find(
      ({ path, hunk }) => (named === path || endsWithPath(named, path)) && overlap(hunk.old, at) > 0,
    )
    if (found) return found
  }
  return undefined
}

/** A stack trace names the path of the machine, or the name of the file alone. */
const endsWithPath = (named: string, path: string): boolean =>
  named.endsWith(`/${path}`) || path.endsWith(`/${named}`)
