/**
 * Resolves what a finding or a proposal cites to the exact lines that this run has read, and pins them: they outlast the
 * logs and the revision. A reference to anything else is refused.
 */
import type { Handle, Transaction } from '../../../db/connect.ts'
import { and, eq, gte, lte, sql } from '../../../db/drizzle.ts'
import { runEvidence } from '../../../db/schema.ts'
import { ToolRefused, type EvidenceRead } from '../../contracts/agent-tools.ts'
import { shownPath } from '../../contracts/source-paths.ts'
import type { Clock } from '../dependencies.ts'
import {
  isOfRun,
  isStorable,
  openEvidence,
  readEvidence,
  type EvidenceRow,
  type RunId,
  type WithDataKeys,
} from './evidence-rows.ts'
import { pinEvidence } from './record-evidence.ts'

export async function citeEvidence(
  tx: Transaction,
  deps: WithDataKeys & { readonly clock: Clock },
  run: RunId,
  refs: readonly string[],
): Promise<EvidenceRead[]> {
  const cited = [...new Set(refs)]
  const rows = new Map((await readEvidence(tx, run, cited)).map((row) => [row.ref, row]))
  const found: EvidenceRead[] = []
  const [parts, missing]: [EvidenceRead[], string[]] = [[], []]
  for (const ref of cited) {
    const row = rows.get(ref)
    const text = row && openEvidence(deps.dataKeys, row)
    const part = row ? undefined : await findPart(tx, deps, run, ref)
    if (row && typeof text === 'string') found.push({ ...row, text })
    else if (part) {
      found.push(part)
      parts.push(part)
    } else missing.push(`${shownPath(ref)}: was not read in this run`)
  }
  if (missing.length > 0) throw new ToolRefused('EVIDENCE_NOT_READ', missing)
  await pinEvidence(tx, deps, run, parts)
  await pin(tx, run, cited)
  return found
}

const pin = (tx: Transaction, run: RunId, refs: readonly string[]) =>
  tx
    .update(runEvidence)
    .set({ pinned: true })
    .where(
      and(
        isOfRun(run),
        eq(runEvidence.pinned, false),
        sql`${runEvidence.ref} in (select json_array_elements_text(${JSON.stringify(refs)}::json))`,
      ),
    )

/** Lines of a file that this run has read in one or in several pieces. */
async function findPart(
  tx: Transaction,
  { dataKeys }: WithDataKeys,
  run: RunId,
  ref: string,
): Promise<EvidenceRead | undefined> {
  const range = isStorable(ref) ? rangeIn(ref) : undefined
  if (!range) return undefined
  const read = new Map<number, string>()
  for (const row of await readsOf(tx, run, range)) {
    const text = openEvidence(dataKeys, row)
    text?.split('\n').forEach((line, n) => read.set(row.fromLine! + n, line))
  }
  const lines: string[] = []
  for (let line = range.fromLine; line <= range.toLine; line++) {
    const text = read.get(line)
    if (text === undefined) return undefined
    lines.push(text)
  }
  return { ref, kind: 'file', location: range.path, ...range, text: lines.join('\n') }
}

type Range = { readonly path: string; readonly fromLine: number; readonly toLine: number }

function rangeIn(ref: string): Range | undefined {
  const match = /^file:(.+)#L(\d{1,7})-L(\d{1,7})$/su.exec(ref)
  if (!match) return undefined
  const [fromLine, toLine] = [Number(match[2]), Number(match[3])]
  return fromLine >= 1 && fromLine <= toLine ? { path: match[1]!, fromLine, toLine } : undefined
}

const readsOf = (db: Handle, run: RunId, { path, fromLine, toLine }: Range): Promise<EvidenceRow[]> =>
  db
    .select()
    .from(runEvidence)
    .where(
      and(
        isOfRun(run),
        eq(runEvidence.kind, 'file'),
        eq(runEvidence.location, path),
        lte(runEvidence.fromLine, toLine),
        gte(runEvidence.toLine, fromLine),
      ),
    )

/** A line that this run has read; undefined: it has not. */
export async function findReadLine(
  db: Handle,
  { dataKeys }: WithDataKeys,
  run: RunId,
  { path, line }: { readonly path: string; readonly line: number },
): Promise<string | undefined> {
  if (!isStorable(path)) return undefined
  const [row] = await readsOf(db, run, { path, fromLine: line, toLine: line })
  return row && openEvidence(dataKeys, row)?.split('\n')[line - row.fromLine!]
}

/** Of the paths, those of which this run has read no line. */
export async function findUnread(db: Handle, run: RunId, paths: readonly string[]): Promise<string[]> {
  const rows = await db
    .selectDistinct({ path: runEvidence.location })
    .from(runEvidence)
    .where(and(isOfRun(run), eq(runEvidence.kind, 'file')))
  const read = new Set(rows.map(({ path }) => path))
  return paths.filter((path) => !read.has(path))
}
