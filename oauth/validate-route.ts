/** `POST /api/v1/tokens/validate`: the token in the body, or as the bearer. */
import type { Hono } from 'hono'
import type * as z from 'zod'
import { ServiceError } from '../src/contracts/errors.ts'
import { validateToken, type ValidatedToken } from '../src/contracts/tokens.ts'
import { validate, type Validated } from '../src/cores/identity/index.ts'
import { answer, answerError, formatFor } from '../src/http/answer.ts'
import { bearerOf, type Validate } from '../src/http/authenticate.ts'
import type { HttpEnv } from '../src/http/context.ts'
import { inputReader } from '../src/http/read-input.ts'
import type { AuthNeeds } from './needs.ts'

export function mountValidation(app: Hono<HttpEnv>, needs: AuthNeeds): void {
  const read = inputReader(validateToken)
  const check = validate(needs)
  app.post(validateToken.http.path, async (c) => {
    c.set('route', validateToken.name)
    c.set('isHop', true)
    const format = formatFor(c.req.header('accept'), 'json')
    try {
      const { token = bearerOf(c), organization, audience } = await read(c)
      if (token === undefined) throw new ServiceError('UNAUTHENTICATED')
      const valid = await check({ token, organization, audience, requestId: c.get('requestId') })
      return await answer(c, validateToken.output.parse(present(valid)), 200, format)
    } catch (error) {
      return await answerError(c, error, format)
    }
  })
}

/** How the auth service asks itself: the same question without a detour through HTTP. */
export function validateHere(needs: AuthNeeds): Validate {
  const check = validate(needs)
  return async ({ token, organization, requestId }) => {
    const valid = await check({ token, organization, audience: 'api', requestId })
    return { ...present(valid), session_generation: valid.sessionGeneration }
  }
}

const present = (valid: Validated): z.output<typeof ValidatedToken> => ({
  valid: true,
  kind: valid.kind,
  user: valid.user,
  organization: valid.organization,
  role: valid.role,
  scopes: valid.scopes,
  audiences: valid.audiences,
  expires_at: valid.expiresAt?.toISOString() ?? null,
  token_id: valid.tokenId,
  session_id: valid.sessionId,
  client_id: valid.clientId,
  grant_id: valid.grantId,
  support_session_id: valid.supportSessionId,
  sources: valid.sources && [...valid.sources],
})
