/** An operation: HTTP route, OpenAPI, MCP tool and client command are derived from it. */
import type * as z from 'zod'
import type { CommandOf } from './command.ts'
import type { ErrorCode } from './errors.ts'
import type { Role } from './roles.ts'
import type { AppScope, Audience, Scope } from './scopes.ts'

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'

/**
 * Who may call at all, before any rule of the verb itself:
 * `anyone` without a token; `person` whoever is signed in, member of an organization or not; `session`: it concerns a person
 * and not an organization (founding, joining, sessions, profile, password), so only their signed-in session may, and nothing
 * that belongs to one organization: an API token that was found somewhere must not lock its person out or lead elsewhere;
 * a role: a member of the organization the call names, at or above it; `operator`: SVC_OPERATOR_TOKEN.
 */
export type Access = 'anyone' | 'person' | 'session' | Role | 'operator'

/**
 * Where its changes are before it is answered, if the operator's cluster has a standby that commits wait for. `standby`: there,
 * too, so that no failover loses them. `local`: on the server alone, so that a standby that hangs does not stop it.
 */
export const DURABILITIES = ['standby', 'local'] as const
export type Durability = (typeof DURABILITIES)[number]

/** The services that do operations. */
export type OperationService = 'auth-service' | 'api-gateway' | 'deploy-api'

/** One, or the first of several for a client that names none. */
export type MediaTypes = string | readonly [string, ...string[]]

type Declaration<
  I extends z.ZodObject,
  O extends z.ZodObject,
  Name extends string,
  Service extends OperationService,
> = {
  /** The name of the constant that holds it, of the verb that does it, and of that verb's file. */
  readonly name: Name
  readonly summary: string
  /** Which service does it; the gateway relays what belongs to the others. */
  readonly service: Service
  readonly input: I
  readonly output: O
  readonly access: Access
  /** The scope that opens it to scoped tokens and assertions; `any` opens it to all of them, left out it is closed. */
  readonly scope?: Scope | AppScope | 'any'
  /** Left out: `standby`, or `local` for what only reads, and counts that somebody did. An ending is never `local`. */
  readonly durability?: Durability
  /**
   * What it reads may come from a standby that is some seconds behind; its answer then says how old it is. Who may read it is
   * never read there.
   */
  readonly mayBeOld?: boolean
  /** Takes `Idempotency-Key`: a repeated key replays the first answer. Never where the answer holds a secret. */
  readonly takesIdempotencyKey?: boolean
  /** Its core writes a row of activity for every call, refused ones too. */
  readonly recordsActivity?: boolean
  /**
   * True: closed to support sessions at whatever level, because it would outlast them or open more than they may.
   * False: open to them from the start. Left out: reads are open, writes once the session was elevated.
   */
  readonly closedToSupport?: boolean
  /**
   * Closed to logins of the client: it answers with a secret, or lets in a key or a provider of somebody's choice. A code that
   * somebody was talked into approving must not become a way in that outlives it.
   */
  readonly closedToCliSessions?: boolean
  /** Beyond those that every call with its access can answer. */
  readonly errors?: readonly ErrorCode[]
  /** On the command line; several where people know what it does by several names. */
  readonly command?: CommandOf<I> | readonly CommandOf<I>[]
  readonly http: {
    readonly method: Method
    /** `/v1/…`: where a standard names the path, as OTLP does. */
    readonly path: `/api/${string}` | `/v1/${string}` | `/.well-known/svc-${string}`
    readonly success?: 200 | 201 | 204
    /** The format of the answer when the client names none; JSON unless the contract says otherwise. */
    readonly answers?: 'json' | 'yaml'
    /** Of a JSON body that may be larger than BODY_MAX_BYTES. */
    readonly maxBytes?: number
    /**
     * The body is not JSON: it is handed on as bytes, in the input's `body`, inflated if it came as gzip. Of several types
     * the input's `content_type` says which one came. What else the input has is in the path and the query.
     */
    readonly takes?: { readonly type: MediaTypes; readonly maxBytes: number }
    /** Fields of the input that come as headers, and in no other way: what signs a call of somebody else's. */
    readonly headers?: Readonly<Record<string, string>>
    /** The answer is not JSON: the output's `body`, of this type; of several the one that its `content_type` names. */
    readonly gives?: MediaTypes
    /** What a browser saves the answer as; names in braces are those of the path. */
    readonly filename?: string
  }
}

type Effect = { readonly readOnly: boolean; readonly destructive: boolean; readonly idempotent: boolean }

