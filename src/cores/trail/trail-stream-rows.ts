/** Where an organization has its trail sent to: rows, and what is sealed in them. */
import type { trailStreams } from '../../../db/schema.ts'
import type { Sealer } from '../../trust/data-key.ts'
import type { OutputOf } from '../verb.ts'

export type TrailStreamRow = typeof trailStreams.$inferSelect
export type TrailTarget = { readonly url: string; readonly authorization?: string | undefined }

const contextOf = ({ orgId, id }: Pick<TrailStreamRow, 'orgId' | 'id'>): string =>
  `trail-stream:${orgId}:${id}`

export const sealTarget = (
  sealer: Sealer,
  row: Pick<TrailStreamRow, 'orgId' | 'id'>,
  target: TrailTarget,
): string => sealer.seal(contextOf(row), JSON.stringify(target))

export const openTarget = (sealer: Sealer, row: TrailStreamRow): TrailTarget =>
  JSON.parse(sealer.open(contextOf(row), row.sealed)) as TrailTarget

export const presentStream = (row: TrailStreamRow): OutputOf<'createTrailStream'> => ({
  id: row.id,
  kind: row.kind,
  host: row.host,
  created_at: row.createdAt.toISOString(),
  sent_to: row.afterRow,
  sent_at: row.sentAt?.toISOString() ?? null,
  failures: row.failures,
  problem: row.problem,
})

export const nameOf = ({ kind, host }: Pick<TrailStreamRow, 'kind' | 'host'>): string => `${kind} at ${host}`
