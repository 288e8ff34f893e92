/** Validates a bearer token at the auth service, and this installation's own assertions where that does not know them. */
import type * as z from 'zod'
import { httpClient } from '../client/http-client.ts'
import type { Service } from '../client/service.ts'
import { ServiceError } from '../contracts/errors.ts'
import { isPerson, isWorkload, validateToken, type ValidatedToken } from '../contracts/tokens.ts'
import type { Clock, Storage } from '../cores/dependencies.ts'
import type { TokenValidation } from '../cores/identity/index.ts'
import type { Tracing } from '../observe/tracing-port.ts'
import { ACTOR_ASSERTION_TYPE, type ActorAssertions } from '../trust/actor-assertion.ts'
import { isAppToken } from '../trust/app-token.ts'
import { freshAnswerIn } from '../trust/fresh-validations.ts'
import { sameSecret } from '../trust/keyed-hash.ts'
import { jwtType } from '../trust/hs256.ts'
import { isServiceAccountToken } from '../trust/service-account-token.ts'
import type { Validate } from './authenticate.ts'
import { validateHosted } from './validate-hosted.ts'

export type ValidateDeps = {
  readonly auth: Service
  readonly tracing: Pick<Tracing, 'inject'>
  readonly clock: Clock
  /** Set with AUTH_MODE=hosted only. */
  readonly hosted: HostedAuth | undefined
}

/** With hosted auth, whether this is the token of this installation's operator: nothing of the vendor's to see. */
export const isOwnOperators = (
  { hosted }: Pick<ValidateDeps, 'hosted'>,
  token: string | undefined,
): boolean =>
  hosted?.operatorToken !== undefined && token !== undefined && sameSecret(token, hosted.operatorToken)

export type HostedAuth = {
  /** Of this installation's MCP server. */
  readonly assertions: ActorAssertions
  /** Ids of the only organizations that are let in. */
  readonly servedOrganizations: ReadonlySet<string>
  readonly operatorToken: string | undefined
}

export function validateRemotely(deps: ValidateDeps & Storage): Validate {
  const auth = withTrace(deps, deps.auth)
  const validate: Validate = async ({ token, organization, requestId, address, validation }) => {
    // Nobody else's business, the vendor's with hosted auth least of all.
    if (isAppToken(token)) throw notForAppTokens()
    if (isOwnOperators(deps, token)) throw new ServiceError('UNAUTHENTICATED')
    // decisions, 15: hosted auth has no workload identity, and the vendor must not see tokens of this cluster.
    if (deps.hosted && isServiceAccountToken(token)) throw new ServiceError('UNAUTHENTICATED')
    return (
      (await validateAssertion(deps, token, organization)) ??
      toldApart(
        freshAnswerIn(validation, token, organization) ??
          (await httpClient(auth, { requestId, address })(validateToken, {
            token,
            organization,
            audience: 'api',
          })),
      )
    )
  }
  return deps.hosted ? validateHosted({ ...deps, ...deps.hosted, auth }, validate) : validate
}

function toldApart(valid: z.output<typeof ValidatedToken>): TokenValidation {
  if (isWorkload(valid) || isPerson(valid)) return valid
  throw new ServiceError('UNEXPECTED', undefined, { cause: 'the auth service names nobody' })
}

const notForAppTokens = () =>
  new ServiceError('UNAUTHENTICATED', 'A token of an app opens operations of that app only', {
    hint: 'Use an API token, or sign in.',
  })

/** Passes the trace context on to the next service. Within the process it is there already. */
export const withTrace = ({ tracing }: Pick<ValidateDeps, 'tracing'>, service: Service): Service =>
  Object.assign(
    (request: Request) => {
      tracing.inject(request.headers)
      return service(request)
    },
    { callInProcess: service.callInProcess },
  )

/**
 * With hosted auth the vendor does not know this installation's assertions, so the gateway validates them itself, and
 * trusts them for their 60 seconds: the MCP server of this installation validated the token a moment ago. Undefined when
 * this is not an assertion, or not ours to validate.
 */
async function validateAssertion(
  deps: ValidateDeps,
  token: string,
  requested: string | undefined,
): Promise<TokenValidation | undefined> {
  if (!deps.hosted || jwtType(token) !== ACTOR_ASSERTION_TYPE) return undefined
  const actor = await deps.hosted.assertions.verify(token, deps.clock())
  if (!actor?.known) throw new ServiceError('UNAUTHENTICATED')
  const { known } = actor
  // As in validateToken: any organization but the assertion's own does not exist.
  const isOwn = requested === undefined || requested === actor.orgId || requested === known.orgSlug
  return {
    valid: true,
    kind: 'actor',
    user: { id: actor.userId, email: known.email, name: known.name },
    organization: isOwn ? { id: actor.orgId, name: known.orgName, slug: known.orgSlug } : null,
    role: isOwn ? known.role : null,
    membership: isOwn ? known.membership : undefined,
    carries_app_roles: known.carriesAppRoles,
    scopes: [...actor.scopes],
    audiences: ['api'],
    expires_at: actor.expiresAt.toISOString(),
    token_id: actor.tokenId,
    client_id: actor.clientId,
    grant_id: actor.grantId,
  }
}
