/** The settings of the server: read once from the environment and validated together; all problems are reported at once. */
import { createPrivateKey } from 'node:crypto'
import { isIP } from 'node:net'
import * as z from 'zod'
import { readAttachRules } from '../contracts/attach-rules.ts'
import { editDistance } from '../contracts/edit-distance.ts'
import { EmbeddingModelsSetting } from '../contracts/embedding-settings.ts'
import { DisplayName } from '../contracts/fields.ts'
import { idPattern } from '../contracts/ids.ts'
import { PASSWORD_MAX, PASSWORD_MIN } from '../contracts/limits.ts'
import { MaintenanceModelsSetting } from '../contracts/model-settings.ts'
import { LOG_LEVELS } from '../observe/log.ts'

/** In the order in which the listener tries them for a path. */
export const SERVICE_NAMES = [
  'api-gateway',
  'auth-service',
  'deploy-api',
  'console',
  'site',
  // After the site: MCP clients probe well-known paths, and the site serves skills under one of them.
  'mcp-server',
  'worker',
  'agent-runner',
] as const
export type ServiceName = (typeof SERVICE_NAMES)[number]

type Setting = {
  readonly schema: z.ZodType<unknown, string | undefined>
  readonly description: string
  /** As it is documented; without it, that of the schema if it is a word or a number. */
  readonly default?: string | undefined
  /** Https, or on loopback. */
  readonly isPublic?: true
  /** Operation paths are appended; a path here would be dropped silently. */
  readonly isOrigin?: true
  /** An empty value is a value, and not an absence. */
  readonly keepsEmpty?: true
}

const hexSecret = z
  .string()
  .regex(
    /^[0-9a-f]{64}$/i,
    'must be 32 random bytes as 64 hexadecimal digits, e.g. from `openssl rand -hex 32`',
  )
  .optional()
const address = z
  .url({ protocol: /^https?$/, error: 'must be an http or https address' })
  .transform((text) => new URL(text))
/** What a schema takes and does not show, for the schema of the chart: a range of whole numbers, or some words. */
export const ACCEPTED = new WeakMap<
  object,
  { readonly min: number; readonly max: number } | { readonly words: readonly string[] }
>()
function accepting<Schema extends object>(
  accepted: NonNullable<ReturnType<typeof ACCEPTED.get>>,
  schema: Schema,
): Schema {
  ACCEPTED.set(schema, accepted)
  return schema
}
/** Digits only: `Number` also reads a blank as 0 and accepts 0x10 and 1e3. */
const whole = (min: number, max: number) =>
  accepting(
    { min, max },
    z
      .string()
      .refine((digits) => /^\d{1,9}$/.test(digits) && Number(digits) >= min && Number(digits) <= max, {
        error: `must be a whole number from ${min} to ${max}`,
      })
      .transform(Number),
  )
const port = whole(0, 65_535)
/** An address or a name: what `listen` says of anything else is about DNS. */
const host = z
  .string()
  .refine((given) => isIP(given) !== 0 || /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(given), {
    error: 'must be an address or a host name, without scheme and port',
  })
const FLAG = { truthy: ['true', '1', 'on', 'yes'], falsy: ['false', '0', 'off', 'no'] }
const flag = accepting(
  { words: [...FLAG.truthy, ...FLAG.falsy] },
  z.stringbool({ ...FLAG, error: 'must be on or off' }),
)
const text = z.string().min(1)
const oneOf = <const Words extends readonly [string, ...string[]]>(words: Words) =>
  z.enum(words, `must be ${words.slice(0, -1).join(', ')} or ${words.at(-1)}`)
const oneServer = z
  .string()
  .refine((url) => !/^postgres(ql)?:\/\/[^/]*,/.test(url), {
    error: 'names several hosts. Name one: that of a proxy in front of them, see docs/operating.md#standbys',
    abort: true,
  })
  .pipe(z.url({ protocol: /^postgres(ql)?$/, error: 'must start with postgres://' }))
const list = <Item extends string>(item: z.ZodType<Item, string>) =>
  z
    .string()
    .transform((all) =>
      all
        .split(',')
        .map((part) => part.trim())
        .filter(Boolean),
    )
    .pipe(z.array(item))

/** As OpenTelemetry writes them: `name=value`, the values percent-encoded. */
const headers = z
  .string()
  .refine((given) => readHeaders(given) !== undefined, {
    error: 'must be headers such as authorization=Bearer%20token, separated by commas',
  })
  .transform((given) => readHeaders(given)!)

function readHeaders(given: string): Record<string, string> | undefined {
  const pairs = given.split(',').map((pair) => /^\s*([\w-]+)\s*=\s*([\x21-\x7e]+)\s*$/.exec(pair))
  try {
    const read = pairs.map((pair) => [pair![1]!, decodeURIComponent(pair![2]!)] as const)
    // Refuses what no request may carry.
    return Object.fromEntries(new Headers(read.map(([name, value]) => [name, value])))
  } catch {
    return undefined
  }
}

/** Nobody should admit everybody by leaving it out. */
const WHICH_TENANT = 'Name your tenant by its UUID; `common` admits everybody who has a Microsoft account'

/** Ranges that let everybody in: hardly ever meant, so they have a word of their own. */
const EVERYWHERE = ['0.0.0.0/0', '::/0']
const COVERS_EVERYTHING = 'covers every address. If that is intended, write `any`'
const isEverywhere = (range: string): boolean => /^[^/]+\/0+$/.test(range)
const spelledOut = (range: string): readonly string[] => (range === 'any' ? EVERYWHERE : [range])

