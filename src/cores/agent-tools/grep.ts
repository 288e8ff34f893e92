/** Finds lines of the source. Expressions are matched outside of the event loop, whatever somebody wrote. */
import { fileRef, ToolRefused, type EvidenceRead } from '../../contracts/agent-tools.ts'
import type { ManifestEntry } from '../../../db/schema.ts'
import { isLogPattern } from '../checks/index.ts'
import { fitsGlob } from '../proposals/index.ts'
import { readBlobs, textOf } from '../revisions/index.ts'
import { cutText, fitRows } from './fit-rows.ts'
import {
  fileEvidence,
  isSecretFile,
  linesOf,
  privateKeyLines,
  readManifest,
  shownLine,
} from './source-text.ts'
import type { ReadingTool, ToolDeps } from './tool.ts'

/** More of them do not fit into a result. */
const MATCHES_MAX = 200
const TEXT_MAX = 300
/** Of one line. Of a longer one, which nobody wrote by hand, too little is shown to cite it. */
const EVIDENCE_MAX = 4_096
/** Of one search; what was not looked at by then is told as left out. */
const SEARCH_MS = 5_000
/** Read at once: many small files, or a few large ones. */
const BATCH = { files: 256, bytes: 4 * 1024 * 1024 }

type Match = { readonly ref: string; readonly path: string; readonly line: number; readonly text: string }
type Found = { readonly match: Match; readonly evidence: readonly EvidenceRead[] }

export const grep: ReadingTool<'grep'> = (deps, run, { pattern, path_glob: glob, literal }) => {
  if (!literal && !isLogPattern(`/${pattern}/`)) throw new ToolRefused('INVALID_PATTERN')
  return deps.sourceSearches.take(
    [run.orgId, run.appId],
    async () => {
      const files = (await readManifest(deps.db, run)).filter(
        ([path]) => (glob === undefined || fitsGlob(path, glob)) && !isSecretFile(path),
      )
      const { found, isWhole } = await search(deps, run.orgId, files, { pattern, literal })
      const shown = fitRows(found.map(({ match }) => match))
      return {
        result: { matches: shown.rows, truncated: shown.truncated || !isWhole },
        evidence: found.slice(0, shown.rows.length).flatMap(({ evidence }) => evidence),
      }
    },
    { signal: deps.signal },
  )
}

type Wanted = { readonly pattern: string; readonly literal: boolean }

async function search(
  deps: ToolDeps,
  orgId: string,
  files: readonly ManifestEntry[],
  wanted: Wanted,
): Promise<{ found: Found[]; isWhole: boolean }> {
  const tooLong = AbortSignal.timeout(SEARCH_MS)
  const found: Found[] = []
  for (const batch of batches(files)) {
    if (found.length >= MATCHES_MAX || tooLong.aborted) return { found, isWhole: false }
    const texts = await readTexts(deps, orgId, batch)
    const places = await placesIn(deps, orgId, texts, wanted, MATCHES_MAX - found.length)
    if (places === undefined) throw new ToolRefused('TOO_SLOW')
    found.push(...asFound(texts, places))
  }
  return { found, isWhole: found.length < MATCHES_MAX }
}

/** At least one file each, however large it is. */
function* batches(files: readonly ManifestEntry[]): Generator<ManifestEntry[]> {
  let batch: ManifestEntry[] = []
  let size = 0
  for (const file of files) {
    if (batch.length > 0 && (batch.length === BATCH.files || size + file[2] > BATCH.bytes)) {
      yield batch
      ;[batch, size] = [[], 0]
    }
    batch.push(file)
    size += file[2]
  }
  if (batch.length > 0) yield batch
}

type Text = { readonly path: string; readonly lines: readonly string[] }

async function readTexts(
  { db }: ToolDeps,
  orgId: string,
  files: readonly ManifestEntry[],
): Promise<readonly Text[]> {
  const contents = await readBlobs(
    db,
    orgId,
    files.map(([, sha256]) => sha256),
    BATCH.files,
  )
  return files.flatMap(([path, sha256]) => {
    const content = contents.get(sha256)
    const text = content && textOf(content)
    return text ? [{ path, lines: linesOf(text) }] : []
  })
}

/** Counted over all of them: the thread is asked once for many small files. */
async function placesIn(
  { findLines }: ToolDeps,
  orgId: string,
  texts: readonly Text[],
  { pattern, literal }: Wanted,
  most: number,
): Promise<readonly number[] | undefined> {
  const lines = texts.flatMap((text) => text.lines)
  if (!literal) return findLines(orgId, { source: pattern, lines, most })
  return lines.flatMap((line, at) => (line.includes(pattern) ? [at] : [])).slice(0, most)
}

function asFound(texts: readonly Text[], places: readonly number[]): Found[] {
  const found: Found[] = []
  let [next, before] = [0, 0]
  for (const { path, lines } of texts) {
    const own: number[] = []
    for (; next < places.length && places[next]! < before + lines.length; next++)
      own.push(places[next]! - before + 1)
    if (own.length > 0) {
      const hidden = privateKeyLines(lines)
      found.push(...own.map((line) => foundAt(path, lines, line, hidden.has(line))))
    }
    before += lines.length
  }
  return found
}

const foundAt = (path: string, lines: readonly string[], line: number, isHidden: boolean): Found => ({
  match: {
    ref: fileRef(path, line, line),
    path,
    line,
    text: cutText(shownLine(lines[line - 1]!, isHidden), TEXT_MAX),
  },
  evidence: lines[line - 1]!.length > EVIDENCE_MAX ? [] : fileEvidence(path, lines, line, line),
})
