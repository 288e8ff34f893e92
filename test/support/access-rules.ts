/** What an operation's declared access and scope promise each kind of credential. */
import type { ErrorCode } from '../../src/contracts/errors.ts'
import type { Operation } from '../../src/contracts/operation.ts'
import { atLeast, ROLES, type Role } from '../../src/contracts/roles.ts'
import type { AppScope, Scope } from '../../src/contracts/scopes.ts'

/** Let in and told about the input; see invalid-request.ts. */
export const OPEN = 'INVALID_REQUEST'
export type Rule = (op: Operation) => ErrorCode

const isRole = (access: Operation['access']): access is Role => (ROLES as readonly string[]).includes(access)

/** The rules for operations that are not open to anyone. */
export const nobody: Rule = () => 'UNAUTHENTICATED'
export const operatorOnly: Rule = (op) => (op.access === 'operator' ? OPEN : 'UNAUTHENTICATED')
export const member: Rule = (op) => (op.access === 'operator' ? 'FORBIDDEN' : OPEN)
export const apiToken: Rule = (op) => (op.access === 'session' ? 'FORBIDDEN' : member(op))
/** As its person, but for what is theirs alone and for secrets. */
export const cliSession: Rule = (op) => (op.closedToCliSessions === true ? 'FORBIDDEN' : apiToken(op))
export const withScope =
  (scope: Scope): Rule =>
  (op) =>
    op.scope === 'any' || op.scope === scope ? apiToken(op) : 'FORBIDDEN'
/** Of an app: what the deploy-api does for this scope, and nothing anywhere else. */
export const appToken =
  (scope: AppScope): Rule =>
  (op) => {
    if (op.service !== 'deploy-api') return 'UNAUTHENTICATED'
    return op.scope === scope ? OPEN : 'FORBIDDEN'
  }
export const withRole =
  (role: Role): Rule =>
  (op) =>
    isRole(op.access) && !atLeast(role, op.access) ? 'FORBIDDEN' : member(op)
/** What belongs to an organization is hidden from whoever does not. */
export const outside =
  (otherwise: Rule, personal: Rule = member): Rule =>
  (op) => {
    if (!isRole(op.access)) return personal(op)
    return op.http.path.includes('{org_id}') ? 'NOT_FOUND' : otherwise(op)
  }

/** With the operations that are open to anyone. */
export const expectedCode = (op: Operation, rule: Rule): ErrorCode =>
  op.access === 'anyone' ? OPEN : rule(op)