const nets = list(
  z
    .string()
    .refine((range) => range === 'any' || isCidr(range), {
      error: 'must be an address or a range such as 10.0.0.0/8',
    })
    .refine((range) => !isEverywhere(range), { error: COVERS_EVERYTHING }),
).transform((ranges) => ranges.flatMap(spelledOut))

/** contract, Authentication 9: on both sides. */
const WORKLOAD_AUDIENCE_DEFAULT = 'svc-control-plane'

const addressRow =
  <const Rules extends Pick<Setting, 'isPublic' | 'isOrigin'>>(rules: Rules) =>
  (description: string, documented: string) => ({
    schema: address.optional(),
    description,
    default: documented,
    ...rules,
  })
const origin = addressRow({ isOrigin: true })
const publicAddress = addressRow({ isPublic: true })
const publicOrigin = addressRow({ isPublic: true, isOrigin: true })

/** Every setting: schema, description, default. The table in docs/operating.md is generated from it. */
export const SETTINGS = documented({
  SVC_SERVICES: {
    schema: list(z.enum(SERVICE_NAMES, `must name services: ${SERVICE_NAMES.join(', ')}`))
      .refine((names) => new Set(names).size === names.length, { error: 'names a service twice' })
      .optional(),
    description: 'Services to run in this process, separated by commas.',
    default: 'all',
  },
  HOST: { schema: host.default('127.0.0.1'), description: 'Address to listen on.' },
  PORT: { schema: port.default(4000), description: 'Port to listen on.' },
  METRICS_HOST: {
    schema: host.default('127.0.0.1'),
    description: 'Address for `/metrics`. Keep it on loopback unless a scraper on another host needs it.',
  },
  METRICS_PORT: {
    schema: z.union([z.literal('off'), port], 'must be a port from 0 to 65535, or off').default(4001),
    description: 'Port for `/metrics`, or `off`.',
  },
  SVC_DATA_DIR: {
    schema: text.default('.svc'),
    description: 'Folder for the embedded database and generated secrets.',
    default: './.svc',
  },
  DATABASE_URL: {
    schema: oneServer.optional(),
    description: 'Postgres server to use instead of the embedded database.',
    default: 'embedded',
  },
  DATABASE_POOL: {
    schema: whole(1, 200).default(10),
    description: 'Maximum number of Postgres connections for this process.',
  },
  DATABASE_PREPARE: {
    schema: flag.default(true),
    description:
      'Whether to use prepared statements. Turn off behind a transaction-mode pooler that does not support them.',
  },
  DATABASE_LISTEN_URL: {
    schema: oneServer.optional(),
    description:
      'Address of the same database without the pooler in between, for one connection per process that is told of new work. Without it, behind a transaction-mode pooler, work is found by polling.',
    default: 'the value of `DATABASE_URL`',
  },
  DATABASE_REPLICA_URL: {
    schema: oneServer.optional(),
    description:
      'A standby of the same database, for reads that may be some seconds old: activity, deliveries, the audit trail, logs. One that is more than 30 seconds behind, or away, is not asked.',
    default: 'every read goes to `DATABASE_URL`',
  },
  ENDINGS_JOURNAL: {
    schema: z.string().min(1).optional(),
    description:
      'Folder outside the database, shared by the processes or one for each, that keeps for a day what was ended, so that a failover of an asynchronous Postgres cluster revives nothing. Sealed with a key derived from `DATA_KEY`.',
    default: 'none',
  },
  TRAIL_ROOTS: {
    schema: z.string().min(1).optional(),
    description:
      'Folder outside the database to which the worker appends every signed root of the trail, so that a trail that was signed anew is found out. Keep it where whoever runs the database cannot change it.',
    default: 'none',
  },
  MANAGED_DATABASE_URL: {
    schema: z
      .union([
        z.literal('embedded'),
        z.url({ protocol: /^postgres(ql)?$/, error: 'must start with postgres://, or be embedded' }),
      ])
      .optional(),
    description:
      'Postgres server (with pgvector 0.8) that hosts managed databases, or `embedded`. Use a dedicated server: CONNECT is revoked from PUBLIC on all its databases.',
    default: 'the server of DATABASE_URL, or embedded',
  },
  MANAGED_DATABASE_HOST: {
    schema: host.default('127.0.0.1'),
    description:
      'Address on which psql and drivers reach embedded managed databases. Connections are not encrypted: keep them on one machine or a private network.',
  },
  MANAGED_DATABASE_PORT: {
    schema: port.default(4432),
    description: 'Port for embedded managed databases.',
  },
  MANAGED_STATEMENT_SECONDS: {
    schema: whole(1, 1_000_000).default(1_800),
    description: 'How long a statement of a tenant may run in a managed database.',
  },
  MANAGED_IDLE_TRANSACTION_SECONDS: {
    schema: whole(1, 1_000_000).default(600),
    description:
      'How long a transaction of a tenant may be idle on a Postgres server; embedded it is a minute.',
  },
  MANAGED_TEMP_FILE_MB: {
    schema: whole(1, 100_000_000).default(2_048),
    description: 'Temporary files that an organization may have on the server for managed databases, in MiB.',
  },
  MANAGED_CONNECTIONS: {
    schema: whole(1, 10_000).default(30),
    description: 'Connections that an organization may have to its managed databases on a Postgres server.',
  },
  MANAGED_DISK_MB: {
    schema: whole(1, 100_000_000).default(10_240),
    description: 'Disk quota of an organization for all its managed databases on a Postgres server, in MiB.',
  },
  ATTACH_ALLOWED: {
    schema: z.string().transform(readAttachRules).default([]),
    description:
      'Servers whose databases may be attached: CIDR ranges, addresses or host names, each with an optional `:port`, separated by commas.',
    default: 'none',
  },
  EMBEDDING_MODELS: {
    schema: EmbeddingModelsSetting,
    description:
      'Embedding models in addition to the built-in `minilm-l6-v2`, as JSON: model name to `{"url", "key", "dimensions"}` of an OpenAI-compatible endpoint. See docs/operating.md.',
    default: 'the built-in model only',
  },
  EMBEDDING_MODEL_DIR: {
    schema: text.optional(),
    description:
      'Folder of a BERT-like embedding model that runs here beside the built-in one, under the name of the folder: `*.safetensors`, `tokenizer.json` and `config.json`. Checked at the start. See docs/operating.md.',
    default: 'the built-in model only',
  },
  EMBEDDING_THREADS: {
    schema: whole(1, 64).optional(),
    description:
      'Threads of each embedding model that runs here, at most. Further ones start when texts wait and end after 30 s without any; they share the weights, and each uses about 30 MB.',
    default: 'the number of cores less one, from 1 to 4',
  },
  EMBEDDING_TOKENS_PER_DAY: {
    schema: whole(1, 1_000_000_000_000).default(20_000_000),
    description:
      'Tokens an organization may embed per day (UTC) to fill tables: by loads and by the embeddings endpoint.',
  },
  MAINTENANCE_MODELS: {
    schema: MaintenanceModelsSetting,
    description:
      'Language models of the maintenance agent and of judge checks, beside the built-in `rules`, as JSON: model name to `{"wire", "url", "key"}`. Keys belong to the agent-runner only; elsewhere leave them out. See docs/maintenance.md.',
    default: 'the built-in `rules` only',
  },
  MAINTENANCE_RUNS_AT_ONCE: {
    schema: whole(1, 200).default(4),
    description: 'Maintenance runs that an agent-runner does at a time.',
  },
  QUESTIONS_PER_MINUTE: {
    schema: whole(1, 1_000_000).default(60),
    description: 'Questions an organization may ask its data sources per minute.',
  },
  LOG_LINES_PER_MINUTE: {
    schema: whole(1, 100_000_000).default(60_000),
    description: 'Log lines an app may send per minute. Above it: 429 with Retry-After.',
  },
  LOG_MIB_PER_APP: {
    schema: whole(1, 1_000_000).default(1_024),
    description:
      'MiB of log lines kept of one app, for seven days. More are not stored, and counted as dropped.',
  },
  APP_EVENTS_PER_DAY: {
    schema: whole(1, 1_000_000).default(1_000),
    description: 'Events an app may send per day. Above it: 429 with Retry-After.',
  },
  QUESTIONS_PER_DAY: {
    schema: whole(1, 100_000_000).default(5_000),
    description: 'Questions an organization may ask its data sources per day (UTC).',
  },
  SOURCE_STORAGE_MIB: {
    schema: whole(1, 1_000_000).default(1024),
    description: 'Mebibytes of app source that an organization may store.',
  },
  ACTIVITY_DAYS: {
    schema: whole(1, 36_500).default(365),
    description: 'Days to keep activity entries.',
  },
  REMOVED_TRAIL_DAYS: {
    schema: whole(0, 36_500).default(365),
    description: 'Days to keep the sealed trail of an organization that was removed.',
  },
  DELIVERY_DAYS: {
    schema: whole(1, 36_500).default(90),
    description: 'Days to keep settled deliveries.',
  },
  BASE_DOMAIN: {
    // The last label starts with a letter: 10.0.0.1 is an address, which cannot have subdomains.
    schema: z
      .string()
      .regex(
        /^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)*[a-z]([a-z0-9-]*[a-z0-9])?$/i,
        'must be a domain such as example.com',
      )
      .optional(),
    description: 'Sets all public URLs at once: `auth.`, `api.`, `mcp.` and `app.` under this domain.',
  },
  API_URL: publicOrigin('Public URL of the HTTP API.', 'http://localhost:PORT'),
  AUTH_URL: publicOrigin('Public URL of the auth service.', 'http://localhost:PORT'),
  MCP_URL: publicOrigin('Public URL of the MCP endpoints.', 'http://localhost:PORT'),
  APP_URL: publicOrigin('Public URL of the console and the sign-in pages.', 'http://localhost:PORT'),
  SITE_URL: publicOrigin(
    'Public URL of the pages that need no sign-in: agent skills and unsubscribe links.',
    'APP_URL',
  ),
  SVC_BUILD_COMMIT: {
    schema: z
      .string()
      .regex(/^[0-9a-f]{40}$/, 'must be a commit as 40 hexadecimal digits')
      .optional(),
    description: 'Commit this build was made from, shown in the skills index.',
    default: 'the commit of the package or checkout, if known',
  },
  TRUSTED_PROXIES: {
    schema: nets.default([]),
    description:
      'Proxies whose `X-Forwarded-For` header is trusted, as addresses or CIDR ranges. `any` trusts everybody who can connect.',
    default: 'none',
  },
  AUTH_MODE: {
    schema: oneOf(['self', 'hosted']).default('self'),
    description: '`self` runs its own auth service; `hosted` uses the vendor’s.',
  },
  HOSTED_ORGS: {
    schema: list(z.string().regex(idPattern('org'), 'must be ids of organizations (org_…), not slugs'))
      .refine((ids) => ids.length > 0, { error: 'must name at least one organization' })
      .default([]),
    description:
      'Ids of the organizations that this installation serves, separated by commas. Required with AUTH_MODE=hosted; everybody else of the vendor is refused.',
  },
  AUTH_SERVICE_URL: origin('URL at which the gateway validates tokens. May be internal.', 'AUTH_URL'),
  AUTH_LOGIN_URL: publicAddress('URL of the sign-in page.', 'APP_URL/auth/sign-in'),
  GATEWAY_URL: origin('URL at which the console and the site reach the gateway. May be internal.', 'API_URL'),
  DEPLOY_URL: origin(
    'URL of the deploy-api when it runs in another process. May be internal.',
    'in the same process',
  ),
  AGENT_RUNNER_URL: origin(
    'URL at which the worker reaches the agent-runner when it runs in another process. May be internal.',
    'in the same process',
  ),
  MCP_ALLOWED_ORIGINS: {
    schema: list(z.url('must be origins such as https://example.com')).default([]),
    description: 'Web origins that may call the MCP endpoints from a browser, separated by commas.',
    default: 'none, except loopback origins when MCP_URL is loopback',
  },
  MCP_CALLS_PER_MINUTE: {
    schema: whole(1, 1_000_000).default(600),
    description: 'MCP calls per minute of one agent’s grant, or of one API token.',
  },
  MCP_STEP_UP: {
    schema: oneOf(['challenge', 'text']).default('challenge'),
    description:
      'How an agent learns that its grant lacks a scope: `challenge` (403, and the client asks the user for more) or `text` for clients that cannot do that.',
  },
  OAUTH_DCR: {
    schema: flag.default(true),
    description: 'Whether clients may register dynamically (RFC 7591).',
  },
  OAUTH_CIMD: {
    schema: flag.default(true),
    description:
      'Whether clients may identify themselves by the URL of a metadata document, which svc fetches. Turn off without a way out to the internet: such clients then register instead.',
  },
  OAUTH_LOOPBACK_PORTS: {
    schema: oneOf(['portless', 'exact', 'any']).default('portless'),
    description:
      'Ports accepted in loopback redirects: `portless` (a redirect registered without a port matches any port), `exact`, or `any` (needed by GitHub Copilot CLI).',
  },
  OAUTH_REFRESH_GRACE_S: {
    schema: whole(0, 300).default(60),
    description: 'Seconds during which a used refresh token returns the same answer again. 0 turns this off.',
  },
  OAUTH_PRIVATE_REDIRECTS: {
    schema: list(z.string()).default(['cursor://anysphere.cursor-mcp/oauth/callback']),
    description: 'Redirect URIs with private-use schemes that clients may register, separated by commas.',
    default: 'Cursor’s',
  },
  ENTERPRISE_AUTH: {
    schema: flag.default(true),
    description:
      'Whether organizations may connect agents through their identity provider (MCP Enterprise-Managed Authorization).',
  },
  JWT_SECRET: {
    schema: hexSecret,
    description: 'First of the two secrets behind tokens and sessions: 32 bytes as hex.',
    default: 'generated when embedded',
  },
  JWT_SIGNING_KEY: {
    schema: hexSecret,
    description: 'Second of the two secrets behind tokens and sessions: 32 bytes as hex.',
    default: 'generated when embedded',
  },
  ACTOR_ASSERTION_SECRET: {
    schema: hexSecret,
    description: 'Signs the assertions with which the MCP server acts for an agent: 32 bytes as hex.',
    default: 'generated when embedded',
  },
  DATA_KEY: {
    schema: hexSecret,
    description:
      'Encrypts stored credentials such as database passwords, chat tokens and webhook URLs: 32 bytes as hex.',
    default: 'generated when embedded',
  },
  AGENT_RUNNER_SECRET: {
    schema: hexSecret,
    description:
      'By which the agent-runner, the deploy-api and the worker know each other when they run in different processes: 32 bytes as hex.',
    default: 'derived from DATA_KEY in one process',
  },
  SVC_OPERATOR_TOKEN: {
    schema: z.string().min(32, 'must have at least 32 characters').optional(),
    description: 'Bearer token for the operator API under `/api/v1/admin`.',
    default: 'the operator API is off',
  },
  SVC_ADMIN_EMAIL: {
    schema: z.email('must be an email address').toLowerCase().optional(),
    description: 'Email address of the first owner.',
    default: 'owner@svc.localhost',
  },
  SVC_ADMIN_PASSWORD: {
    schema: z
      .string()
      .min(PASSWORD_MIN, `must have at least ${PASSWORD_MIN} characters`)
      .max(PASSWORD_MAX, `must have at most ${PASSWORD_MAX} characters`)
      .optional(),
    description: 'Password of the first owner.',
    default: 'generated',
  },
  SVC_ORG: {
    schema: z
      .string()
      .refine((name) => DisplayName.safeParse(name).success, {
        error: 'must be a name of up to 120 characters',
      })
      .pipe(DisplayName)
      .optional(),
    description: 'Name of the first organization. When set, no sample data is loaded.',
    default: 'Sample organization',
  },
  ORGANIZATIONS_PER_PERSON: {
    schema: whole(0, 1_000_000).default(10),
    description: 'Organizations a person may found. 0: only the operator creates organizations.',
  },
  PASSWORD_SIGN_IN: {
    schema: flag.optional(),
    description: 'Whether people may sign in with a password.',
    default: 'on, or off when an identity provider is configured',
  },
  REDIRECT_BASE_URL: publicOrigin('Base URL of the callbacks registered with identity providers.', 'APP_URL'),
  ALLOWED_REDIRECT_BASE_URLS: {
    schema: list(z.url({ protocol: /^https?$/, error: 'must be http or https addresses' })).default([]),
    description: 'Additional URLs to which people may return after sign-in, separated by commas.',
    default: 'APP_URL only',
  },
  GOOGLE_CLIENT_ID: { schema: text.optional(), description: 'Google sign-in: client ID.' },
  GOOGLE_CLIENT_SECRET: { schema: text.optional(), description: 'Google sign-in: client secret.' },
  GOOGLE_AUTHORITY: {
    schema: address.optional(),
    description: 'Google sign-in: a different OpenID issuer, for tests.',
    default: 'Google’s own',
  },
  MICROSOFT_CLIENT_ID: {
    schema: text.optional(),
    description: 'Microsoft sign-in: application (client) ID.',
  },
  MICROSOFT_CLIENT_SECRET: { schema: text.optional(), description: 'Microsoft sign-in: client secret.' },
  MICROSOFT_TENANT_ID: {
    schema: z
      .string()
      .refine(
        (tenant) =>
          ['common', 'organizations', 'consumers'].includes(tenant) || z.guid().safeParse(tenant).success,
        {
          error: 'must be a UUID, common, organizations or consumers',
        },
      )
      .optional(),
    description:
      'Microsoft sign-in: the UUID of your tenant. `organizations` admits every company, `consumers` every personal account and `common` both. Required with MICROSOFT_CLIENT_ID.',
  },
  MICROSOFT_AUTHORITY: {
    schema: address.optional(),
    description: 'Microsoft sign-in: a different OpenID issuer, for tests.',
    default: 'Microsoft’s own',
  },
  OIDC_ISSUER: { schema: address.optional(), description: 'OpenID Connect sign-in: issuer URL.' },
  OIDC_CLIENT_ID: { schema: text.optional(), description: 'OpenID Connect sign-in: client ID.' },
  OIDC_CLIENT_SECRET: { schema: text.optional(), description: 'OpenID Connect sign-in: client secret.' },
  OIDC_TITLE: {
    schema: text.max(40, 'must have at most 40 characters').default('single sign-on'),
    description: 'OpenID Connect sign-in: button label.',
  },
  SMTP_URL: {
    schema: z.url({ protocol: /^smtps?$/, error: 'must start with smtp:// or smtps://' }).optional(),
    description: 'Mail server, for example `smtps://user:password@mail.example.com`.',
    default: 'no email: links are shown instead',
  },
  MAIL_FROM: { schema: text.optional(), description: 'Sender of all email. Required with SMTP_URL.' },
  DKIM_SELECTOR: {
    schema: text.regex(/^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$/i, 'must be a selector such as svc1').optional(),
    description: 'DKIM selector: the public key is published in DNS at `<selector>._domainkey.<domain>`.',
    default: 'svc does not sign; the mail server may',
  },
  DKIM_PRIVATE_KEY: {
    schema: text
      .transform((pem) => pem.replaceAll('\\n', '\n'))
      .refine((pem) => !pem.startsWith('-----') || isRsaKey(pem), {
        error: 'must be an RSA private key in PEM, or the path of a file with one',
      })
      .optional(),
    description: 'RSA private key that signs notification email (DKIM): PEM, or the path of a PEM file.',
  },
  DKIM_DOMAIN: {
    schema: text
      .regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i, 'must be a domain such as example.com')
      .optional(),
    description: 'Domain that signs email.',
    default: 'the domain of MAIL_FROM',
  },
  CHAT_CLIENT_ID: {
    schema: text.optional(),
    description:
      'Client ID of your Slack app. With it, organizations can install the app and people can link their accounts.',
    default: 'chat through pasted incoming webhooks only',
  },
  CHAT_CLIENT_SECRET: { schema: text.optional(), description: 'Client secret of your Slack app.' },
  CHAT_URL: {
    schema: address.default(new URL('https://slack.com')),
    description: 'URL of the chat service, for services compatible with the Slack API.',
    default: 'https://slack.com',
    // Client secrets and tokens are sent there.
    isPublic: true,
    isOrigin: true,
  },
  HTTPS_PROXY: {
    schema: address
      .refine(({ pathname, search, hash }) => pathname === '/' && !search && !hash, {
        error: 'must be an origin, without path or query',
      })
      .optional(),
    description:
      'HTTP proxy for https requests to embedding and language models, identity providers and metadata documents, for example `http://user:password@proxy.example.com:3128`. Webhooks, checks and attached databases never use it.',
    default: 'direct connections',
  },
  NO_PROXY: {
    schema: list(z.string()).default([]),
    description:
      'Hosts that are reached without the proxy, separated by commas. A name includes its subdomains.',
    default: 'none',
  },
  NOTIFY_ALLOW_NETS: {
    schema: z
      .string()
      .transform(readNotifyNets)
      .default({ allowNets: [], organizationNets: new Map<string, readonly string[]>() }),
    description:
      'Private networks that notifications may be sent to and git remotes may be in, over http too, as addresses or CIDR ranges separated by commas, or `any`; as `org_…=10.0.0.0/8` by that organization alone, whose admins may then see what is answered there. Anyone who can connect a webhook or set a remote can make the server send requests there.',
    default: 'none: public https addresses only',
  },
  CHECKS_ALLOW_NETS: {
    schema: z.string().transform(readOrganizationNets).default(new Map<string, readonly string[]>()),
    description:
      'Private networks that http checks of an organization may reach, as `org_…=10.0.0.0/8` separated by commas, or `org_…=any`. Whoever works on an app of it can make the server send requests there; of the answers only pass or fail and the status are kept. Link-local addresses are never reached.',
    default: 'none: public addresses only',
  },
  WORKLOAD_IDENTITY_ENABLED: {
    schema: flag.default(true),
    description:
      'auth-service: whether pods of its cluster may authenticate with their service account (workload identity).',
    default: 'on, in a cluster',
  },
  WORKLOAD_AUDIENCE: {
    schema: text.max(256, 'must have at most 256 characters').default(WORKLOAD_AUDIENCE_DEFAULT),
    description: 'auth-service: audience that service-account tokens must be for. Change both together.',
  },
  SVC_WORKLOAD_AUDIENCE: {
    schema: z.string().max(256, 'must have at most 256 characters').default(WORKLOAD_AUDIENCE_DEFAULT),
    description:
      'deploy-api: the same audience. Empty (`SVC_WORKLOAD_AUDIENCE=""`): workload identity is off, and workers need a token.',
    keepsEmpty: true,
  },
  WORKLOAD_NAMESPACES: {
    schema: z.string().transform(readOrganizationNamespaces).default(new Map<string, readonly string[]>()),
    description:
      'auth-service: namespaces whose service accounts an organization may bind to its apps, as `org_…=namespace` separated by commas.',
    default: 'none',
  },
  KUBERNETES_SERVICE_HOST: {
    schema: text.optional(),
    description: 'Host of the API server. Kubernetes sets it in every pod.',
    default: 'no cluster, no workload identity',
  },
  KUBERNETES_SERVICE_PORT: {
    schema: whole(1, 65_535).default(443),
    description: 'Port of the API server. Kubernetes sets it in every pod.',
  },
  KUBERNETES_CREDENTIALS_DIR: {
    schema: text.default('/var/run/secrets/kubernetes.io/serviceaccount'),
    description: 'Folder with `token` and `ca.crt` of the service account of the auth-service.',
  },
  LOG_LEVEL: {
    schema: oneOf(LOG_LEVELS).default('info'),
    description: `Lowest level to log: ${LOG_LEVELS.join(', ')}.`,
  },
  LOG_FORMAT: {
    schema: oneOf(['json', 'text']).optional(),
    description: 'Log format: `json` or `text`.',
    default: 'text on a terminal, otherwise json',
  },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    schema: address.optional(),
    description: 'OTLP/HTTP endpoint for traces.',
    default: 'no traces',
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    schema: headers.optional(),
    description:
      'Headers that the collector asks for, such as `authorization=Bearer%20…`: names and percent-encoded values, separated by commas.',
  },
  STOP_DELAY_SECONDS: {
    schema: whole(0, 60).default(0),
    description:
      'Seconds on shutdown in which `/readyz` returns 503 and requests are still taken, so that a load balancer stops sending them first. Longer than it needs to notice.',
  },
  STOP_SECONDS: {
    schema: whole(0, 600).default(25),
    description: 'Seconds to wait on shutdown for running requests to finish.',
  },
  ARGON2_MEMORY_KIB: {
    schema: whole(64, 1_048_576).default(19_456),
    description: 'Memory argon2id uses to hash one password, in KiB.',
  },
})

