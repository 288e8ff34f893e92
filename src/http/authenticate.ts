/** Turns a bearer token into a principal, by asking the auth service, and applies the operation's own rule. */
import { reportToolCall } from '../contracts/activity.ts'
import { notFound, ServiceError } from '../contracts/errors.ts'
import { BEARER_MAX } from '../contracts/limits.ts'
import { EVENT_STREAM } from '../contracts/media-types.ts'
import { isOpenTo, type Principal, type EntryPoint, type Operation } from '../contracts/operation.ts'
import { atLeast, orAbove, type Role } from '../contracts/roles.ts'
import { isWorkload, type WorkloadValidation } from '../contracts/tokens.ts'
import { removeOrganization, removeOrganizationAsOperator } from '../contracts/organizations.ts'
import { endWithReceipt } from '../contracts/receipts.ts'
import type { ValidatedAppToken } from '../cores/app-tokens/index.ts'
import type { TokenValidation } from '../cores/identity/index.ts'
import { sessionRequired } from '../cores/principal.ts'
import { isAppToken } from '../trust/app-token.ts'
import { sameSecret } from '../trust/keyed-hash.ts'
import { answerBelongsTo, answerIs, spareAnswer, untilMayAnswer, whoseOf } from '../trust/open-answers.ts'
import type { HttpContext } from './context.ts'

export type Validate = (presented: {
  token: string
  organization: string | undefined
  requestId: string
  address: string
  /** What the auth service of this process may just have answered; see src/trust/fresh-validations.ts. */
  validation?: object | undefined
}) => Promise<TokenValidation>

export type Authentication = {
  readonly validate: Validate
  /** Where operations on apps are done. Elsewhere an app token opens nothing. */
  readonly validateAppToken?: (token: string) => Promise<ValidatedAppToken>
  /** Undefined where the operations of the operator are closed. */
  readonly operatorToken: string | undefined
}

/** What a request shows of whoever makes it. */
export type Presented = {
  readonly token: string | undefined
  readonly organization: string | undefined
  readonly entryPoint: EntryPoint
  readonly address: string
  readonly requestId: string
  readonly validation?: object | undefined
  readonly signal?: AbortSignal | undefined
}

const presentedBy = (c: HttpContext): Presented => ({
  token: bearerOf(c),
  organization: requestedOrganization(c.req.param('org_id'), c.req.header('x-svc-org')),
  entryPoint: entryPointOf(c.req.header('x-svc-client')),
  address: c.get('address'),
  requestId: c.get('requestId'),
  signal: c.req.raw.signal,
})

const anonymousPrincipal = ({ entryPoint, address, requestId, signal }: Presented): Principal => ({
  kind: 'anonymous',
  userId: null,
  userName: 'anonymous',
  userEmail: null,
  orgId: null,
  organization: null,
  role: null,
  carriesAppRoles: false,
  scopes: null,
  audiences: [],
  sources: null,
  expiresAt: null,
  entryPoint,
  address,
  requestId,
  signal,
})

/** Whoever has shown SVC_OPERATOR_TOKEN. */
export const operatorPrincipal = (c: HttpContext): Principal => asOperator(presentedBy(c))

const asOperator = (presented: Presented): Principal => ({
  ...anonymousPrincipal(presented),
  kind: 'operator',
  userName: 'operator',
})

export const authenticate = (
  c: HttpContext,
  op: Operation,
  authentication: Authentication,
): Promise<Principal> =>
  authenticatePresented(presentedBy(c), op, authentication, (principal) => c.set('principal', principal))

/** `found` is told who calls before it is known whether they may. */
export async function authenticatePresented(
  presented: Presented,
  op: Operation,
  authentication: Authentication,
  found: (principal: Principal) => void,
): Promise<Principal> {
  if (ENDINGS.has(op.name)) spareAnswer()
  else if (op.recordsActivity) answerIs('questions')
  // Without its lease this process answers nobody.
  await untilMayAnswer()
  const principal = await identify(presented, op, authentication, (who) => {
    answerBelongsTo(whoseOf(who))
    found(who)
  })
  if (principal.kind === 'anonymous' || principal.kind === 'operator') answerBelongsTo([])
  return principal
}

