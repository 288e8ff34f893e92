/** Any bearer becomes a Caller, by asking whichever auth service is in charge; then the operation's own rule is applied. */
import type * as z from 'zod'
import { notFound, ServiceError } from '../contracts/errors.ts'
import { BEARER_MAX } from '../contracts/limits.ts'
import type { Caller, Door, Operation } from '../contracts/operation.ts'
import { atLeast, type Role } from '../contracts/roles.ts'
import type { ValidatedToken } from '../contracts/tokens.ts'
import { sameSecret } from '../trust/keyed-hash.ts'
import type { HttpContext } from './context.ts'

/** The wire form of a validated token; the auth service, which asks itself, also knows the session's generation. */
export type ValidAnswer = z.output<typeof ValidatedToken> & { session_generation?: number | undefined }

export type Validate = (presented: {
  token: string
  organization: string | undefined
  requestId: string
  address: string
}) => Promise<ValidAnswer>

export type Authentication = {
  readonly validate: Validate
  /** Undefined where nobody is the operator. */
  readonly operatorToken: string | undefined
}

export async function authenticate(c: HttpContext, op: Operation, by: Authentication): Promise<Caller> {
  const nobody: Caller = {
    kind: 'anonymous',
    userId: null,
    userName: 'nobody',
    userEmail: null,
    orgId: null,
    organization: null,
    role: null,
    scopes: null,
    audiences: [],
    sources: null,
    expiresAt: null,
    door: doorOf(c),
    address: c.get('address'),
    requestId: c.get('requestId'),
  }
  if (op.who === 'anyone') return nobody
  const token = bearerOf(c)
  if (token === undefined) throw new ServiceError('UNAUTHENTICATED', 'A bearer token is needed')
  if (token.length > BEARER_MAX) throw new ServiceError('UNAUTHENTICATED')
  if (op.who === 'operator' && by.operatorToken !== undefined && sameSecret(token, by.operatorToken)) {
    return { ...nobody, kind: 'operator', userName: 'operator' }
  }
  const meant = organizationMeant(c)
  const valid = await by.validate({
    token,
    organization: meant,
    requestId: nobody.requestId,
    address: nobody.address,
  })
  const caller: Caller = {
    ...nobody,
    kind: valid.kind,
    userId: valid.user.id,
    userName: valid.user.name,
    userEmail: valid.user.email,
    organization: valid.organization,
    orgId: valid.organization?.id ?? null,
    role: valid.role,
    scopes: valid.scopes,
    audiences: valid.audiences,
    expiresAt: valid.expires_at === null ? null : new Date(valid.expires_at),
    tokenId: valid.token_id,
    sessionId: valid.session_id,
    sessionGeneration: valid.session_generation,
    clientId: valid.client_id,
    grantId: valid.grant_id,
    supportSessionId: valid.support_session_id,
    sources: valid.sources ?? null,
    door: valid.kind === 'actor' ? 'mcp' : nobody.door,
  }
  c.set('caller', caller)
  authorize(caller, op, meant !== undefined)
  return caller
}

export function bearerOf(c: HttpContext): string | undefined {
  const [scheme, token, ...rest] = (c.req.header('authorization') ?? '').trim().split(/\s+/)
  return scheme?.toLowerCase() === 'bearer' && rest.length === 0 ? token : undefined
}

/** The organization in the path is the one meant; otherwise the header; otherwise the one last chosen. */
const organizationMeant = (c: HttpContext): string | undefined =>
  c.req.param('org_id') ?? (c.req.header('x-svc-org')?.slice(0, 60) || undefined)

function doorOf(c: HttpContext): Door {
  const client = c.req.header('x-svc-client')
  return client === 'console' || client === 'cli' ? client : 'api'
}

function authorize(caller: Caller, op: Operation, namedOrganization: boolean): void {
  if (op.who === 'operator')
    throw new ServiceError('FORBIDDEN', 'Only the operator of this installation may do this')
  if (caller.scopes !== null && !opens(caller.scopes, op)) {
    throw new ServiceError('FORBIDDEN', 'The scopes of this token do not allow this', {
      hint: op.scope === null ? 'Use a token without scopes, or sign in.' : `It needs the scope ${op.scope}.`,
    })
  }
  if (op.who === 'person' || op.who === 'anyone') return
  if (caller.role === null) {
    if (namedOrganization) throw notFound()
    throw new ServiceError('FORBIDDEN', 'You do not belong to an organization', {
      hint: 'Create one, or ask an owner to invite you.',
    })
  }
  if (!atLeast(caller.role, op.who))
    throw new ServiceError('FORBIDDEN', `This needs the role ${op.who} or above`)
  if (caller.supportSessionId !== undefined) refuseVisitor(caller.role, op)
}

function refuseVisitor(role: Role, op: Operation): void {
  if (op.closedToSupport === true)
    throw new ServiceError('FORBIDDEN', 'This is closed to visits of support staff')
  if (op.closedToSupport === false || op.readOnly || atLeast(role, 'admin')) return
  throw new ServiceError('FORBIDDEN', 'A visit of support staff reads until it is raised to admin', {
    hint: 'Raise the visit, with a reason that the owners read.',
  })
}

const opens = (scopes: readonly string[], op: Operation): boolean =>
  op.scope === 'any' || (op.scope !== null && scopes.includes(op.scope))