function documented<const Table extends Record<string, Setting>>(table: Table) {
  const rows = Object.entries(table).map(([key, setting]) => [
    key,
    { ...setting, default: setting.default ?? defaultOf(setting) },
  ])
  return Object.fromEntries(rows) as {
    readonly [Key in keyof Table]: Table[Key] & { readonly default?: string | undefined }
  }
}

function defaultOf({ schema }: Setting): string | undefined {
  const value = schema instanceof z.ZodDefault ? schema.def.defaultValue : undefined
  if (typeof value === 'boolean') return value ? 'on' : 'off'
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
}

type Settings = { [Key in keyof typeof SETTINGS]: z.output<(typeof SETTINGS)[Key]['schema']> }

export type Config = Omit<
  Settings,
  'SVC_SERVICES' | 'API_URL' | 'AUTH_URL' | 'APP_URL' | 'MCP_URL' | 'SITE_URL'
> & {
  SVC_SERVICES: readonly ServiceName[]
  API_URL: URL
  AUTH_URL: URL
  APP_URL: URL
  MCP_URL: URL
  SITE_URL: URL
}

export class ConfigProblems extends Error {
  override readonly name = 'ConfigProblems'
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(
      `The configuration has ${problems.length} problem${problems.length === 1 ? '' : 's'}:\n${problems.map((problem) => `  ${problem}`).join('\n')}`,
    )
    this.problems = problems
  }
}

