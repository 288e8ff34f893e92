/** The single-use code with which a person returns after sign-in: a token never stands in a URL. */
import { createHash } from 'node:crypto'
import { and, eq, gt } from '../../../db/drizzle.ts'
import { signInCodes } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { SIGN_IN_CODE_SECONDS } from '../../contracts/limits.ts'
import type { Handler } from '../../contracts/operation.ts'
import type { exchangeSignInCode } from '../../contracts/sessions.ts'
import { keyedHash, randomSecret, sameSecret } from '../../trust/keyed-hash.ts'
import type { Keys } from '../needs.ts'
import { withTransaction } from '../transaction.ts'
import { sessionToken, type SessionNeeds } from './sessions.ts'

const codeHash = (needs: Keys, code: string) => keyedHash(needs.keyFor('sign-in-code'), code)

export async function issueSignInCode(
  needs: SessionNeeds,
  sessionId: string,
  codeChallenge: string | null,
): Promise<string> {
  const code = randomSecret()
  await needs.db.insert(signInCodes).values({
    codeHash: codeHash(needs, code),
    sessionId,
    codeChallenge,
    expiresAt: new Date(needs.clock().getTime() + SIGN_IN_CODE_SECONDS * 1000),
  })
  return code
}

/** The session of a code, once; undefined when it is spent, late or not this browser's. */
export async function takeSignInCode(
  needs: SessionNeeds,
  code: string,
  verifier: string | undefined,
): Promise<string | undefined> {
  // Deleted whatever happens next: a code that was tried with a wrong verifier is a stolen one.
  const [row] = await needs.db
    .delete(signInCodes)
    .where(and(eq(signInCodes.codeHash, codeHash(needs, code)), gt(signInCodes.expiresAt, needs.clock())))
    .returning()
  return row && provesPossession(row.codeChallenge, verifier) ? row.sessionId : undefined
}

export const swapSignInCode =
  (needs: SessionNeeds): Handler<typeof exchangeSignInCode> =>
  async (_caller, { code, code_verifier }) => {
    const sessionId = await takeSignInCode(needs, code, code_verifier)
    if (sessionId === undefined) throw refusal()
    return withTransaction(needs.db, (tx) => sessionToken(tx, needs, sessionId))
  }

const refusal = () => new ServiceError('UNAUTHENTICATED', 'This sign-in code is not valid any more')

/** RFC 7636, S256 only. RFC 9700, 4.8.2: a verifier for a code without a challenge means that the code is not theirs. */
function provesPossession(challenge: string | null, verifier: string | undefined): boolean {
  if (challenge === null) return verifier === undefined
  if (verifier === undefined) return false
  return sameSecret(createHash('sha256').update(verifier).digest('base64url'), challenge)
}
