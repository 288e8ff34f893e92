/** How a service that holds no tokens of its own learns whose a bearer is: it asks the auth service in charge. */
import { caller } from '../client/call.ts'
import type { Service } from '../client/service.ts'
import { validateToken } from '../contracts/tokens.ts'
import type { Tracing } from '../observe/tracing-port.ts'
import type { Validate } from './authenticate.ts'
import { validateAssertion, type AssertionNeeds } from './own-assertions.ts'

export type ValidateNeeds = AssertionNeeds & {
  readonly auth: Service
  readonly tracing: Pick<Tracing, 'inject'>
}

export function validateElsewhere(needs: ValidateNeeds): Validate {
  const auth = traced(needs, needs.auth)
  return async ({ token, organization, requestId, address }) =>
    (await validateAssertion(needs, token, organization)) ??
    caller(auth, { requestId, address })(validateToken, { token, organization, audience: 'api' })
}

/** The trace goes along to the next service. */
export const traced =
  ({ tracing }: Pick<ValidateNeeds, 'tracing'>, service: Service): Service =>
  (request) => {
    tracing.inject(request.headers)
    return service(request)
  }