export function readConfig(env: Record<string, string | undefined> = process.env): Config {
  const shape = Object.fromEntries(Object.entries(SETTINGS).map(([key, { schema }]) => [key, schema]))
  // An empty variable counts as unset: compose files and charts leave such variables behind.
  const set = Object.fromEntries(
    Object.entries(env).filter(([key, value]) => value !== '' || keepsEmpty(key)),
  )
  const parsed = z.object(shape).safeParse(set)
  const problems = parsed.success
    ? []
    : parsed.error.issues.map((issue) => `${issue.path[0]?.toString()}: ${issue.message}`)
  // Rules between settings are checked even if single settings are invalid, so that one start reports everything.
  const settings = (parsed.success ? parsed.data : validSettings(shape, set)) as Settings
  const config = withAddresses(settings)
  problems.push(...problemsBetween(config, set))
  if (problems.length > 0) throw new ConfigProblems(problems)
  return config
}

const keepsEmpty = (key: string): boolean =>
  (SETTINGS as Readonly<Record<string, Setting>>)[key]?.keepsEmpty === true

/** Valid settings as given, invalid ones as if unset. */
function validSettings(
  shape: Record<string, z.ZodType>,
  set: Record<string, unknown>,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(shape).map(([key, schema]) => {
      const own = schema.safeParse(set[key])
      return [key, own.success ? own.data : schema.safeParse(undefined).data]
    }),
  )
}

