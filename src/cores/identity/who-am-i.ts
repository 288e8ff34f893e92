/** Returns the principal: the smallest authenticated operation there is. */
import { ServiceError } from '../../contracts/errors.ts'
import { read, type Verb } from '../verb.ts'

export const whoAmI: Verb<'whoAmI'> = read('principal', async ({ principal }) => {
  const { kind, userId, userEmail } = principal
  if (userId === null || userEmail === null) throw new ServiceError('UNAUTHENTICATED')
  switch (kind) {
    case 'operator':
    case 'anonymous':
    case 'app_token':
    case 'scim_bearer':
    case 'workload':
      throw new ServiceError('UNAUTHENTICATED')
    case 'actor':
    case 'api_token':
    case 'cli_session':
    case 'user':
  }
  return {
    kind,
    user: { id: userId, email: userEmail, name: principal.userName },
    organization: principal.organization,
    role: principal.role,
    scopes: principal.scopes && [...principal.scopes],
    audiences: [...principal.audiences],
    expires_at: principal.expiresAt?.toISOString() ?? null,
    token_id: principal.tokenId,
    session_id: principal.sessionId,
    cli_session_id: principal.cliSessionId,
    client_id: principal.clientId,
    client_name: principal.clientName,
    grant_id: principal.grantId,
    support_session_id: principal.supportSessionId,
    sources: principal.sources === null ? undefined : [...principal.sources],
  }
})
