/**
 * Every kind of credential: how it looks, who validates it, what ends it, and how long an answer about it may be
 * remembered. Closed: whoever validates or ends one, the page about rotation and the tests read this table.
 *
 * What one may ever do is stored when it is made, in its row or under its signature (decisions, 16).
 */

/** The secrets that an operator rotates. */
export const ROTATED_SECRETS = [
  'JWT_SECRET',
  'JWT_SIGNING_KEY',
  'ACTOR_ASSERTION_SECRET',
  'DATA_KEY',
  'AGENT_RUNNER_SECRET',
  'SVC_OPERATOR_TOKEN',
] as const
export type RotatedSecret = (typeof ROTATED_SECRETS)[number]

/** What ends several credentials at once, in the transaction of the event: `endByCause`. */
export const ENDING_CAUSES = {
  membership_ended: 'whoever made it leaves or is removed',
  role_lowered: 'whoever made it is lowered',
  password_set: 'its person has a new password',
  password_reset: 'its person resets the password, if they choose so',
  tokens_ended: 'its person changes the password, if they choose so',
  signed_out: 'its person signs out everywhere',
  made_since: 'access since a time is ended',
} as const
export type EndingCause = keyof typeof ENDING_CAUSES

type Kind = {
  /** As people read it. */
  readonly name: string
  /** `prefix`: its value begins so. `type`: the type in the header of a JWT. Neither: random, known by where it is shown. */
  readonly prefix?: string
  readonly type?: string
  readonly validatedBy: 'auth-service' | 'api-gateway' | 'deploy-api'
  /** Rotating any of these ends it. */
  readonly secrets: readonly RotatedSecret[]
  readonly causes: readonly EndingCause[]
  /** What else does, in words. */
  readonly also: string
  /** 0: it is read anew on every call. */
  readonly rememberedSeconds: number
}

const JWT_SECRETS = ['JWT_SECRET', 'JWT_SIGNING_KEY'] as const