function withAddresses(settings: Settings): Config {
  const base = settings.BASE_DOMAIN
  const local = new URL(`http://localhost:${settings.PORT}`)
  const at = (name: string) => (base === undefined ? local : new URL(`https://${name}.${base}`))
  const app = settings.APP_URL ?? at('app')
  return {
    ...settings,
    SVC_SERVICES:
      settings.SVC_SERVICES ??
      SERVICE_NAMES.filter((name) => settings.AUTH_MODE === 'self' || name !== 'auth-service'),
    API_URL: settings.API_URL ?? at('api'),
    AUTH_URL: settings.AUTH_URL ?? at('auth'),
    APP_URL: app,
    MCP_URL: settings.MCP_URL ?? at('mcp'),
    SITE_URL: settings.SITE_URL ?? new URL(app.origin),
  }
}

function problemsBetween(config: Config, set: Record<string, unknown>): string[] {
  const problems: string[] = []
  // What is derived from another setting is reported there.
  const addresses = Object.entries<Setting>(SETTINGS).flatMap(([key, rules]) => {
    const url = set[key] === undefined ? undefined : config[key as keyof Config]
    return url instanceof URL ? [{ key, url, ...rules }] : []
  })
  for (const { key, url, isPublic } of addresses) {
    if (isPublic && !isSafelyPublic(url)) problems.push(`${key}: a public address must be https`)
  }
  if (!config.ALLOWED_REDIRECT_BASE_URLS.every((base) => isSafelyPublic(new URL(base)))) {
    problems.push('ALLOWED_REDIRECT_BASE_URLS: a public address must be https')
  }
  for (const { key, url, isOrigin } of addresses) {
    if (isOrigin && (url.pathname !== '/' || url.search || url.hash || url.username || url.password)) {
      problems.push(`${key}: must be an origin, without path, query or user`)
    }
  }
  const together = (keys: readonly (keyof Config)[]) => {
    const missing = keys.filter((key) => set[key] === undefined)
    if (missing.length > 0 && missing.length < keys.length) {
      const hint = missing.includes('MICROSOFT_TENANT_ID') ? `. ${WHICH_TENANT}` : ''
      problems.push(
        `${missing.join(', ')}: required with ${keys.find((key) => set[key] !== undefined)}${hint}`,
      )
    }
  }
  together(['GOOGLE_CLIENT_ID', 'GOOGLE_CLIENT_SECRET'])
  together(['MICROSOFT_CLIENT_ID', 'MICROSOFT_CLIENT_SECRET', 'MICROSOFT_TENANT_ID'])
  together(['OIDC_ISSUER', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET'])
  together(['SMTP_URL', 'MAIL_FROM'])
  together(['DKIM_SELECTOR', 'DKIM_PRIVATE_KEY'])
  together(['CHAT_CLIENT_ID', 'CHAT_CLIENT_SECRET'])
  if (config.SVC_SERVICES.length === 0) problems.push('SVC_SERVICES: must name at least one service')
  if (config.AUTH_MODE === 'hosted') {
    if (set['AUTH_SERVICE_URL'] === undefined)
      problems.push('AUTH_SERVICE_URL: required with AUTH_MODE=hosted')
    if (set['AUTH_LOGIN_URL'] === undefined) problems.push('AUTH_LOGIN_URL: required with AUTH_MODE=hosted')
    if (set['HOSTED_ORGS'] === undefined) problems.push('HOSTED_ORGS: required with AUTH_MODE=hosted')
    if (config.SVC_SERVICES.includes('auth-service')) {
      problems.push('SVC_SERVICES: with AUTH_MODE=hosted the vendor runs the auth-service; remove it')
    }
  }
  // Ignored in silence, it would pass for a restriction.
  if (config.AUTH_MODE === 'self' && config.HOSTED_ORGS.length > 0) {
    problems.push('HOSTED_ORGS: only with AUTH_MODE=hosted')
  }
  const authRunsElsewhere =
    config.SVC_SERVICES.includes('api-gateway') && !config.SVC_SERVICES.includes('auth-service')
  if (config.AUTH_MODE === 'self' && authRunsElsewhere && config.DATABASE_URL === undefined) {
    // With an embedded database of its own, the gateway would not see the rows of the auth service.
    problems.push('DATABASE_URL: required by api-gateway when the auth-service runs elsewhere')
  }
  const gatewayRunsElsewhere =
    config.SVC_SERVICES.includes('deploy-api') && !config.SVC_SERVICES.includes('api-gateway')
  if (gatewayRunsElsewhere && config.DATABASE_URL === undefined) {
    problems.push('DATABASE_URL: required by deploy-api when the api-gateway runs elsewhere')
  }
  problems.push(...problemsWithAgentRunner(config))
  const hasBoth = (['auth-service', 'deploy-api'] as const).every((name) =>
    config.SVC_SERVICES.includes(name),
  )
  const isOn = config.WORKLOAD_IDENTITY_ENABLED && config.SVC_WORKLOAD_AUDIENCE !== ''
  // Every token would be refused, without a word why.
  if (hasBoth && isOn && config.WORKLOAD_AUDIENCE !== config.SVC_WORKLOAD_AUDIENCE) {
    problems.push('WORKLOAD_AUDIENCE, SVC_WORKLOAD_AUDIENCE: must be the same')
  }
  if (config.ENDINGS_JOURNAL !== undefined) {
    if (config.DATABASE_URL === undefined)
      problems.push('ENDINGS_JOURNAL: is for a Postgres server, set DATABASE_URL too')
    else if (config.DATA_KEY === undefined) problems.push('DATA_KEY: required by ENDINGS_JOURNAL')
  }
  const secrets = ALL_SECRET_KEYS.filter((key) => config[key] !== undefined)
  if (new Set(secrets.map((key) => config[key]?.toLowerCase())).size < secrets.length) {
    problems.push(`${secrets.join(', ')}: must all be different`)
  }
  return problems
}

/** It has neither a database handle nor DATA_KEY: alone, it knows nobody without these. */
function problemsWithAgentRunner(config: Config): string[] {
  const runs = (name: ServiceName) => config.SVC_SERVICES.includes(name)
  const hasKeys = [...config.MAINTENANCE_MODELS.values()].some(({ key }) => key !== undefined)
  if (!runs('agent-runner')) {
    return hasKeys ? ['MAINTENANCE_MODELS: keys belong to the agent-runner only; leave them out here'] : []
  }
  if (runs('deploy-api')) return []
  return (['AGENT_RUNNER_SECRET', 'DEPLOY_URL'] as const)
    .filter((key) => config[key] === undefined)
    .map((key) => `${key}: required by agent-runner when the deploy-api runs elsewhere`)
}

/** Set by many shells and images, and close to names of ours. */
const OTHER_PEOPLES = new Set(['HTTP_PROXY'])

/** Variables that are no setting and differ from one that is not set by a letter or two. */
export function misspelledSettings(
  env: Record<string, string | undefined> = process.env,
): readonly { readonly given: string; readonly meant: string }[] {
  const missing = Object.keys(SETTINGS).filter((key) => env[key] === undefined)
  return Object.keys(env)
    .filter((given) => !(given in SETTINGS) && !OTHER_PEOPLES.has(given) && /^[A-Z][A-Z0-9_]+$/.test(given))
    .flatMap((given) => {
      const meant = missing.find((key) => editDistance(given, key) <= (key.length < 8 ? 1 : 2))
      return meant === undefined ? [] : [{ given, meant }]
    })
}

/** People read at a terminal; elsewhere programs do. */
export const logFormatOf = (config: Config): 'json' | 'text' =>
  config.LOG_FORMAT ?? (process.stdout.isTTY ? 'text' : 'json')

export const SECRET_KEYS = ['JWT_SECRET', 'JWT_SIGNING_KEY', 'ACTOR_ASSERTION_SECRET', 'DATA_KEY'] as const
export type SecretKey = (typeof SECRET_KEYS)[number]
/** With those that only some installations have. */
const ALL_SECRET_KEYS = [...SECRET_KEYS, 'AGENT_RUNNER_SECRET'] as const

/** RFC 6376: RSA is the only key type that every receiver can verify. */
export function isRsaKey(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyType === 'rsa'
  } catch {
    return false
  }
}

const isSafelyPublic = (url: URL): boolean => url.protocol === 'https:' || isLoopback(url.hostname)

export const isLoopback = (hostname: string): boolean =>
  ['localhost', '127.0.0.1', '[::1]'].includes(hostname)

/** `org_…=10.0.0.0/8`, separated by commas; an organization with several networks is named several times. */
function readOrganizationNets(text: string, context: z.RefinementCtx) {
  const isRange = (range: string) => range === 'any' || isCidr(range)
  const all = readByOrganization(text, context, isRange, 'a range such as org_…=10.0.0.0/8')
  for (const [orgId, range] of [...all].flatMap(([id, ranges]) => ranges.map((one) => [id, one] as const))) {
    if (isEverywhere(range))
      context.addIssue({ code: 'custom', message: `${orgId}=${range} ${COVERS_EVERYTHING}` })
  }
  return new Map<string, readonly string[]>(
    [...all].map(([orgId, ranges]) => [orgId, ranges.flatMap(spelledOut)]),
  )
}

/** Ranges of all organizations, and `org_…=10.0.0.0/8`. */
function readNotifyNets(text: string, context: z.RefinementCtx) {
  const entries = text.split(',')
  const ofAll = nets.safeParse(entries.filter((one) => !one.includes('=')).join(','))
  for (const { message } of ofAll.error?.issues ?? []) context.addIssue({ code: 'custom', message })
  const ofOrganizations = entries.filter((one) => one.includes('=')).join(',')
  return { allowNets: ofAll.data ?? [], organizationNets: readOrganizationNets(ofOrganizations, context) }
}

/** `org_…=namespace`, in the same way. RFC 1123. */
function readOrganizationNamespaces(text: string, context: z.RefinementCtx) {
  const isNamespace = (name: string) => /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(name)
  return readByOrganization(text, context, isNamespace, 'a namespace such as org_…=shop')
}

function readByOrganization(
  text: string,
  context: z.RefinementCtx,
  isValue: (value: string) => boolean,
  example: string,
): Map<string, readonly string[]> {
  const values = new Map<string, string[]>()
  for (const entry of text.split(',').map((one) => one.trim())) {
    if (entry === '') continue
    const [, orgId, value] = /^([^=]+)=([^=]+)$/.exec(entry) ?? []
    if (orgId !== undefined && value !== undefined && idPattern('org').test(orgId) && isValue(value)) {
      values.set(orgId, [...(values.get(orgId) ?? []), value])
    } else {
      context.addIssue({ code: 'custom', message: `${entry} must be an organization and ${example}` })
    }
  }
  return values
}

function isCidr(range: string): boolean {
  const [ip, bits, ...rest] = range.split('/')
  const version = isIP(ip ?? '')
  if (version === 0 || rest.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128))
}
