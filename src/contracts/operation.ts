/** The shape of "a thing a caller may do": HTTP route, OpenAPI, and later MCP tool and client command are read off it. */
import type * as z from 'zod'
import type { ErrorCode } from './errors.ts'
import type { Role } from './roles.ts'
import type { Audience, Scope } from './scopes.ts'

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'

/**
 * Who may call at all, before any rule of the verb itself:
 * `anyone` without a token; `person` whoever is signed in, member of an organization or not;
 * a role: a member of the organization the call names, at or above it; `operator`: SVC_OPERATOR_TOKEN.
 */
export type Who = 'anyone' | 'person' | Role | 'operator'

export type Operation<I extends z.ZodObject = z.ZodObject, O extends z.ZodObject = z.ZodObject> = {
  readonly name: string
  readonly summary: string
  /** Which service does it; the gateway relays what belongs to the others. */
  readonly service: 'auth-service' | 'api-gateway' | 'deploy-api'
  readonly input: I
  readonly output: O
  readonly who: Who
  /** The scope that opens it to scoped tokens and assertions; `any` opens it to all of them, `null` closes it. */
  readonly scope: Scope | 'any' | null
  readonly readOnly: boolean
  readonly destructive: boolean
  readonly idempotent: boolean
  /** Takes `Idempotency-Key`: a repeated key replays the first answer. Never where the answer holds a secret. */
  readonly takesIdempotencyKey?: boolean
  /**
   * True: closed to visits of support staff at whatever level, because it would outlast the visit or open more than it.
   * False: open to them from the start. Left out: what only reads is open, what writes once the visit was raised.
   */
  readonly closedToSupport?: boolean
  readonly errors: readonly ErrorCode[]
  readonly http: {
    readonly method: Method
    readonly path: `/api/${string}`
    readonly success?: 200 | 201 | 204
    /** What the answer is written in when the caller does not say; JSON unless the contract wants otherwise. */
    readonly answers?: 'json' | 'yaml'
  }
}

export const operation = <I extends z.ZodObject, O extends z.ZodObject>(
  o: Operation<I, O>,
): Operation<I, O> => o

/** The door a caller came through; the activity trail shows it. */
export type Door = 'console' | 'cli' | 'api' | 'mcp'

/** Somebody whose token was validated a moment ago. */
export type Caller = {
  readonly kind: 'user' | 'api_token' | 'actor' | 'operator' | 'anonymous'
  readonly userId: string | null
  /** As the audit trail names them. */
  readonly userName: string
  readonly userEmail: string | null
  /** The organization of this call; null for people without one. */
  readonly orgId: string | null
  readonly organization: { readonly id: string; readonly name: string; readonly slug: string } | null
  readonly role: Role | null
  /** null: not limited by scopes. */
  readonly scopes: readonly Scope[] | null
  readonly audiences: readonly Audience[]
  readonly expiresAt: Date | null
  readonly tokenId?: string | undefined
  readonly sessionId?: string | undefined
  /** Which token of the session this is; only the auth service knows. */
  readonly sessionGeneration?: number | undefined
  readonly clientId?: string | undefined
  readonly grantId?: string | undefined
  /** A visit of support staff; every audit row they leave carries it. */
  readonly supportSessionId?: string | undefined
  /** The data sources an agent's grant was given for; null: every one its person may ask. */
  readonly sources: readonly string[] | null
  readonly door: Door
  /** Network address as TRUSTED_PROXIES lets us see it; throttles count by it. */
  readonly address: string
  readonly requestId: string
}

export type Handler<Op> =
  Op extends Operation<infer I, infer O> ? (caller: Caller, input: z.output<I>) => Promise<z.input<O>> : never
