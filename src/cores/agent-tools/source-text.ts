/** Source as a run may read it: text of its base revision, without what is a secret by its form or its name. */
import { fileRef, ToolRefused, type EvidenceRead } from '../../contracts/agent-tools.ts'
import { maskTokens } from '../../contracts/mask-secrets.ts'
import { plainText } from '../../contracts/plain-text.ts'
import type { Handle } from '../../../db/connect.ts'
import type { ManifestEntry } from '../../../db/schema.ts'
import { fitsGlob, SECRET_FILES } from '../proposals/index.ts'
import { requireRevision } from '../revisions/index.ts'
import { cutText } from './fit-rows.ts'
import type { ToolRun } from './tool.ts'

/** Shown to nobody who might pass them on; the names are listed all the same. */
const HIDDEN_FILES = [...SECRET_FILES, '.ssh/**', '.aws/**', '.kube/**', '.npmrc', '.pypirc']

export const isSecretFile = (path: string): boolean => HIDDEN_FILES.some((glob) => fitsGlob(path, glob))

export async function readManifest(db: Handle, run: ToolRun): Promise<readonly ManifestEntry[]> {
  if (run.baseRevisionId === null) throw new ToolRefused('NO_SOURCE')
  return (await requireRevision(db, run, run.baseRevisionId)).manifest
}

/** Without the empty one behind the last line break. */
export function linesOf(text: string): string[] {
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines
}

const LINE_MAX = 2_000
const HIDDEN = '[hidden]'

/** As they are shown, from `first` (counted from 1) to `last`. */
export function shownLines(lines: readonly string[], first: number, last: number): string[] {
  const hidden = privateKeyLines(lines)
  return lines.slice(first - 1, last).map((line, at) => shownLine(line, hidden.has(first + at)))
}

export const shownLine = (line: string, isHidden: boolean): string =>
  isHidden ? HIDDEN : cutText(maskTokens(plainText(line)), LINE_MAX)

/** The numbers of lines that a private key spans. */
export function privateKeyLines(lines: readonly string[]): ReadonlySet<number> {
  const hidden = new Set<number>()
  let inKey = false
  for (const [at, line] of lines.entries()) {
    inKey ||= line.includes('-----BEGIN ')
    if (inKey) hidden.add(at + 1)
    inKey &&= !line.includes('-----END ')
  }
  return hidden
}

/** More is not kept, and therefore cannot be cited. */
const EVIDENCE_MAX = 64 * 1024

export function fileEvidence(
  path: string,
  lines: readonly string[],
  first: number,
  last: number,
): EvidenceRead[] {
  const text = lines.slice(first - 1, last).join('\n')
  if (text.length > EVIDENCE_MAX) return []
  return [
    { ref: fileRef(path, first, last), kind: 'file', location: path, fromLine: first, toLine: last, text },
  ]
}
