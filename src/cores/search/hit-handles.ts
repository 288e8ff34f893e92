/** Handles of found rows: signed, bound to organization, source and table, good for a day. Only what was found can be fetched. */
import type { Hit } from '../../contracts/data-sources.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { HANDLE_SECONDS } from '../../contracts/limits.ts'
import type { DataKeys } from '../../trust/data-key.ts'
import { keyedHash, sameSecret } from '../../trust/keyed-hash.ts'
import * as z from 'zod'

const Body = z.tuple([z.enum(['hit', 'search']), z.string(), z.string(), z.string(), z.int()])

/** By a question to its source, which must still be `fetchable` then, or by a search over all of them. */
type FoundBy = z.output<typeof Body>[0]
export type FoundAt = {
  readonly by: FoundBy
  readonly sourceId: string
  readonly label: string
  readonly id: string
}

const signatureOf = (keys: DataKeys, orgId: string, body: string): string =>
  keyedHash(keys.keyFor('hit-handle'), `${orgId}\n${body}`).slice(0, 32)

/** The organization is the caller's own and need not stand in the handle. */
function signHandle(keys: DataKeys, orgId: string, { by, sourceId, label, id }: FoundAt, now: Date): string {
  const until = Math.floor(now.getTime() / 1000) + HANDLE_SECONDS
  const body = Buffer.from(JSON.stringify([by, sourceId, label, id, until])).toString('base64url')
  return `${body}.${signatureOf(keys, orgId, body)}`
}

const forged = () =>
  new ServiceError('INVALID_REQUEST', 'This handle was not given out here', {
    hint: 'Send the id or `_handle` exactly as it was answered.',
  })

/** `sourceId`: where it must have been found, if that was said. */
export function readHandle(
  keys: DataKeys,
  { orgId, sourceId: expected }: { orgId: string; sourceId: string | undefined },
  handle: string,
  now: Date,
): FoundAt {
  const [body = '', signature = '', ...rest] = handle.split('.')
  if (rest.length > 0 || !sameSecret(signature, signatureOf(keys, orgId, body))) throw forged()
  const [by, sourceId, label, id, until] = Body.parse(JSON.parse(Buffer.from(body, 'base64url').toString()))
  if (expected !== undefined && expected !== sourceId) throw forged()
  if (until * 1000 <= now.getTime()) {
    throw new ServiceError('INVALID_REQUEST', 'This handle has expired', { hint: 'Ask again.' })
  }
  return { by, sourceId, label, id }
}

/** A handle must fit a request; an id longer than that has none. */
const ID_MAX = 1_000

/** Undefined for a row whose id is too long to be put into one. */
export const handleOf = (
  keys: DataKeys,
  { orgId, id }: { orgId: string; id: string },
  by: FoundBy,
  hit: Hit,
  now: Date,
): string | undefined =>
  hit.id.length > ID_MAX
    ? undefined
    : signHandle(keys, orgId, { by, sourceId: id, label: String(hit.metadata['_target']), id: hit.id }, now)