export type Operation<
  I extends z.ZodObject = z.ZodObject,
  O extends z.ZodObject = z.ZodObject,
  Name extends string = string,
  Service extends OperationService = OperationService,
> = Omit<Declaration<I, O, Name, Service>, 'scope' | 'errors' | 'durability'> &
  Effect & {
    readonly scope: Scope | AppScope | 'any' | null
    readonly errors: readonly ErrorCode[]
    readonly durability: Durability
  }

const withEffect =
  (effect: Effect) =>
  <
    I extends z.ZodObject,
    O extends z.ZodObject,
    const Name extends string,
    const Service extends OperationService,
  >(
    declared: Declaration<I, O, Name, Service>,
  ): Operation<I, O, Name, Service> => ({
    ...declared,
    ...effect,
    scope: declared.scope ?? null,
    durability: declared.durability ?? (effect.readOnly ? 'local' : 'standby'),
    errors: [
      'INVALID_REQUEST',
      ...(declared.access === 'anyone' ? [] : (['UNAUTHENTICATED', 'FORBIDDEN'] as const)),
      ...(['get', 'delete'].includes(declared.http.method) ? [] : (['TOO_LARGE'] as const)),
      ...(declared.errors ?? []),
    ],
  })

/** Changes nothing. */
export const reading = withEffect({ readOnly: true, destructive: false, idempotent: true })
/** Not idempotent: creates something, sends a message, uses a code. */
export const creating = withEffect({ readOnly: false, destructive: false, idempotent: false })
/** Idempotent. */
export const updating = withEffect({ readOnly: false, destructive: false, idempotent: true })
/** Destructive, and idempotent. */
export const removing = withEffect({ readOnly: false, destructive: true, idempotent: true })

/** The entry point that a call came in by; the activity trail shows it. */
export type EntryPoint = 'console' | 'cli' | 'api' | 'mcp'

/** Who calls, as validated for this call. */
export type Principal = {
  readonly kind:
    | 'user'
    | 'cli_session'
    | 'api_token'
    | 'app_token'
    | 'scim_bearer'
    | 'workload'
    | 'actor'
    | 'operator'
    | 'anonymous'
  readonly userId: string | null
  /** As the audit trail names them. */
  readonly userName: string
  readonly userEmail: string | null
  /** The organization of this call; null for people without one. */
  readonly orgId: string | null
  readonly organization: { readonly id: string; readonly name: string; readonly slug: string } | null
  readonly role: Role | null
  /** Whether the roles that the person has on apps count for this credential. */
  readonly carriesAppRoles: boolean
  /** null: not limited by scopes. */
  readonly scopes: readonly Scope[] | null
  /** Of an app token or a workload: it opens the operations of its scope on this app, and nothing else. */
  readonly app?: { readonly id: string; readonly scope: AppScope } | undefined
  readonly audiences: readonly Audience[]
  readonly expiresAt: Date | null
  readonly tokenId?: string | undefined
  readonly sessionId?: string | undefined
  /** Of a login of the client, which never counts as a session. */
  readonly cliSessionId?: string | undefined
  /** Which token of the session this is; only the auth service knows. */
  readonly sessionGeneration?: number | undefined
  readonly clientId?: string | undefined
  /** Chosen by the client, unverified. */
  readonly clientName?: string | undefined
  readonly grantId?: string | undefined
  /** Every audit row written during a support session carries it. */
  readonly supportSessionId?: string | undefined
  /** Of a machine agent: which one, and the member who answers for what it does. */
  readonly machineAgent?: { readonly id: string; readonly ownerId: string } | undefined
  /** The data sources an agent's grant was given for; null: every one its person may ask. */
  readonly sources: readonly string[] | null
  readonly entryPoint: EntryPoint
  /** Network address as TRUSTED_PROXIES lets us see it; throttles count by it. */
  readonly address: string
  readonly requestId: string
  /** Aborted when whoever calls does not wait for the answer any more: calls that wait themselves end with it. */
  readonly signal?: AbortSignal | undefined
  /** The same as validated at this moment, of a call whose answer goes on: throws once they may not call it any more. */
  readonly again?: (() => Promise<Principal>) | undefined
}

/** Whether a credential with these scopes opens it; null: one that scopes do not limit. */
export const isOpenTo = (scopes: readonly string[] | null, { scope }: Pick<Operation, 'scope'>): boolean =>
  scopes === null || scope === 'any' || (scope !== null && scopes.includes(scope))
