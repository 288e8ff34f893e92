import { ServiceError } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operations.ts'
import { withTransaction } from '../transaction.ts'
import { issueSessionToken } from './issue-session-token.ts'
import type { SessionDeps } from './start-session.ts'
import { consumeSignInCode } from './sign-in-codes.ts'

export const exchangeSignInCode =
  (deps: SessionDeps): Handler<'exchangeSignInCode'> =>
  async (_principal, { code, code_verifier }) => {
    const sessionId = await consumeSignInCode(deps, code, code_verifier)
    if (sessionId === undefined)
      throw new ServiceError('UNAUTHENTICATED', 'This sign-in code is no longer valid')
    return withTransaction(deps.db, (tx) => issueSessionToken(tx, deps, sessionId))
  }
