/**
 * The ids that a receiver sees. They come from event, target and replay, not from rows: where the database has lost the row
 * of a delivery, the next one is recognizable as the same. A replay is new.
 */
import type { DataKeys } from '../../../trust/data-key.ts'
import { keyedHash } from '../../../trust/keyed-hash.ts'

type Received = {
  readonly orgId: string
  readonly target: string
  readonly eventId: string
  /** Of the delivery. */
  readonly id: string
  readonly replayOf: string | null
}

/** As long as the random part of other ids. */
const LENGTH = 25

/** Under a key, because targets hold what is nobody's business, and so that nobody can make one up. */
const derived = (dataKeys: DataKeys, prefix: 'ntf' | 'msg', ...of: readonly string[]): string =>
  `${prefix}_${keyedHash(dataKeys.keyFor('received-id'), JSON.stringify([prefix, ...of])).slice(0, LENGTH)}`

/** Of the thin object of a delivery, the same on every attempt. Each replay has a row of its own: that is its number. */
export const receivedId = (dataKeys: DataKeys, { orgId, target, eventId, id, replayOf }: Received): string =>
  derived(dataKeys, 'ntf', orgId, target, eventId, replayOf === null ? '' : id)

/** Of a POST: the same only where it carries the same. */
export const receivedPostId = (dataKeys: DataKeys, target: string, ids: readonly string[]): string =>
  derived(dataKeys, 'msg', target, ...ids)