/** Whoever ends their own access is told so. */
const ENDINGS: ReadonlySet<string> = new Set([
  endWithReceipt.name,
  removeOrganization.name,
  removeOrganizationAsOperator.name,
])

async function identify(
  presented: Presented,
  op: Operation,
  authentication: Authentication,
  found: (principal: Principal) => void,
): Promise<Principal> {
  const anonymous = anonymousPrincipal(presented)
  if (op.access === 'anyone') return anonymous
  const { token, organization: requested } = presented
  if (token === undefined) throw new ServiceError('UNAUTHENTICATED', 'A bearer token is required')
  if (token.length > BEARER_MAX) throw new ServiceError('UNAUTHENTICATED')
  if (
    op.access === 'operator' &&
    authentication.operatorToken !== undefined &&
    sameSecret(token, authentication.operatorToken)
  ) {
    return asOperator(presented)
  }
  if (authentication.validateAppToken && isAppToken(token)) {
    const principal = asAppToken(presented, await authentication.validateAppToken(token))
    found(principal)
    authorizeAppToken(principal, op, requested)
    return principal
  }
  const valid = await authentication.validate({
    token,
    organization: requested,
    requestId: anonymous.requestId,
    address: anonymous.address,
    validation: mayReuseValidation(op) ? presented.validation : undefined,
  })
  if (isWorkload(valid)) {
    const principal = asWorkload(presented, valid)
    found(principal)
    // The request names another organization than its own.
    if (valid.organization === null) throw notFound()
    authorizeAppToken(principal, op, undefined)
    return principal
  }
  const principal: Principal = {
    ...anonymous,
    kind: valid.kind,
    userId: valid.user.id,
    userName: valid.user.name,
    userEmail: valid.user.email,
    organization: valid.organization,
    orgId: valid.organization?.id ?? null,
    role: valid.role,
    carriesAppRoles: valid.carries_app_roles ?? carriedUnsaid(valid),
    scopes: valid.scopes,
    audiences: valid.audiences,
    expiresAt: valid.expires_at === null ? null : new Date(valid.expires_at),
    tokenId: valid.token_id,
    sessionId: valid.session_id,
    cliSessionId: valid.cli_session_id,
    sessionGeneration: valid.session_generation,
    clientId: valid.client_id,
    clientName: valid.client_name,
    grantId: valid.grant_id,
    machineAgent: valid.machine_agent && {
      id: valid.machine_agent.id,
      ownerId: valid.machine_agent.owner_id,
    },
    supportSessionId: valid.support_session_id,
    sources: valid.sources ?? null,
    entryPoint: valid.kind === 'actor' ? 'mcp' : anonymous.entryPoint,
    again: goesOn(op)
      ? () => authenticatePresented({ ...presented, validation: undefined }, op, authentication, () => {})
      : undefined,
  }
  found(principal)
  authorize(principal, op, requested !== undefined)
  bearers.set(principal, token)
  return principal
}

/** By an auth service that is older than the field: what no capped token has by its role alone. */
const carriedUnsaid = ({ kind, role }: TokenValidation): boolean =>
  kind === 'user' || (role !== null && atLeast(role, 'developer'))

/** Apart from the principals, so that no log line and no row can get one by accident. */
const bearers = new WeakMap<Principal, string>()

/** The token of whoever calls, for a call to another service in their name. */
export const bearerOfPrincipal = (principal: Principal): string | undefined => bearers.get(principal)

const asAppToken = (presented: Presented, { orgId, tokenId, name, app }: ValidatedAppToken): Principal => ({
  ...anonymousPrincipal(presented),
  kind: 'app_token',
  userName: `app token ${name}`,
  orgId,
  // None of a person: what it opens is in `app`.
  scopes: [],
  app,
  tokenId,
})

