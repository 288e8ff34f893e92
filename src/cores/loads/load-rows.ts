/** Rows of loads: found in their organization, presented to people. */
import type * as z from 'zod'
import type { Handle } from '../../../db/connect.ts'
import { and, eq } from '../../../db/drizzle.ts'
import { dataSources, loads, type StoredPlan } from '../../../db/schema.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import { LOAD_FAILURES, LOAD_WAITS, LOAD_WAITS_BEHIND, type Load } from '../../contracts/loads.ts'
import type { LoadFormat } from '../../contracts/load-formats.ts'
import { findSource, sourceIdOf, type SourceRow } from '../databases/index.ts'
import { withTable } from './search-entry.ts'
import { changesTable } from './target-table.ts'

export type LoadRow = typeof loads.$inferSelect
type StagedLoad = { readonly load: LoadRow; readonly source: SourceRow }

export const isLoad = ({ orgId, id }: Pick<LoadRow, 'orgId' | 'id'>) =>
  and(eq(loads.orgId, orgId), eq(loads.id, id))

export async function requireLoad(db: Handle, orgId: string, id: string): Promise<StagedLoad> {
  const [found] = await db
    .select({ load: loads, source: dataSources })
    .from(loads)
    .innerJoin(dataSources, and(eq(dataSources.orgId, loads.orgId), eq(dataSources.id, loads.sourceId)))
    .where(isLoad({ orgId, id }))
  if (!found) throw notFound()
  return found
}

/** Of a file that becomes a table. */
export function fileFormatOf({ format }: Pick<LoadRow, 'format'>): LoadFormat {
  if (format !== 'documents') return format
  throw new ServiceError('CONFLICT', 'A sync of documents starts by itself')
}

/** A database that may be written to. */
export async function requireDatabase(db: Handle, orgId: string, name: string): Promise<SourceRow> {
  const source = await findSource(db, orgId, sourceIdOf(name))
  if (!source) throw notFound()
  if (source.kind === 'attached') {
    throw new ServiceError('CONFLICT', 'An attached database is only read, never written to', {
      hint: 'Load the file into a database that was created here.',
    })
  }
  if (source.documents !== null) {
    throw new ServiceError('CONFLICT', 'A documents source takes no tables', {
      hint: 'Send files to it with: svc docs sync. Load this one into a database of its own.',
    })
  }
  if (source.preparingUntil !== null) {
    throw new ServiceError('CONFLICT', 'The database is still being created', {
      hint: 'Try again in a moment.',
    })
  }
  return source
}

/** Longer than between two turns of its own. */
const BEHIND_MS = 10_000

/** With the time, also whether it waits behind others. */
export function presentLoad(load: LoadRow, source: SourceRow, now?: Date): z.input<typeof Load> {
  const { plan, state } = load
  return {
    id: load.id,
    source_id: sourceIdOf(source.name),
    filename: load.filename,
    format: load.format,
    bytes: load.bytes,
    received: load.received,
    state,
    phase: state === 'running' ? load.phase : null,
    table: plan?.table ?? null,
    append: plan?.append ?? false,
    dry_run: plan?.dryRun ?? false,
    changes: plan?.changes ?? null,
    long_rows: plan?.longRows ?? null,
    undo_until: undoUntilOf(load)?.toISOString() ?? null,
    undone: plan?.isUndone ?? false,
    choices: plan && load.format !== 'documents' ? choicesOf(plan) : null,
    rows: load.rows,
    embedded: load.embedded,
    read_bytes: readBytesOf(load),
    waits_for: state === 'running' ? waitOf(load, now) : null,
    waits_until: (state === 'running' && load.waitsUntil?.toISOString()) || null,
    problems: [...load.problems],
    problem_count: load.problemCount,
    failure: load.failure && LOAD_FAILURES[load.failure],
    configuration:
      state === 'succeeded' && plan && !plan.dryRun && load.format !== 'documents'
        ? withTable(source.configuration, plan)
        : null,
    configuration_saved: load.configurationSaved,
    created_by: load.createdByName,
    created_at: load.createdAt.toISOString(),
    finished_at: load.finishedAt?.toISOString() ?? null,
  }
}

/** Of a workbook its rows are read from what lies behind it: as much of it as of them. */
function readBytesOf({ readBytes, bytes, plan }: LoadRow): number {
  const converted = plan?.converted ?? 0
  return converted === 0 ? readBytes : Math.floor((bytes * (readBytes - bytes)) / converted)
}

function waitOf(
  { waitsFor, updatedAt, workedAt, leaseUntil }: LoadRow,
  now: Date | undefined,
): string | null {
  if (waitsFor) return LOAD_WAITS[waitsFor]
  const since = Math.max(updatedAt.getTime(), workedAt?.getTime() ?? 0)
  return now && leaseUntil === null && now.getTime() - since > BEHIND_MS ? LOAD_WAITS_BEHIND : null
}

/** Null: there is nothing that could be brought back, or no longer. */
export const undoUntilOf = ({ state, plan, waitsUntil, isStaged, format }: LoadRow): Date | null =>
  state === 'succeeded' && format !== 'documents' && plan && changesTable(plan) && isStaged
    ? waitsUntil
    : null

const choicesOf = (plan: StoredPlan): z.input<typeof Load>['choices'] => {
  const nameOf = (at: number) => plan.columns[at]!.header
  return {
    id_column: plan.id === -1 ? null : nameOf(plan.id),
    title_column: plan.title === null ? null : nameOf(plan.title),
    embed_columns: plan.embed.map(nameOf),
    filter_columns: plan.filters?.map(nameOf) ?? null,
    types: Object.fromEntries(
      plan.columns.flatMap(({ header, kind, isChosen }) => (isChosen && kind ? [[header, kind]] : [])),
    ),
    sheet: plan.sheet ?? null,
    delimiter: plan.isDelimiterChosen ? plan.delimiter : null,
    model: plan.model,
    language: plan.language,
    upsert: plan.upsert ?? false,
    delete_missing: plan.deleteMissing ?? false,
  }
}
