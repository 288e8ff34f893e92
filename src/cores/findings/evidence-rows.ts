/** What runs read, as it is kept: sealed, each text for its own row. */
import type { Handle } from '../../../db/connect.ts'
import { and, eq, sql } from '../../../db/drizzle.ts'
import { runEvidence } from '../../../db/schema.ts'
import type { EvidenceRead } from '../../contracts/agent-tools.ts'
import type { DataKeys } from '../../trust/data-key.ts'

export type EvidenceRow = typeof runEvidence.$inferSelect
export type RunId = { readonly orgId: string; readonly executionId: string }
export type WithDataKeys = { readonly dataKeys: DataKeys }

export const isOfRun = ({ orgId, executionId }: RunId) =>
  and(eq(runEvidence.orgId, orgId), eq(runEvidence.executionId, executionId))

const placeOf = ({ orgId, executionId }: RunId, ref: string): string =>
  `evidence ${orgId} ${executionId} ${ref}`

export const sealEvidence = (dataKeys: DataKeys, run: RunId, { ref, text }: EvidenceRead): string =>
  dataKeys.seal(placeOf(run, ref), text)

/** Null: it was not cited, and is not kept any more. */
export const openEvidence = (dataKeys: DataKeys, row: EvidenceRow): string | null =>
  row.sealedText === null ? null : dataKeys.open(placeOf(row, row.ref), row.sealedText)

/** What the database cannot even be asked for was never read. */
export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\0')

/** The log lines that a run was shown. */
export async function readLogIds(db: Handle, run: RunId): Promise<string[]> {
  const rows = await db
    .select({ id: runEvidence.location })
    .from(runEvidence)
    .where(and(isOfRun(run), eq(runEvidence.kind, 'log')))
  return rows.map(({ id }) => id)
}

export async function readEvidence(db: Handle, run: RunId, asked: readonly string[]): Promise<EvidenceRow[]> {
  const refs = asked.filter(isStorable)
  if (refs.length === 0) return []
  return db
    .select()
    .from(runEvidence)
    .where(
      and(
        isOfRun(run),
        sql`${runEvidence.ref} in (select json_array_elements_text(${JSON.stringify(refs)}::json))`,
      ),
    )
}