export const CREDENTIAL_KINDS = {
  session: {
    name: 'Session',
    type: 'svc-user+jwt',
    validatedBy: 'auth-service',
    secrets: JWT_SECRETS,
    causes: ['password_set', 'signed_out', 'made_since'],
    also: 'signing out, reuse of an old token, 30 days',
    rememberedSeconds: 1,
  },
  cli_session: {
    name: 'Login of the client',
    type: 'svc-cli+jwt',
    validatedBy: 'auth-service',
    secrets: JWT_SECRETS,
    causes: ['membership_ended', 'password_set', 'signed_out', 'made_since'],
    also: '`svc logout`, signing it out in the console, reuse of an old refresh token, 90 days',
    rememberedSeconds: 1,
  },
  cli_login: {
    name: 'Code of a login of the client',
    validatedBy: 'auth-service',
    secrets: JWT_SECRETS,
    causes: [],
    also: 'use, the end of the login that was approved with it, 10 minutes',
    rememberedSeconds: 0,
  },
  browser_session: {
    name: 'Cookie of the sign-in pages',
    validatedBy: 'auth-service',
    secrets: JWT_SECRETS,
    causes: [],
    also: 'the end of its session',
    rememberedSeconds: 0,
  },
  sign_in_code: {
    name: 'Sign-in code',
    validatedBy: 'auth-service',
    secrets: JWT_SECRETS,
    causes: [],
    also: 'use, 60 seconds',
    rememberedSeconds: 0,
  },
  mailed_link: {
    name: 'Mailed link',
    validatedBy: 'auth-service',
    secrets: JWT_SECRETS,
    causes: [],
    also: 'use, a new password, an hour',
    rememberedSeconds: 0,
  },
  invitation: {
    name: 'Invitation link',
    validatedBy: 'auth-service',
    secrets: JWT_SECRETS,
    causes: ['membership_ended', 'role_lowered', 'made_since'],
    also: 'use, revoking it or the API token that made it, 7 days, admins no longer inviting',
    rememberedSeconds: 0,
  },
  api_token: {
    name: 'API token',
    prefix: 'svc_',
    validatedBy: 'auth-service',
    secrets: JWT_SECRETS,
    causes: ['membership_ended', 'password_reset', 'tokens_ended', 'made_since'],
    also: 'revoking it or the API token that made it, its expiry, a rotation after the chosen time; for the MCP endpoints also agents turned off',
    rememberedSeconds: 1,
  },
  grant: {
    name: 'Grant of an agent, with its access and refresh tokens',
    type: 'at+jwt',
    validatedBy: 'auth-service',
    secrets: JWT_SECRETS,
    causes: ['membership_ended', 'password_reset', 'made_since'],
    also: 'revoking it, its expiry, agents turned off, a blocked or removed client, the identity provider that it came by',
    rememberedSeconds: 1,
  },
  machine_credential: {
    name: 'Secret or key of a machine agent, and its tokens',
    prefix: 'svcm_',
    validatedBy: 'auth-service',
    secrets: JWT_SECRETS,
    causes: ['membership_ended', 'role_lowered', 'made_since'],
    also: 'revoking it or the API token that made it, its expiry, a rotation after the chosen time, removing the agent, its owner leaving, agents turned off',
    rememberedSeconds: 0,
  },
  app_token: {
    name: 'Token of an app',
    prefix: 'svca_',
    validatedBy: 'deploy-api',
    secrets: JWT_SECRETS,
    causes: ['made_since'],
    also: 'revoking it, a rotation after the chosen time; with hosted auth `svc-server end-app-tokens`, and not ending access since a time',
    rememberedSeconds: 0,
  },
  scim_bearer: {
    name: 'SCIM bearer of an organization',
    prefix: 'svcs_',
    validatedBy: 'auth-service',
    secrets: JWT_SECRETS,
    causes: ['made_since'],
    also: 'removing SCIM, a rotation after the chosen time; not its owner leaving, since the directory goes on',
    rememberedSeconds: 0,
  },
  assertion: {
    name: 'Assertion of the MCP server',
    type: 'svc-actor+jwt',
    validatedBy: 'auth-service',
    secrets: [...JWT_SECRETS, 'ACTOR_ASSERTION_SECRET'],
    causes: [],
    also: 'the end of the token or grant behind it, 60 seconds',
    rememberedSeconds: 1,
  },
  operator_token: {
    name: 'Token of the operator',
    validatedBy: 'auth-service',
    secrets: ['SVC_OPERATOR_TOKEN'],
    causes: [],
    also: '',
    rememberedSeconds: 0,
  },
  run_token: {
    name: 'Identity of a maintenance run',
    type: 'svc-run+jwt',
    validatedBy: 'deploy-api',
    secrets: ['DATA_KEY'],
    causes: [],
    also: 'the end of the run, its lease of minutes',
    rememberedSeconds: 0,
  },
  agent_runner_token: {
    name: 'Token between agent-runner and deploy-api',
    type: 'svc-agent-runner+jwt',
    validatedBy: 'deploy-api',
    // Of DATA_KEY where AGENT_RUNNER_SECRET is not set.
    secrets: ['AGENT_RUNNER_SECRET'],
    causes: [],
    also: '60 seconds',
    rememberedSeconds: 0,
  },
  unsubscribe_link: {
    name: 'Unsubscribe link',
    validatedBy: 'api-gateway',
    secrets: ['DATA_KEY'],
    causes: [],
    also: 'nothing: it only ever turns off a mail',
    rememberedSeconds: 0,
  },
  workload: {
    name: 'Service-account token',
    validatedBy: 'auth-service',
    secrets: [],
    causes: ['made_since'],
    also: 'removing its binding; the cluster signs and ends it',
    rememberedSeconds: 30,
  },
} as const satisfies Record<string, Kind>

export type CredentialKind = keyof typeof CREDENTIAL_KINDS

/** The kinds that a cause ends. */
export type EndedBy<Cause extends EndingCause> = {
  [Name in CredentialKind]: Cause extends (typeof CREDENTIAL_KINDS)[Name]['causes'][number] ? Name : never
}[CredentialKind]
