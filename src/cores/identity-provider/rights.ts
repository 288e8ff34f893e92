/**
 * What a person gets by an assertion: what rules, role, client and assertion have in common. A pure function, so that the
 * preview shows what the exchange does.
 */
import { OPERATIONS } from '../../contracts/operations.ts'
import { atLeast, type Role } from '../../contracts/roles.ts'
import {
  RESOURCE_SCOPES,
  SCOPE_NAMES,
  SENSITIVE_SCOPES,
  type Resource,
  type Scope,
} from '../../contracts/scopes.ts'

export type Rule = {
  /** Null: everybody. */
  readonly claim: string | null
  readonly value: string | null
  readonly scopes: readonly Scope[]
  /** Ids of data sources; null: all that the person may query. */
  readonly sources: readonly string[] | null
}

export type Policy = {
  /** In their order: the first that matches decides. */
  readonly rules: readonly Rule[]
  readonly defaultScopes: readonly Scope[]
  /** The maximum of the client. */
  readonly maxScopes: readonly Scope[]
}

export type Asked = {
  readonly role: Role
  readonly resource: Resource
  readonly claims: Readonly<Record<string, unknown>>
  /** The claim of the assertion; undefined: it has none. */
  readonly claimed: readonly string[] | undefined
  /** The parameter of the request; undefined: all of the claim. */
  readonly requested: readonly string[] | undefined
}

export type Rights = {
  /** Empty: they are refused. */
  readonly scopes: readonly Scope[]
  readonly sources: readonly string[] | null
  /** The position of the rule that decided; null: none matched. */
  readonly rule: number | null
}

export function rightsOf({ rules, defaultScopes, maxScopes }: Policy, asked: Asked): Rights {
  const at = rules.findIndex((rule) => matches(rule, asked.claims))
  const rule = rules[at]
  // Also without any rules: removing the last one opens nothing.
  const allowed = rule?.scopes ?? defaultScopes
  const usual = allowed.filter((scope) => !isSensitive(scope))
  const claimed: readonly string[] = asked.claimed ?? usual
  const scopes = (RESOURCE_SCOPES[asked.resource] as readonly Scope[])
    .filter((scope) => claimed.includes(scope))
    .filter((scope) => asked.requested?.includes(scope) ?? true)
    .filter((scope) => allowed.includes(scope) && maxScopes.includes(scope))
    // Only a rule that names them gives them, and only where the assertion does too.
    .filter((scope) => !isSensitive(scope) || rule !== undefined)
    .filter((scope) => atLeast(asked.role, MINIMUM_ROLES[scope]))
  return { scopes, sources: rule?.sources ?? null, rule: rule ? at : null }
}

const isSensitive = (scope: Scope): boolean => (SENSITIVE_SCOPES as readonly Scope[]).includes(scope)

/** A claim is one text or a list of them; nothing else is compared. */
function matches({ claim, value }: Rule, claims: Asked['claims']): boolean {
  if (claim === null) return true
  const given = Object.hasOwn(claims, claim) ? claims[claim] : undefined
  return Array.isArray(given) ? given.includes(value) : given === value && value !== null
}

/** The lowest role that can do anything with a scope. */
const MINIMUM_ROLES = Object.fromEntries(
  SCOPE_NAMES.map((scope) => {
    const roles = Object.values(OPERATIONS)
      .filter((operation) => operation.scope === scope)
      .map(({ access }) => access as Role)
    return [scope, roles.toSorted((a, b) => (atLeast(a, b) ? 1 : -1))[0] ?? 'viewer']
  }),
) as Record<Scope, Role>
