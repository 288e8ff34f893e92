import { keyedHash } from '../../trust/keyed-hash.ts'
import type { Keys } from '../dependencies.ts'
import { SKEW_SECONDS, type Assertion, type Trust } from './verify-assertion.ts'

/** By what the assertion says, not by our row: another row for the same issuer must know what was used before. */
export const assertionUseId = (
  { keyFor }: Keys,
  { issuer, tenantValue }: Pick<Trust, 'issuer' | 'tenantValue'>,
  { jti }: Pick<Assertion, 'jti'>,
): string => keyedHash(keyFor('assertion-use'), JSON.stringify([issuer, tenantValue, jti]))

/** How long it could be shown again. */
export const acceptedUntil = ({ expiresAt }: Pick<Assertion, 'expiresAt'>): Date =>
  new Date(expiresAt.getTime() + SKEW_SECONDS * 1000)
