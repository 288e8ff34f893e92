/** Says back what the token was found to be: the smallest authenticated operation there is. */
import { ServiceError } from '../contracts/errors.ts'
import type { Handler } from '../contracts/operation.ts'
import type { whoAmI } from '../contracts/people.ts'

export const sayWho = (): Handler<typeof whoAmI> => async (caller) => {
  const { kind, userId, userEmail } = caller
  if (userId === null || userEmail === null || kind === 'operator' || kind === 'anonymous') {
    throw new ServiceError('UNAUTHENTICATED')
  }
  return {
    kind,
    user: { id: userId, email: userEmail, name: caller.userName },
    organization: caller.organization,
    role: caller.role,
    scopes: caller.scopes && [...caller.scopes],
    audiences: [...caller.audiences],
    expires_at: caller.expiresAt?.toISOString() ?? null,
    token_id: caller.tokenId,
    session_id: caller.sessionId,
    client_id: caller.clientId,
    grant_id: caller.grantId,
    support_session_id: caller.supportSessionId,
    sources: caller.sources === null ? undefined : [...caller.sources],
  }
}
