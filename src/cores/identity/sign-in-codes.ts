/** The single-use code with which a person returns after sign-in: a token never stands in a URL. */
import { createHash } from 'node:crypto'
import { and, eq, gt } from '../../../db/drizzle.ts'
import { signInCodes } from '../../../db/schema.ts'
import { SIGN_IN_CODE_SECONDS } from '../../contracts/limits.ts'
import { keyedHash, randomSecret, sameSecret } from '../../trust/keyed-hash.ts'
import type { Keys } from '../dependencies.ts'
import type { SessionDeps } from './start-session.ts'

const codeHash = (deps: Keys, code: string) => keyedHash(deps.keyFor('sign-in-code'), code)

export async function issueSignInCode(
  deps: SessionDeps,
  sessionId: string,
  codeChallenge: string | null,
): Promise<string> {
  const code = randomSecret()
  await deps.db.insert(signInCodes).values({
    codeHash: codeHash(deps, code),
    sessionId,
    codeChallenge,
    expiresAt: new Date(deps.clock().getTime() + SIGN_IN_CODE_SECONDS * 1000),
  })
  return code
}

/** The session of a code, once; undefined when it is used, expired or not this browser's. */
export async function consumeSignInCode(
  deps: SessionDeps,
  code: string,
  verifier: string | undefined,
): Promise<string | undefined> {
  // Deleted whatever happens next: a code that was tried with a wrong verifier is a stolen one.
  const [row] = await deps.db
    .delete(signInCodes)
    .where(and(eq(signInCodes.codeHash, codeHash(deps, code)), gt(signInCodes.expiresAt, deps.clock())))
    .returning()
  return row && provesPossession(row.codeChallenge, verifier) ? row.sessionId : undefined
}

/** RFC 7636, S256 only. RFC 9700, 4.8.2: a verifier for a code without a challenge means that the code is not theirs. */
function provesPossession(challenge: string | null, verifier: string | undefined): boolean {
  if (challenge === null) return verifier === undefined
  if (verifier === undefined) return false
  return sameSecret(createHash('sha256').update(verifier).digest('base64url'), challenge)
}
