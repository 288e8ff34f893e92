/** Handles of found rows: signed, bound to organization, source and table, good for a day. Only what was found can be fetched. */
import type { Hit } from '../../contracts/data-sources.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { HANDLE_SECONDS } from '../../contracts/limits.ts'
import type { DataKeys } from '../../trust/data-key.ts'
import { keyedHash, sameSecret } from '../../trust/keyed-hash.ts'
import * as z from 'zod'

const Body = z.tuple([z.string(), z.string(), z.int()])

export type Handle = { readonly label: string; readonly id: string }

const signatureOf = (keys: DataKeys, place: string, body: string): string =>
  keyedHash(keys.keyFor('hit-handle'), `${place}\n${body}`).slice(0, 32)

/** `place` is organization and source; they stand in the path of the call and need not stand in the handle. */
function signHandle(keys: DataKeys, place: string, { label, id }: Handle, now: Date): string {
  const until = Math.floor(now.getTime() / 1000) + HANDLE_SECONDS
  const body = Buffer.from(JSON.stringify([label, id, until])).toString('base64url')
  return `${body}.${signatureOf(keys, place, body)}`
}

export function readHandle(keys: DataKeys, place: string, handle: string, now: Date): Handle {
  const [body = '', signature = '', ...rest] = handle.split('.')
  if (rest.length > 0 || !sameSecret(signature, signatureOf(keys, place, body))) {
    throw new ServiceError('INVALID_REQUEST', 'This handle was not given out for this data source', {
      hint: 'Send a `_handle` exactly as a hit carries it.',
    })
  }
  const [label, id, until] = Body.parse(JSON.parse(Buffer.from(body, 'base64url').toString()))
  if (until * 1000 <= now.getTime()) {
    throw new ServiceError('INVALID_REQUEST', 'This handle has expired', { hint: 'Ask again.' })
  }
  return { label, id }
}

/** A handle must fit a request; an id longer than that has none. */
const ID_MAX = 1_000

export const withHandle =
  (keys: DataKeys, place: string, label: string, now: Date) =>
  (hit: Hit): Hit =>
    hit.id.length > ID_MAX
      ? hit
      : {
          ...hit,
          metadata: { ...hit.metadata, _handle: signHandle(keys, place, { label, id: hit.id }, now) },
        }
