import { eq } from '../../../db/drizzle.ts'
import { users } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { writeInSteps, type Verb } from '../verb.ts'
import { issueSessionToken } from './issue-session-token.ts'
import type { SessionDeps } from './start-session.ts'
import { consumeSignInCode } from './sign-in-codes.ts'

export const exchangeSignInCode: Verb<'exchangeSignInCode', SessionDeps> = writeInSteps(
  { by: 'principal' },
  async (context, { code, code_verifier }) => {
    const { transaction } = context
    const sessionId = await consumeSignInCode(context, code, code_verifier)
    if (sessionId === undefined)
      throw new ServiceError('UNAUTHENTICATED', 'This sign-in code is no longer valid')
    return transaction(async ({ tx }) => {
      const signedIn = await issueSessionToken(tx, context, sessionId)
      // The application opens in it, so from here on it is the one used last.
      if (signedIn.organization) {
        await tx
          .update(users)
          .set({ lastOrgId: signedIn.organization.id })
          .where(eq(users.id, signedIn.user.id))
      }
      return signedIn
    })
  },
)
