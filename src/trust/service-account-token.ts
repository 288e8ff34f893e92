/**
 * What a token of a service account says about itself, unverified: it only selects what is asked of the database and the
 * cluster. Whether it is genuine the cluster decides.
 */
import { sha256 } from './keyed-hash.ts'
import { readJwtPart } from './read-jwt-part.ts'

export type ServiceAccountClaims = {
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly audiences: readonly string[]
  readonly expiresAt: Date
}

/** The whole text: the cluster reads a token up to the first blank, and what stands behind it would make it another one here. */
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/
const SUBJECT = /^system:serviceaccount:([a-z0-9-]{1,63}):([a-z0-9.-]{1,253})$/
/** Uids are UUIDs; the cluster promises no more than a short text. */
const UID = /^[\w-]{1,64}$/

/** Undefined when it is anything else: our own JWTs have other subjects. */
export const readServiceAccountToken = (token: string): ServiceAccountClaims | undefined =>
  JWT.test(token) ? claimsIn(token) : undefined

function claimsIn(token: string): ServiceAccountClaims | undefined {
  const [, body, signature, ...rest] = token.split('.')
  if (body === undefined || signature === undefined || rest.length > 0) return undefined
  const claims = readJwtPart(body)
  const [, namespace, name] = SUBJECT.exec(textIn(claims?.['sub'])) ?? []
  if (claims === undefined || namespace === undefined || name === undefined) return undefined
  const bound = claims['kubernetes.io'] as { serviceaccount?: { uid?: unknown } } | null | undefined
  const uid = textIn(bound?.serviceaccount?.uid)
  const [audiences, expires] = [[claims['aud']].flat(), claims['exp']]
  if (!UID.test(uid) || typeof expires !== 'number') return undefined
  const expiresAt = new Date(expires * 1000)
  if (Number.isNaN(expiresAt.getTime())) return undefined
  return {
    namespace,
    name,
    uid,
    audiences: audiences.filter((audience) => typeof audience === 'string'),
    expiresAt,
  }
}

/** Also one with more behind it, which is nobody else's business either. */
export const isServiceAccountToken = (token: string): boolean => claimsIn(token) !== undefined

/** What an answer of the cluster is remembered by: never the token itself. */
export const serviceAccountTokenKey = (token: string): string => sha256(token)

const textIn = (value: unknown): string => (typeof value === 'string' ? value : '')
