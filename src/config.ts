/** Every setting of the program: read once from the environment, checked as a whole, every problem reported at once. */
import { createPrivateKey } from 'node:crypto'
import { isIP } from 'node:net'
import * as z from 'zod'
import { readAttachRules } from './contracts/attach-rules.ts'
import { EmbeddingModelsSetting } from './contracts/embedding-settings.ts'
import { DisplayName } from './contracts/fields.ts'
import { PASSWORD_MAX, PASSWORD_MIN } from './contracts/limits.ts'
import { LOG_LEVELS } from './observe/log.ts'

/** In the order in which the listener offers a path to them. */
export const SERVICE_NAMES = [
  'api-gateway',
  'auth-service',
  'deploy-api',
  'console',
  'site',
  // After the site, whose skills have a well-known path among those that clients of this one probe.
  'mcp-server',
  'worker',
] as const
export type ServiceName = (typeof SERVICE_NAMES)[number]

type Setting = {
  readonly schema: z.ZodType<unknown, string | undefined>
  readonly says: string
  readonly default?: string
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
/** Digits only: `Number` would read a blank as 0 and take 0x10 and 1e3 as well. */
const whole = (min: number, max: number) =>
  z
    .string()
    .refine((digits) => /^\d{1,9}$/.test(digits) && Number(digits) >= min && Number(digits) <= max, {
      error: `must be a whole number from ${min} to ${max}`,
    })
    .transform(Number)
const port = whole(0, 65_535)
const flag = z.stringbool({ truthy: ['true', '1', 'on', 'yes'], falsy: ['false', '0', 'off', 'no'] })
const text = z.string().min(1)
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

/** Which, what for, and what happens without it. docs/operating.md shows this table. */
export const SETTINGS = {
  SVC_SERVICES: {
    schema: list(z.enum(SERVICE_NAMES)).optional(),
    says: 'Services that run in this process, separated by commas.',
    default: 'all',
  },
  HOST: { schema: text.default('127.0.0.1'), says: 'Address to listen on.', default: '127.0.0.1' },
  PORT: { schema: port.default(4000), says: 'Port to listen on.', default: '4000' },
  METRICS_HOST: {
    schema: text.default('127.0.0.1'),
    says: 'Address of `/metrics`; loopback unless something scrapes from outside.',
    default: '127.0.0.1',
  },
  METRICS_PORT: {
    schema: z.union([z.literal('off'), port], 'must be a port from 0 to 65535, or off').default(4001),
    says: 'Port of `/metrics`, or `off`.',
    default: '4001',
  },
  SVC_DATA_DIR: {
    schema: text.default('.svc'),
    says: 'Folder of the embedded database and of generated secrets.',
    default: './.svc',
  },
  DATABASE_URL: {
    schema: z.url({ protocol: /^postgres(ql)?$/, error: 'must begin with postgres://' }).optional(),
    says: 'Postgres to use instead of the embedded database.',
    default: 'embedded',
  },
  DATABASE_POOL: {
    schema: whole(1, 200).default(10),
    says: 'Connections this process keeps to Postgres.',
    default: '10',
  },
  DATABASE_PREPARE: {
    schema: flag.default(true),
    says: 'Whether statements are prepared; off behind a pooler in transaction mode that does not know them.',
    default: 'on',
  },
  MANAGED_DATABASE_URL: {
    schema: z
      .union([
        z.literal('embedded'),
        z.url({ protocol: /^postgres(ql)?$/, error: 'must begin with postgres://, or be embedded' }),
      ])
      .optional(),
    says: 'Postgres server (with pgvector 0.8) on which managed databases are made, or `embedded`. Give it a server of its own: PUBLIC loses CONNECT on every database of it.',
    default: 'that of DATABASE_URL, else embedded',
  },
  MANAGED_DATABASE_HOST: {
    schema: text.default('127.0.0.1'),
    says: 'Address on which embedded managed databases can be reached with psql and drivers. The connection is not encrypted: keep it within one machine or a private network.',
    default: '127.0.0.1',
  },
  MANAGED_DATABASE_PORT: {
    schema: port.default(4432),
    says: 'Port of the embedded managed databases.',
    default: '4432',
  },
  ATTACH_ALLOWED: {
    schema: z.string().transform(readAttachRules).default([]),
    says: 'Servers whose databases may be attached: CIDR ranges, addresses or host names, each with or without `:port`, separated by commas.',
    default: 'none',
  },
  EMBEDDING_MODELS: {
    schema: EmbeddingModelsSetting,
    says: 'Embedding models beside the built-in `minilm-l6-v2`, as JSON: name to `{"url", "key", "dimensions"}` of an OpenAI-compatible endpoint (docs/operating.md).',
    default: 'the built-in model only',
  },
  QUESTIONS_PER_MINUTE: {
    schema: whole(1, 1_000_000).default(60),
    says: 'Questions an organization may ask its data sources in a minute.',
    default: '60',
  },
  QUESTIONS_PER_DAY: {
    schema: whole(1, 100_000_000).default(5_000),
    says: 'Questions an organization may ask its data sources in a day (UTC).',
    default: '5000',
  },
  ACTIVITY_DAYS: {
    schema: whole(1, 36_500).default(365),
    says: 'Days after which rows of the activity list are thrown away.',
    default: '365',
  },
  DELIVERY_DAYS: {
    schema: whole(1, 36_500).default(90),
    says: 'Days after which settled rows of the delivery ledger are thrown away.',
    default: '90',
  },
  BASE_DOMAIN: {
    // The last label begins with a letter: 10.0.0.1 is an address, and nothing can be put in front of it.
    schema: z
      .string()
      .regex(
        /^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)*[a-z]([a-z0-9-]*[a-z0-9])?$/i,
        'must be a domain such as example.com',
      )
      .optional(),
    says: 'Sets all public addresses at once: `auth.`, `api.`, `mcp.` and `app.` below it.',
  },
  API_URL: {
    schema: address.optional(),
    says: 'Public address of the HTTP API.',
    default: 'http://localhost:PORT',
  },
  AUTH_URL: {
    schema: address.optional(),
    says: 'Public address of the auth service.',
    default: 'http://localhost:PORT',
  },
  MCP_URL: {
    schema: address.optional(),
    says: 'Public address of the MCP endpoints.',
    default: 'http://localhost:PORT',
  },
  APP_URL: {
    schema: address.optional(),
    says: 'Public address of the console and of the sign-in pages.',
    default: 'http://localhost:PORT',
  },
  SITE_URL: {
    schema: address.optional(),
    says: 'Public address of what anybody may open: the skills for agents, and the way out of mails.',
    default: 'APP_URL',
  },
  SVC_BUILD_COMMIT: {
    schema: z
      .string()
      .regex(/^[0-9a-f]{40}$/, 'must be a commit as 40 hexadecimal digits')
      .optional(),
    says: 'Commit this program was built from, as the index of the skills names it.',
    default: 'that of the package or the checkout, if known',
  },
  TRUSTED_PROXIES: {
    schema: list(z.string().refine(isCidr, 'must be an address or a range such as 10.0.0.0/8')).default([]),
    says: 'Proxies whose `X-Forwarded-For` is believed, as addresses or CIDR ranges.',
    default: 'none',
  },
  AUTH_MODE: {
    schema: z.enum(['self', 'hosted']).default('self'),
    says: '`self`: our own auth service; `hosted`: the vendor’s.',
    default: 'self',
  },
  AUTH_SERVICE_URL: {
    schema: address.optional(),
    says: 'Where the gateway validates tokens; may be an internal address.',
    default: 'AUTH_URL',
  },
  AUTH_LOGIN_URL: {
    schema: address.optional(),
    says: 'Where sign-in sends people.',
    default: 'APP_URL/auth/sign-in',
  },
  GATEWAY_URL: {
    schema: address.optional(),
    says: 'Where the console and the site reach the gateway; may be an internal address.',
    default: 'API_URL',
  },
  DEPLOY_URL: {
    schema: address.optional(),
    says: 'Where the gateway reaches the deploy-api when that runs elsewhere; may be an internal address.',
    default: 'in the same process',
  },
  MCP_ALLOWED_ORIGINS: {
    schema: list(z.url()).default([]),
    says: 'Web pages that may call the MCP endpoints from a browser, as origins separated by commas.',
    default: 'none but loopback during development',
  },
  MCP_STEP_UP: {
    schema: z.enum(['challenge', 'text']).default('challenge'),
    says: 'What an agent hears whose grant lacks a scope: `challenge` (403, its client asks the person for more), or `text` for clients that cannot.',
    default: 'challenge',
  },
  OAUTH_DCR: {
    schema: flag.default(true),
    says: 'Whether clients may register themselves (RFC 7591).',
    default: 'on',
  },
  OAUTH_LOOPBACK_PORTS: {
    schema: z.enum(['portless', 'exact', 'any']).default('portless'),
    says: 'Ports of loopback redirects: `portless` (one registered without a port matches any), `exact`, or `any` (for GitHub Copilot CLI).',
    default: 'portless',
  },
  OAUTH_REFRESH_GRACE_S: {
    schema: z.coerce.number<string>().int().min(0).max(300).default(60),
    says: 'Seconds in which a spent refresh token is answered again; 0 is strict.',
    default: '60',
  },
  OAUTH_PRIVATE_REDIRECTS: {
    schema: list(z.string()).default(['cursor://anysphere.cursor-mcp/oauth/callback']),
    says: 'Redirects with private schemes that clients may register, separated by commas.',
    default: 'Cursor’s',
  },
  JWT_SECRET: {
    schema: hexSecret,
    says: 'First secret of all tokens and sessions: 32 bytes as hex.',
    default: 'generated (embedded)',
  },
  JWT_SIGNING_KEY: {
    schema: hexSecret,
    says: 'Second secret of all tokens and sessions: 32 bytes as hex.',
    default: 'generated (embedded)',
  },
  ACTOR_ASSERTION_SECRET: {
    schema: hexSecret,
    says: 'Signs what the MCP server tells the gateway about an agent: 32 bytes as hex.',
    default: 'generated (embedded)',
  },
  DATA_KEY: {
    schema: hexSecret,
    says: 'Seals what must be read back (database passwords, chat tokens): 32 bytes as hex.',
    default: 'generated (embedded)',
  },
  SVC_OPERATOR_TOKEN: {
    schema: z.string().min(32, 'must have at least 32 characters').optional(),
    says: 'Bearer of the operator’s own endpoints under `/api/v1/admin`.',
    default: 'those endpoints are closed',
  },
  SVC_ADMIN_EMAIL: {
    schema: z.email().toLowerCase().optional(),
    says: 'E-mail of the first owner.',
    default: 'owner@svc.localhost',
  },
  SVC_ADMIN_PASSWORD: {
    schema: z
      .string()
      .min(PASSWORD_MIN, `must have at least ${PASSWORD_MIN} characters`)
      .max(PASSWORD_MAX, `must have at most ${PASSWORD_MAX} characters`)
      .optional(),
    says: 'Password of the first owner.',
    default: 'generated',
  },
  SVC_ORG: {
    schema: DisplayName.optional(),
    says: 'Name of the first organization; with one, no sample is loaded.',
    default: 'Sample organization',
  },
  PASSWORD_SIGN_IN: {
    schema: flag.optional(),
    says: 'Whether people may sign in with a password.',
    default: 'on without an identity provider, else off',
  },
  REDIRECT_BASE_URL: {
    schema: address.optional(),
    says: 'Base of the callback registered at identity providers.',
    default: 'APP_URL',
  },
  ALLOWED_REDIRECT_BASE_URLS: {
    schema: list(z.url({ protocol: /^https?$/, error: 'must be http or https addresses' })).default([]),
    says: 'Further addresses to which a signed-in person may return, separated by commas.',
    default: 'APP_URL only',
  },
  GOOGLE_CLIENT_ID: { schema: text.optional(), says: 'Sign-in with Google: client id.' },
  GOOGLE_CLIENT_SECRET: { schema: text.optional(), says: 'Sign-in with Google: client secret.' },
  GOOGLE_AUTHORITY: {
    schema: address.optional(),
    says: 'Another address for Google’s OpenID service, for tests.',
    default: 'Google’s own',
  },
  MICROSOFT_CLIENT_ID: { schema: text.optional(), says: 'Sign-in with Microsoft: application id.' },
  MICROSOFT_CLIENT_SECRET: { schema: text.optional(), says: 'Sign-in with Microsoft: client secret.' },
  MICROSOFT_TENANT_ID: {
    schema: z
      .union(
        [z.enum(['common', 'organizations', 'consumers']), z.guid()],
        'must be a UUID, common, organizations or consumers',
      )
      .default('common'),
    says: 'Sign-in with Microsoft: tenant, a UUID or `common`, `organizations`, `consumers`.',
    default: 'common',
  },
  MICROSOFT_AUTHORITY: {
    schema: address.optional(),
    says: 'Another address for Microsoft’s OpenID service, for tests.',
    default: 'Microsoft’s own',
  },
  OIDC_ISSUER: { schema: address.optional(), says: 'Sign-in with any OpenID provider: its issuer.' },
  OIDC_CLIENT_ID: { schema: text.optional(), says: 'Sign-in with any OpenID provider: client id.' },
  OIDC_CLIENT_SECRET: { schema: text.optional(), says: 'Sign-in with any OpenID provider: client secret.' },
  OIDC_TITLE: {
    schema: text.max(40).default('single sign-on'),
    says: 'Sign-in with any OpenID provider: words on the button.',
    default: 'single sign-on',
  },
  SMTP_URL: {
    schema: z.url({ protocol: /^smtps?$/, error: 'must begin with smtp:// or smtps://' }).optional(),
    says: 'Mail server, e.g. `smtps://user:password@mail.example.com`.',
    default: 'no mail: links are shown instead',
  },
  MAIL_FROM: { schema: text.optional(), says: 'Sender of all mail; needed with SMTP_URL.' },
  DKIM_SELECTOR: {
    schema: text.regex(/^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$/i, 'must be a selector such as svc1').optional(),
    says: 'Selector under which the public key of our mails stands in the DNS (`<selector>._domainkey.<domain>`).',
    default: 'mails are not signed here: the mail server does it',
  },
  DKIM_PRIVATE_KEY: {
    schema: text
      .transform((given) => given.replaceAll('\\n', '\n'))
      .refine((given) => !given.startsWith('-----') || isRsaKey(given), {
        error: 'must be an RSA private key in PEM, or the path of a file with one',
      })
      .optional(),
    says: 'RSA key that signs notifications by mail (DKIM): PEM, or the path of a file with it.',
  },
  DKIM_DOMAIN: {
    schema: text
      .regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i, 'must be a domain such as example.com')
      .optional(),
    says: 'Domain that signs mails.',
    default: 'that of MAIL_FROM',
  },
  CHAT_CLIENT_ID: {
    schema: text.optional(),
    says: 'The operator’s app at the chat service (Slack): client id. With it organizations can install the app and people link their accounts.',
    default: 'chat by pasted incoming webhooks only',
  },
  CHAT_CLIENT_SECRET: { schema: text.optional(), says: 'The app at the chat service: client secret.' },
  CHAT_URL: {
    schema: address.default(new URL('https://slack.com')),
    says: 'Address of the chat service, for services that speak like Slack.',
    default: 'https://slack.com',
  },
  NOTIFY_ALLOW_NETS: {
    schema: list(z.string().refine(isCidr, 'must be an address or a range such as 10.0.0.0/8')).default([]),
    says: 'Private networks to which notifications may be sent, by http as well, as addresses or CIDR ranges. Whoever may connect a webhook can then make the server post there.',
    default: 'none: public https addresses only',
  },
  LOG_LEVEL: {
    schema: z.enum(LOG_LEVELS).default('info'),
    says: `Least important line to log: ${LOG_LEVELS.join(', ')}.`,
    default: 'info',
  },
  LOG_FORMAT: {
    schema: z.enum(['json', 'text']).optional(),
    says: 'Form of log lines.',
    default: 'text on a terminal, else json',
  },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    schema: address.optional(),
    says: 'OTLP/HTTP endpoint that receives traces.',
    default: 'no traces',
  },
  STOP_SECONDS: {
    schema: whole(0, 600).default(25),
    says: 'How long a stop waits for requests that are under way.',
    default: '25',
  },
  ARGON2_MEMORY_KIB: {
    schema: whole(64, 1_048_576).default(19_456),
    says: 'Memory argon2id uses for one password.',
    default: '19456',
  },
} as const satisfies Record<string, Setting>

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
  // An empty variable means the same as none: compose files and charts leave such behind.
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''))
  const parsed = z.object(shape).safeParse(given)
  const problems = parsed.success
    ? []
    : parsed.error.issues.map((issue) => `${issue.path[0]?.toString()}: ${issue.message}`)
  // Problems between settings are looked for even where single ones are wrong: one start tells everything.
  const settings = (parsed.success ? parsed.data : looseSettings(shape, given)) as Settings
  const config = withAddresses(settings)
  problems.push(...problemsBetween(config, given))
  if (problems.length > 0) throw new ConfigProblems(problems)
  return config
}