function asWorkload(presented: Presented, valid: WorkloadValidation): Principal {
  const { namespace, service_account: name, pod, app_id: id, binding_id: tokenId } = valid.workload
  return {
    ...anonymousPrincipal(presented),
    kind: 'workload',
    userName: `workload ${namespace}/${name}${pod === null ? '' : ` (${pod})`}`,
    orgId: valid.organization?.id ?? null,
    organization: valid.organization,
    scopes: [],
    audiences: valid.audiences,
    expiresAt: valid.expires_at === null ? null : new Date(valid.expires_at),
    app: { id, scope: 'apps:report' },
    tokenId,
  }
}

/** The verb then checks that it was called for the token's own app. */
function authorizeAppToken({ app, orgId }: Principal, op: Operation, requested: string | undefined): void {
  if (app === undefined || op.scope !== app.scope) throw scopeMissing(op)
  // Any organization but the token's own does not exist for it.
  if (requested !== undefined && requested !== orgId) throw notFound()
}

/** An event stream is answered for as long as it is open. */
export const goesOn = ({ http }: Operation): boolean => http.gives === EVENT_STREAM

/** Whatever changes something asks anew. A report only says what a call did that was validated already. */
const mayReuseValidation = (op: Operation): boolean => op.readOnly || op.name === reportToolCall.name

export const bearerOf = (c: HttpContext): string | undefined => bearerIn(c.req.header('authorization'))

export function bearerIn(header = ''): string | undefined {
  const [scheme, token, ...rest] = header.trim().split(/\s+/)
  return scheme?.toLowerCase() === 'bearer' && rest.length === 0 ? token : undefined
}

/** The organization in the path, else in the header; without either the one last chosen. */
export const requestedOrganization = (
  inPath: string | undefined,
  inHeader: string | undefined,
): string | undefined => inPath ?? (inHeader?.slice(0, 60) || undefined)

export const entryPointOf = (client: string | undefined): EntryPoint =>
  client === 'console' || client === 'cli' ? client : 'api'

function authorize(principal: Principal, op: Operation, namesOrganization: boolean): void {
  if (op.access === 'operator')
    throw new ServiceError('FORBIDDEN', 'Only the operator of this installation may do this')
  if (op.access === 'session' && principal.sessionId === undefined) throw sessionRequired(principal)
  if (op.closedToCliSessions === true && principal.kind === 'cli_session') throw closedToClient()
  if (!isOpenTo(principal.scopes, op)) throw scopeMissing(op)
  if (principal.supportSessionId !== undefined && op.closedToSupport === true) throw closedToSupport()
  if (op.access === 'person' || op.access === 'session' || op.access === 'anyone') return
  if (principal.role === null) {
    if (namesOrganization) throw notFound()
    throw new ServiceError('FORBIDDEN', 'You do not belong to an organization', {
      hint: 'Create one, or ask an owner to invite you.',
    })
  }
  if (!atLeast(principal.role, op.access))
    throw new ServiceError('FORBIDDEN', `This requires the role ${orAbove(op.access)}`)
  if (principal.supportSessionId !== undefined) refuseSupportSession(principal.role, op)
}

const scopeMissing = ({ scope }: Operation) =>
  new ServiceError('FORBIDDEN', 'The scopes of this token do not allow this', {
    hint: scope === null ? 'Use a token without scopes, or sign in.' : `It requires the scope ${scope}.`,
  })

const closedToClient = () =>
  new ServiceError('FORBIDDEN', 'A login of the client gets no secrets', {
    hint: 'Do it in the console, or with an API token: svc login --api-key -',
  })

const closedToSupport = () => new ServiceError('FORBIDDEN', 'Support sessions may not do this')

function refuseSupportSession(role: Role, op: Operation): void {
  if (op.closedToSupport === false || op.readOnly || atLeast(role, 'admin')) return
  throw new ServiceError('FORBIDDEN', 'A support session is read-only until it is elevated', {
    hint: 'Elevate the session with a reason; the owners can read it.',
  })
}
