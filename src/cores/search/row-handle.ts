/** Signed handles of rows, bound to organization, source and table, valid for a day: only what was found can be fetched. */
import type { Hit } from '../../contracts/data-sources.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { HANDLE_SECONDS } from '../../contracts/limits.ts'
import type { DataKeys } from '../../trust/data-key.ts'
import { keyedHash, sameSecret } from '../../trust/keyed-hash.ts'
import * as z from 'zod'

const Body = z.tuple([z.enum(['hit', 'search']), z.string(), z.string(), z.string(), z.int()])

/** In the address of a row's page. It does not end: who opens it needs the same rights as who asks. */
const LinkBody = z.tuple([z.string(), z.string()])

/** By a question to its source, which must still be `fetchable` then, or by a search over all of them. */
type HandleOrigin = z.output<typeof Body>[0]
export type HandleTarget = {
  readonly origin: HandleOrigin | 'link'
  readonly sourceId: string
  readonly label: string
  readonly id: string
}

const signatureOf = (keys: DataKeys, orgId: string, body: string): string =>
  keyedHash(keys.keyFor('hit-handle'), `${orgId}\n${body}`).slice(0, 32)

/** The organization is the principal's own, so the handle does not carry it. */
function signHandle(
  keys: DataKeys,
  orgId: string,
  { origin, sourceId, label, id }: HandleTarget & { readonly origin: HandleOrigin },
  now: Date,
): string {
  const until = Math.floor(now.getTime() / 1000) + HANDLE_SECONDS
  const body = Buffer.from(JSON.stringify([origin, sourceId, label, id, until])).toString('base64url')
  return `${body}.${signatureOf(keys, orgId, body)}`
}

const invalidHandle = () =>
  new ServiceError('INVALID_REQUEST', 'This handle is not valid', {
    hint: 'Send the id or `_handle` exactly as it was returned.',
  })

/** `sourceId`: the source it must have been found in, when the request names one. */
export function verifyHandle(
  keys: DataKeys,
  { orgId, sourceId: expected }: { orgId: string; sourceId: string | undefined },
  handle: string,
  now: Date,
): HandleTarget {
  const [body = '', signature = '', ...rest] = handle.split('.')
  if (rest.length > 0) throw invalidHandle()
  if (expected !== undefined && sameSecret(signature, linkSignatureOf(keys, { orgId, id: expected }, body))) {
    const [label, id] = LinkBody.parse(JSON.parse(Buffer.from(body, 'base64url').toString()))
    return { origin: 'link', sourceId: expected, label, id }
  }
  if (!sameSecret(signature, signatureOf(keys, orgId, body))) throw invalidHandle()
  const [origin, sourceId, label, id, until] = Body.parse(
    JSON.parse(Buffer.from(body, 'base64url').toString()),
  )
  if (expected !== undefined && expected !== sourceId) throw invalidHandle()
  if (until * 1000 <= now.getTime()) {
    throw new ServiceError('INVALID_REQUEST', 'This handle has expired', { hint: 'Ask again.' })
  }
  return { origin, sourceId, label, id }
}

/** Its source stands in the address before it. Of another length than a handle's, and made of other lines. */
const linkSignatureOf = (keys: DataKeys, source: { orgId: string; id: string }, body: string): string =>
  keyedHash(keys.keyFor('hit-handle'), `${source.orgId}\n${source.id}\n${body}`).slice(0, 24)

/** A handle must fit a request; an id longer than that has none. */
const ID_MAX = 1_000

/** Undefined for a row whose id is too long to be put into one. */
export const createHandle = (
  keys: DataKeys,
  { orgId, id }: { orgId: string; id: string },
  origin: HandleOrigin,
  hit: Hit,
  now: Date,
): string | undefined =>
  hit.id.length > ID_MAX
    ? undefined
    : signHandle(
        keys,
        orgId,
        { origin, sourceId: id, label: String(hit.metadata['_target']), id: hit.id },
        now,
      )

/** Undefined as above. */
export function createLink(
  keys: DataKeys,
  source: { orgId: string; id: string },
  { label, id }: { readonly label: string; readonly id: string },
): string | undefined {
  if (id.length > ID_MAX) return undefined
  const body = Buffer.from(JSON.stringify([label, id])).toString('base64url')
  return `${body}.${linkSignatureOf(keys, source, body)}`
}