/** Every setting that is right by itself. */
function looseSettings(
  shape: Record<string, z.ZodType>,
  given: Record<string, unknown>,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(shape).map(([key, schema]) => {
      const own = schema.safeParse(given[key])
      return [key, own.success ? own.data : schema.safeParse(undefined).data]
    }),
  )
}

function withAddresses(settings: Settings): Config {
  const base = settings.BASE_DOMAIN
  const here = new URL(`http://localhost:${settings.PORT}`)
  const at = (name: string) => (base === undefined ? here : new URL(`https://${name}.${base}`))
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

function problemsBetween(config: Config, given: Record<string, unknown>): string[] {
  const problems: string[] = []
  // What follows another setting is not blamed for it.
  const site = given['SITE_URL'] === undefined ? undefined : config.SITE_URL
  const addresses = { ...config, SITE_URL: site }
  for (const key of [
    'API_URL',
    'AUTH_URL',
    'MCP_URL',
    'APP_URL',
    'SITE_URL',
    'REDIRECT_BASE_URL',
    'AUTH_LOGIN_URL',
    // Client secrets and tokens travel there.
    'CHAT_URL',
  ] as const) {
    const url = addresses[key]
    if (url && !isSafelyPublic(url)) problems.push(`${key}: a public address must be https`)
  }
  if (!config.ALLOWED_REDIRECT_BASE_URLS.every((base) => isSafelyPublic(new URL(base)))) {
    problems.push('ALLOWED_REDIRECT_BASE_URLS: a public address must be https')
  }
  for (const key of [
    'API_URL',
    'AUTH_URL',
    'MCP_URL',
    'APP_URL',
    'SITE_URL',
    'REDIRECT_BASE_URL',
    // Their paths are those of the operations: one of their own would silently be lost.
    'AUTH_SERVICE_URL',
    'GATEWAY_URL',
    'DEPLOY_URL',
    'CHAT_URL',
  ] as const) {
    const url = addresses[key]
    if (url && (url.pathname !== '/' || url.search || url.hash || url.username || url.password)) {
      problems.push(`${key}: must be an origin, without path, query or user`)
    }
  }
  const together = (keys: readonly (keyof Config)[]) => {
    const missing = keys.filter((key) => given[key] === undefined)
    if (missing.length > 0 && missing.length < keys.length) {
      problems.push(
        `${missing.join(', ')}: needed together with ${keys.find((key) => given[key] !== undefined)}`,
      )
    }
  }
  together(['GOOGLE_CLIENT_ID', 'GOOGLE_CLIENT_SECRET'])
  together(['MICROSOFT_CLIENT_ID', 'MICROSOFT_CLIENT_SECRET'])
  together(['OIDC_ISSUER', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET'])
  together(['SMTP_URL', 'MAIL_FROM'])
  together(['DKIM_SELECTOR', 'DKIM_PRIVATE_KEY'])
  together(['CHAT_CLIENT_ID', 'CHAT_CLIENT_SECRET'])
  if (config.SVC_SERVICES.length === 0) problems.push('SVC_SERVICES: names no service')
  if (config.AUTH_MODE === 'hosted') {
    if (given['AUTH_SERVICE_URL'] === undefined)
      problems.push('AUTH_SERVICE_URL: needed with AUTH_MODE=hosted')
    if (given['AUTH_LOGIN_URL'] === undefined) problems.push('AUTH_LOGIN_URL: needed with AUTH_MODE=hosted')
    if (config.SVC_SERVICES.includes('auth-service')) {
      problems.push('SVC_SERVICES: with AUTH_MODE=hosted the vendor runs the auth-service; leave it out')
    }
  }
  const isApart = config.SVC_SERVICES.includes('api-gateway') && !config.SVC_SERVICES.includes('auth-service')
  if (config.AUTH_MODE === 'self' && isApart && config.DATABASE_URL === undefined) {
    // One of its own would know nothing of what the auth service keeps, nor the other way round.
    problems.push('DATABASE_URL: needed by api-gateway, where the auth-service runs elsewhere')
  }
  const isDeployApart =
    config.SVC_SERVICES.includes('deploy-api') && !config.SVC_SERVICES.includes('api-gateway')
  if (isDeployApart && config.DATABASE_URL === undefined) {
    problems.push('DATABASE_URL: needed by deploy-api, where the api-gateway runs elsewhere')
  }
  const secrets = SECRET_KEYS.filter((key) => config[key] !== undefined)
  if (new Set(secrets.map((key) => config[key]?.toLowerCase())).size < secrets.length) {
    problems.push(`${secrets.join(', ')}: must all be different`)
  }
  return problems
}

export const SECRET_KEYS = ['JWT_SECRET', 'JWT_SIGNING_KEY', 'ACTOR_ASSERTION_SECRET', 'DATA_KEY'] as const
export type SecretKey = (typeof SECRET_KEYS)[number]

/** RFC 6376 knows no other kind that every receiver can check. */
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

function isCidr(range: string): boolean {
  const [ip, bits, ...rest] = range.split('/')
  const version = isIP(ip ?? '')
  if (version === 0 || rest.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128))
}
