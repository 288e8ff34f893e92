import { generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { ConfigProblems, misspelledSettings, readConfig, SECRET_KEYS, SETTINGS } from './config.ts'

type Env = Record<string, string>

function problemsOf(env: Env): readonly string[] {
  try {
    readConfig(env)
    return []
  } catch (error) {
    if (error instanceof ConfigProblems) return error.problems
    throw error
  }
}

const hex = (digit: string): string => digit.repeat(64)

const pem = { type: 'pkcs8', format: 'pem' } as const
const RSA_KEY = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey.export(pem).toString()
const EC_KEY = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export(pem).toString()

type Table = Record<keyof typeof SETTINGS, { good: string[]; bad: string[] }>

const ADDRESS = {
  good: ['https://svc.example.com', 'http://localhost:9000', 'http://127.0.0.1:80', 'http://[::1]:8080'],
  bad: ['svc.example.com', 'ftp://svc.example.com', 'http://', 'javascript:alert(1)', '/relative', '::'],
}
const ORIGIN = {
  good: ADDRESS.good,
  bad: [
    ...ADDRESS.bad,
    'https://svc.example.com/path',
    'https://svc.example.com/?query',
    'https://svc.example.com/#part',
    'https://user@svc.example.com',
    'https://:password@svc.example.com',
  ],
}
const PUBLIC = {
  good: ORIGIN.good,
  bad: [...ORIGIN.bad, 'http://svc.example.com', 'http://10.0.0.1', 'http://localhost.example.com'],
}
const SECRET = {
  good: [hex('a'), hex('0'), hex('F')],
  bad: [hex('g'), 'a'.repeat(63), 'a'.repeat(65), ` ${hex('a')}`],
}
/** A blank, a sign, a fraction and the forms only `Number` knows. */
const NO_NUMBERS = ['x', ' ', '-1', '+1', '1.5', '0x10', '1e3', '9'.repeat(20)]
const HOST_NAME = {
  good: ['0.0.0.0', '::', 'svc.internal', 'localhost'],
  bad: ['http://localhost', 'localhost:4000', 'a b', ' '],
}
const ANY_TEXT = { good: ['x'], bad: [] }

/** Every setting there is: the type demands a row for a new one. */
const VALUES: Table = {
  ORGANIZATIONS_PER_PERSON: { good: ['0', '10'], bad: NO_NUMBERS },
  MCP_URL: { good: ['https://mcp.example.com'], bad: ['ftp://mcp.example.com', 'mcp'] },
  MCP_ALLOWED_ORIGINS: { good: ['https://a.test,https://b.test'], bad: ['a.test'] },
  MCP_CALLS_PER_MINUTE: { good: ['1', '600'], bad: ['0', ...NO_NUMBERS] },
  MCP_STEP_UP: { good: ['challenge', 'text'], bad: ['off', 'Challenge'] },
  OAUTH_DCR: { good: ['on', 'off'], bad: ['maybe'] },
  HTTPS_PROXY: {
    good: ['http://proxy.example:3128', 'http://user:p%40ss@10.0.0.1:8080', 'https://proxy.example'],
    bad: [
      'proxy.example:3128',
      'socks5://proxy.example',
      'http://proxy.example/path',
      'http://proxy.example/?x',
    ],
  },
  NO_PROXY: { good: ['*', 'models.internal, .example.com', '10.0.0.5'], bad: [] },
  ENTERPRISE_AUTH: { good: ['on', 'off'], bad: ['maybe'] },
  OAUTH_CIMD: { good: ['on', 'off'], bad: ['maybe'] },
  OAUTH_LOOPBACK_PORTS: { good: ['portless', 'exact', 'any'], bad: ['all'] },
  OAUTH_REFRESH_GRACE_S: { good: ['0', '300'], bad: ['-1', '301', 'x'] },
  OAUTH_PRIVATE_REDIRECTS: { good: ['cursor://x/y'], bad: [] },
  SVC_SERVICES: {
    good: ['worker', 'mcp-server, console', 'auth-service,worker,'],
    bad: ['gateway', ',', 'worker;console', 'WORKER', 'worker,worker'],
  },
  HOST: HOST_NAME,
  PORT: { good: ['0', '80', '65535'], bad: ['65536', ...NO_NUMBERS] },
  METRICS_HOST: HOST_NAME,
  METRICS_PORT: { good: ['off', '0', '9090'], bad: ['on', '65536', ...NO_NUMBERS] },
  SVC_DATA_DIR: ANY_TEXT,
  DATABASE_URL: {
    good: ['postgres://user:pw@host:5432/svc', 'postgresql://host/svc?sslmode=require'],
    bad: ['mysql://host/svc', 'host/svc', 'postgres'],
  },
  DATABASE_POOL: { good: ['1', '200'], bad: ['0', '201', ...NO_NUMBERS] },
  DATABASE_PREPARE: { good: ['on', 'off'], bad: ['maybe'] },
  DATABASE_LISTEN_URL: { good: ['postgres://svc@db:5432/svc'], bad: ['mysql://db/svc', 'db:5432'] },
  DATABASE_REPLICA_URL: {
    good: ['postgres://svc@db2:5432/svc'],
    bad: ['mysql://db/svc', 'postgres://svc@db1:5432,db2:5432/svc', 'postgres://svc@db1,db2/svc'],
  },
  ENDINGS_JOURNAL: ANY_TEXT,
  TRAIL_ROOTS: ANY_TEXT,
  MANAGED_DATABASE_URL: {
    good: ['embedded', 'postgres://user:pw@host:5432/postgres'],
    bad: ['mysql://host/svc', 'host', 'Embedded'],
  },
  MANAGED_DATABASE_HOST: HOST_NAME,
  MANAGED_DATABASE_PORT: { good: ['0', '5432'], bad: ['65536', ...NO_NUMBERS] },
  MANAGED_STATEMENT_SECONDS: { good: ['1', '86400'], bad: ['0', ...NO_NUMBERS] },
  MANAGED_IDLE_TRANSACTION_SECONDS: { good: ['1', '3600'], bad: ['0', ...NO_NUMBERS] },
  MANAGED_TEMP_FILE_MB: { good: ['1', '100000'], bad: ['0', ...NO_NUMBERS] },
  MANAGED_CONNECTIONS: { good: ['1', '100'], bad: ['0', '10001', ...NO_NUMBERS] },
  MANAGED_DISK_MB: { good: ['1', '1000000'], bad: ['0', ...NO_NUMBERS] },
  ATTACH_ALLOWED: {
    good: ['10.0.0.0/8', 'db.example.com:5432, 192.0.2.7', '[2001:db8::]/32:5433'],
    bad: ['10.0.0.0/33', 'a b', 'db.example.com:0', '10.0.1'],
  },
  EMBEDDING_MODELS: {
    good: ['{}', '{"e5":{"url":"https://models.example/v1","key":"k","dimensions":1024}}'],
    bad: ['x', '[]', '{"e5":{}}', '{"minilm-l6-v2":{"url":"https://m.example","dimensions":384}}'],
  },
  EMBEDDING_MODEL_DIR: { good: ['/models/e5-small', 'models/bge'], bad: [] },
  EMBEDDING_THREADS: { good: ['1', '8'], bad: ['0', '65', ...NO_NUMBERS] },
  MAINTENANCE_MODELS: {
    good: ['{}', '{"claude":{"wire":"anthropic","url":"https://models.example","key":"k"}}'],
    bad: ['x', '[]', '{"claude":{}}', '{"rules":{"wire":"anthropic","url":"https://models.example"}}'],
  },
  MAINTENANCE_RUNS_AT_ONCE: { good: ['1', '200'], bad: ['0', '201', ...NO_NUMBERS] },
  APP_EVENTS_PER_DAY: { good: ['1', '1000'], bad: ['0', ...NO_NUMBERS] },
  LOG_LINES_PER_MINUTE: { good: ['1', '60000'], bad: ['0', ...NO_NUMBERS] },
  LOG_MIB_PER_APP: { good: ['1', '1024'], bad: ['0', ...NO_NUMBERS] },
  EMBEDDING_TOKENS_PER_DAY: { good: ['1', '20000000'], bad: ['0', ...NO_NUMBERS] },
  QUESTIONS_PER_MINUTE: { good: ['1', '600'], bad: ['0', ...NO_NUMBERS] },
  QUESTIONS_PER_DAY: { good: ['1', '100000'], bad: ['0', ...NO_NUMBERS] },
  SOURCE_STORAGE_MIB: { good: ['1', '100000'], bad: ['0', ...NO_NUMBERS] },
  ACTIVITY_DAYS: { good: ['1', '3650'], bad: ['0', ...NO_NUMBERS] },
  REMOVED_TRAIL_DAYS: { good: ['0', '3650'], bad: ['-1', '36501', ...NO_NUMBERS] },
  DELIVERY_DAYS: { good: ['1', '3650'], bad: ['0', ...NO_NUMBERS] },
  BASE_DOMAIN: {
    good: ['example.com', 'svc.example.co.uk', 'EXAMPLE.com', 'xn--bcher-kva.example'],
    bad: [
      'https://example.com',
      'example.com/',
      '../..',
      'a..b',
      '.example.com',
      '10.0.0.1',
      'a b',
      'example.com:80',
    ],
  },
  API_URL: PUBLIC,
  AUTH_URL: PUBLIC,
  APP_URL: PUBLIC,
  SITE_URL: PUBLIC,
  SVC_BUILD_COMMIT: {
    good: ['0123456789abcdef'.repeat(2) + '01234567'],
    bad: ['v0.1.0', 'a'.repeat(39), 'A'.repeat(40)],
  },
  REDIRECT_BASE_URL: PUBLIC,
  AUTH_SERVICE_URL: { ...ORIGIN, good: [...ORIGIN.good, 'http://auth.internal:4000'] },
  AGENT_RUNNER_URL: { ...ORIGIN, good: [...ORIGIN.good, 'http://runner.internal:4000'] },
  DEPLOY_URL: { ...ORIGIN, good: [...ORIGIN.good, 'http://deploy.internal:4000'] },
  GATEWAY_URL: { ...ORIGIN, good: [...ORIGIN.good, 'http://gateway.internal:4000'] },
  AUTH_LOGIN_URL: {
    good: [...ADDRESS.good, 'https://vendor.example.com/auth/sign-in'],
    bad: [...ADDRESS.bad, 'http://vendor.example.com/auth/sign-in'],
  },
  TRUSTED_PROXIES: {
    good: ['10.0.0.0/8', '10.0.0.1', '::1, fd00::/8', 'any'],
    bad: [
      '10.0.0.0/33',
      '::1/129',
      '10.0.0.0/',
      '10.0.0.0/8/8',
      'proxy.example.com',
      '10.0.0',
      '10.0.0.0/-1',
    ],
  },
  HOSTED_ORGS: { good: [], bad: ['acme', 'org_', 'org_0,acme'] },
  AUTH_MODE: { good: ['self'], bad: ['SELF', 'vendor'] },
  JWT_SECRET: SECRET,
  JWT_SIGNING_KEY: SECRET,
  ACTOR_ASSERTION_SECRET: SECRET,
  DATA_KEY: SECRET,
  AGENT_RUNNER_SECRET: SECRET,
  SVC_OPERATOR_TOKEN: { good: ['t'.repeat(32)], bad: ['t'.repeat(31)] },
  SVC_ADMIN_EMAIL: { good: ['ada@example.com'], bad: ['ada', 'ada@', '@example.com', 'ada@exam ple.com'] },
  SVC_ADMIN_PASSWORD: { good: ['p'.repeat(15), 'p'.repeat(256)], bad: ['p'.repeat(14), 'p'.repeat(257)] },
  SVC_ORG: { good: ['Ada & Söhne', 'n'.repeat(120)], bad: ['n'.repeat(121), '  ', 'a\u202eb', 'a\nb'] },
  PASSWORD_SIGN_IN: { good: ['true', 'FALSE', '1', '0', 'on', 'off', 'yes', 'no'], bad: ['maybe', '2', ' '] },
  ALLOWED_REDIRECT_BASE_URLS: {
    good: ['https://a.example.com', 'https://a.example.com/app, http://localhost:3000'],
    bad: ['a.example.com', 'javascript:alert(1)', 'http://a.example.com', 'https://a.example.com,nonsense'],
  },
  GOOGLE_CLIENT_ID: ANY_TEXT,
  GOOGLE_CLIENT_SECRET: ANY_TEXT,
  GOOGLE_AUTHORITY: ADDRESS,
  MICROSOFT_CLIENT_ID: ANY_TEXT,
  MICROSOFT_CLIENT_SECRET: ANY_TEXT,
  MICROSOFT_TENANT_ID: {
    good: ['common', 'organizations', 'consumers', '8b0c1d2e-3f40-4a5b-8c6d-7e8f90a1b2c3'],
    bad: ['example.com', 'COMMON', '8b0c1d2e'],
  },
  MICROSOFT_AUTHORITY: ADDRESS,
  OIDC_ISSUER: ADDRESS,
  OIDC_CLIENT_ID: ANY_TEXT,
  OIDC_CLIENT_SECRET: ANY_TEXT,
  OIDC_TITLE: { good: ['Okta'], bad: ['t'.repeat(41)] },
  SMTP_URL: {
    good: ['smtp://mail', 'smtps://user:pw@mail.example.com:465'],
    bad: ['mail.example.com', 'http://mail'],
  },
  MAIL_FROM: ANY_TEXT,
  DKIM_SELECTOR: { good: ['svc1', 'a.b-c'], bad: ['a b', 'x;', '-a'] },
  DKIM_PRIVATE_KEY: {
    good: [RSA_KEY, RSA_KEY.replaceAll('\n', '\\n'), '/run/secrets/dkim.pem'],
    bad: ['-----BEGIN nonsense', EC_KEY],
  },
  DKIM_DOMAIN: { good: ['example.com'], bad: ['example.com;', 'https://example.com'] },
  CHAT_CLIENT_ID: ANY_TEXT,
  CHAT_CLIENT_SECRET: ANY_TEXT,
  CHAT_URL: PUBLIC,
  CHECKS_ALLOW_NETS: {
    good: ['', `org_${'0'.repeat(25)}=10.0.0.0/8, org_${'0'.repeat(25)}=::1`],
    bad: [
      '10.0.0.0/8',
      'acme=10.0.0.0/8',
      `org_${'0'.repeat(25)}=10.0.0.0/33`,
      `org_${'0'.repeat(25)}=app.internal`,
    ],
  },
  NOTIFY_ALLOW_NETS: {
    good: ['10.0.0.0/8, ::1', '127.0.0.1', `10.0.0.0/8, org_${'0'.repeat(25)}=10.1.0.0/16`],
    bad: ['10.0.0.0/33', 'hooks.internal', '::/0', 'shop=10.0.0.0/8', `org_${'0'.repeat(25)}=hooks.internal`],
  },
  WORKLOAD_IDENTITY_ENABLED: { good: ['true', 'off'], bad: ['maybe'] },
  WORKLOAD_AUDIENCE: { good: ['svc-control-plane'], bad: ['a'.repeat(257)] },
  SVC_WORKLOAD_AUDIENCE: { good: ['', 'svc-control-plane'], bad: ['a'.repeat(257)] },
  WORKLOAD_NAMESPACES: {
    good: ['', `org_${'0'.repeat(25)}=shop, org_${'0'.repeat(25)}=shop-2`],
    bad: ['shop', 'acme=shop', `org_${'0'.repeat(25)}=Shop`, `org_${'0'.repeat(25)}=-shop`],
  },
  KUBERNETES_SERVICE_HOST: ANY_TEXT,
  KUBERNETES_SERVICE_PORT: { good: ['443', '6443'], bad: ['0', '65536', ...NO_NUMBERS] },
  KUBERNETES_CREDENTIALS_DIR: ANY_TEXT,
  LOG_LEVEL: { good: ['debug', 'info', 'warn', 'error', 'silent'], bad: ['trace', 'INFO'] },
  LOG_FORMAT: { good: ['json', 'text'], bad: ['pretty'] },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    good: ['http://collector:4318', 'https://otel.example.com/v1'],
    bad: ['collector:4318'],
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    good: ['authorization=Bearer%20abc', 'x-tenant=one, x-key=a%2Cb'],
    bad: ['Bearer abc', 'a=%', 'a=b,', 'a=1%0A2'],
  },
  STOP_DELAY_SECONDS: { good: ['0', '60'], bad: ['61', ...NO_NUMBERS] },
  STOP_SECONDS: { good: ['0', '600'], bad: ['601', ...NO_NUMBERS] },
  ARGON2_MEMORY_KIB: { good: ['64', '1048576'], bad: ['63', '1048577', ...NO_NUMBERS] },
}

/** Settings that only make sense with others. */
const COMPANIONS: Partial<Record<keyof typeof SETTINGS, Env>> = {
  ENDINGS_JOURNAL: { DATABASE_URL: 'postgres://svc@db:5432/svc', DATA_KEY: hex('a') },
  GOOGLE_CLIENT_ID: { GOOGLE_CLIENT_SECRET: 'x' },
  GOOGLE_CLIENT_SECRET: { GOOGLE_CLIENT_ID: 'x' },
  MICROSOFT_CLIENT_ID: { MICROSOFT_CLIENT_SECRET: 'x', MICROSOFT_TENANT_ID: 'common' },
  MICROSOFT_CLIENT_SECRET: { MICROSOFT_CLIENT_ID: 'x', MICROSOFT_TENANT_ID: 'common' },
  MICROSOFT_TENANT_ID: { MICROSOFT_CLIENT_ID: 'x', MICROSOFT_CLIENT_SECRET: 'x' },
  OIDC_ISSUER: { OIDC_CLIENT_ID: 'x', OIDC_CLIENT_SECRET: 'x' },
  OIDC_CLIENT_ID: { OIDC_ISSUER: 'https://id.example.com', OIDC_CLIENT_SECRET: 'x' },
  OIDC_CLIENT_SECRET: { OIDC_ISSUER: 'https://id.example.com', OIDC_CLIENT_ID: 'x' },
  SMTP_URL: { MAIL_FROM: 'svc@example.com' },
  MAIL_FROM: { SMTP_URL: 'smtp://mail' },
  DKIM_SELECTOR: { DKIM_PRIVATE_KEY: '/run/secrets/dkim.pem' },
  DKIM_PRIVATE_KEY: { DKIM_SELECTOR: 'svc1' },
  CHAT_CLIENT_ID: { CHAT_CLIENT_SECRET: 'x' },
  CHAT_CLIENT_SECRET: { CHAT_CLIENT_ID: 'x' },
}

/** contract, Authentication 9: empty, it switches off. */
const KEEPS_EMPTY = ['SVC_WORKLOAD_AUDIENCE']

test('no other setting takes an empty value for one', () => {
  const keeping = Object.entries(SETTINGS).filter(([, setting]) => 'keepsEmpty' in setting)
  expect(keeping.map(([key]) => key)).toEqual(KEEPS_EMPTY)
})

test.each(Object.entries(VALUES))(
  '%s takes its good values and refuses its bad ones',
  (key, { good, bad }) => {
    const others = COMPANIONS[key as keyof typeof SETTINGS] ?? {}
    for (const value of good) expect(problemsOf({ ...others, [key]: value }), `good: ${value}`).toEqual([])
    for (const value of bad) {
      const problems = problemsOf({ ...others, [key]: value })
      expect(problems.length, `bad: ${value}`).toBeGreaterThan(0)
      // Nothing else is blamed for it.
      for (const problem of problems) expect(problem).toMatch(new RegExp(`^${key}: `))
      // Nor in the words of a validator.
      expect(problems.join()).not.toMatch(/invalid|expected|too (big|small)/i)
    }
    // Compose files and charts leave empty variables behind.
    if (!KEEPS_EMPTY.includes(key)) expect(readConfig({ [key]: '' })).toEqual(readConfig({}))
  },
)

test('everywhere is a word, and no range', () => {
  expect(readConfig({ TRUSTED_PROXIES: '10.0.0.1, any' }).TRUSTED_PROXIES).toEqual([
    '10.0.0.1',
    '0.0.0.0/0',
    '::/0',
  ])
  for (const range of ['0.0.0.0/0', '10.0.0.0/0', '::/0', '::/00']) {
    expect(problemsOf({ TRUSTED_PROXIES: range })).toEqual([
      'TRUSTED_PROXIES: covers every address. If that is intended, write `any`',
    ])
  }
  const org = 'org_0mwh8z6vdi7sihk624usrwftv'
  for (const key of ['CHECKS_ALLOW_NETS', 'NOTIFY_ALLOW_NETS']) {
    expect(problemsOf({ [key]: `${org}=0.0.0.0/0` })).toEqual([
      `${key}: ${org}=0.0.0.0/0 covers every address. If that is intended, write \`any\``,
    ])
  }
  expect(readConfig({ CHECKS_ALLOW_NETS: `${org}=any` }).CHECKS_ALLOW_NETS.get(org)).toEqual([
    '0.0.0.0/0',
    '::/0',
  ])
})

test('a misspelled name is told with the right one, unless that is set or the name is somebody else’s', () => {
  const misspelled = { PROT: '1', DATABSE_URL: 'x', SVC_DATADIR: 'x', TRUSTED_PROXYS: 'x' }
  expect(misspelledSettings(misspelled)).toEqual([
    { given: 'PROT', meant: 'PORT' },
    { given: 'DATABSE_URL', meant: 'DATABASE_URL' },
    { given: 'SVC_DATADIR', meant: 'SVC_DATA_DIR' },
    { given: 'TRUSTED_PROXYS', meant: 'TRUSTED_PROXIES' },
  ])
  expect(misspelledSettings({ ...misspelled, PORT: '1' }).map(({ given }) => given)).not.toContain('PROT')
  const usual =
    'PATH HOME PWD OLDPWD USER LOGNAME SHELL TERM LANG TZ HOSTNAME HTTP_PROXY http_proxy NODE_ENV SVC_TOKEN'
  expect(misspelledSettings(Object.fromEntries(usual.split(' ').map((name) => [name, 'x'])))).toEqual([])
})

test('without any setting everything runs here, on loopback, embedded', () => {
  const config = readConfig({})
  expect(config).toMatchObject({
    SVC_SERVICES: [
      'api-gateway',
      'auth-service',
      'deploy-api',
      'console',
      'site',
      'mcp-server',
      'worker',
      'agent-runner',
    ],
    HOST: '127.0.0.1',
    PORT: 4000,
    METRICS_HOST: '127.0.0.1',
    METRICS_PORT: 4001,
    SVC_DATA_DIR: '.svc',
    TRUSTED_PROXIES: [],
    AUTH_MODE: 'self',
  })
  expect(config.DATABASE_URL).toBeUndefined()
  for (const key of ['API_URL', 'AUTH_URL', 'APP_URL'] as const) {
    expect(config[key].href).toBe('http://localhost:4000/')
  }
})

test('the addresses follow the port, or one domain, and each can be set by itself', () => {
  const origins = (env: Env) => {
    const { API_URL, AUTH_URL, APP_URL } = readConfig(env)
    return [API_URL.origin, AUTH_URL.origin, APP_URL.origin]
  }
  expect(origins({ PORT: '8080' })).toEqual(Array(3).fill('http://localhost:8080'))
  const domain = { BASE_DOMAIN: 'example.com' }
  expect(origins(domain)).toEqual([
    'https://api.example.com',
    'https://auth.example.com',
    'https://app.example.com',
  ])
  expect(origins({ ...domain, AUTH_URL: 'https://id.example.com' })[1]).toBe('https://id.example.com')
})

test('the site is where the console is, unless it is set', () => {
  const site = (env: Env) => readConfig(env).SITE_URL.origin
  expect(site({ BASE_DOMAIN: 'example.com' })).toBe('https://app.example.com')
  expect(site({ APP_URL: 'https://console.example.com' })).toBe('https://console.example.com')
  expect(site({ BASE_DOMAIN: 'example.com', SITE_URL: 'https://example.com' })).toBe('https://example.com')
})

test('every problem is told at once, single ones and those between settings', () => {
  const env = {
    PORT: 'x',
    LOG_LEVEL: 'loud',
    TRUSTED_PROXIES: '10.0.0.0/8,nonsense',
    API_URL: 'http://api.example.com',
    GOOGLE_CLIENT_ID: 'x',
    AUTH_MODE: 'hosted',
    JWT_SECRET: hex('a'),
    DATA_KEY: hex('A'),
  }
  expect(problemsOf(env).map((problem) => problem.split(':')[0])).toEqual([
    'PORT',
    'TRUSTED_PROXIES',
    'LOG_LEVEL',
    'API_URL',
    'GOOGLE_CLIENT_SECRET',
    'AUTH_SERVICE_URL',
    'AUTH_LOGIN_URL',
    'HOSTED_ORGS',
    'JWT_SECRET, DATA_KEY',
  ])
  expect(new ConfigProblems(problemsOf(env)).message).toMatch(
    /^The configuration has 9 problems:\n {2}PORT: /,
  )
  expect(new ConfigProblems(['PORT: no']).message).toBe('The configuration has 1 problem:\n  PORT: no')
})

/** A configuration error ends in a log that more people read than may know the password. */
test('no problem repeats the value it is about', () => {
  const env = {
    JWT_SECRET: 'geheim',
    SVC_OPERATOR_TOKEN: 'geheim',
    SVC_ADMIN_PASSWORD: 'geheim',
    DATABASE_URL: 'mysql://svc:geheim@host/svc',
    SMTP_URL: 'http://svc:geheim@mail',
    MAIL_FROM: 'svc@example.com',
    API_URL: 'https://svc:geheim@api.example.com',
  }
  const problems = problemsOf(env)
  expect(problems).toHaveLength(6)
  expect(problems.join()).not.toContain('geheim')
})

const WHICH_TENANT = 'Name your tenant by its UUID; `common` admits everybody who has a Microsoft account'
const TOGETHER: [string, Env][] = [
  ['GOOGLE_CLIENT_SECRET: required with GOOGLE_CLIENT_ID', { GOOGLE_CLIENT_ID: 'x' }],
  ['GOOGLE_CLIENT_ID: required with GOOGLE_CLIENT_SECRET', { GOOGLE_CLIENT_SECRET: 'x' }],
  [
    `MICROSOFT_CLIENT_SECRET, MICROSOFT_TENANT_ID: required with MICROSOFT_CLIENT_ID. ${WHICH_TENANT}`,
    { MICROSOFT_CLIENT_ID: 'x' },
  ],
  [
    `MICROSOFT_TENANT_ID: required with MICROSOFT_CLIENT_ID. ${WHICH_TENANT}`,
    { MICROSOFT_CLIENT_ID: 'x', MICROSOFT_CLIENT_SECRET: 'x' },
  ],
  [
    'OIDC_CLIENT_ID, OIDC_CLIENT_SECRET: required with OIDC_ISSUER',
    { OIDC_ISSUER: 'https://id.example.com' },
  ],
  ['OIDC_ISSUER: required with OIDC_CLIENT_ID', { OIDC_CLIENT_ID: 'x', OIDC_CLIENT_SECRET: 'x' }],
  ['MAIL_FROM: required with SMTP_URL', { SMTP_URL: 'smtp://mail' }],
  ['SMTP_URL: required with MAIL_FROM', { MAIL_FROM: 'svc@example.com' }],
  ['DKIM_PRIVATE_KEY: required with DKIM_SELECTOR', { DKIM_SELECTOR: 'svc1' }],
  ['DKIM_SELECTOR: required with DKIM_PRIVATE_KEY', { DKIM_PRIVATE_KEY: 'key.pem' }],
  ['CHAT_CLIENT_SECRET: required with CHAT_CLIENT_ID', { CHAT_CLIENT_ID: 'x' }],
]
test.each(TOGETHER)('%s', (problem, env) => {
  expect(problemsOf(env)).toEqual([problem])
})

const ORG = `org_${'0'.repeat(25)}`
const HOSTED = {
  AUTH_MODE: 'hosted',
  AUTH_SERVICE_URL: 'https://auth.vendor.example',
  AUTH_LOGIN_URL: 'https://app.vendor.example/auth/sign-in',
  HOSTED_ORGS: ORG,
}

test('with the vendor’s auth service everything but the auth service runs here', () => {
  expect(readConfig(HOSTED).SVC_SERVICES).toEqual([
    'api-gateway',
    'deploy-api',
    'console',
    'site',
    'mcp-server',
    'worker',
    'agent-runner',
  ])
})

test('with the vendor’s auth service its two addresses are needed and our own may not run', () => {
  expect(problemsOf({ AUTH_MODE: 'hosted' })).toEqual([
    'AUTH_SERVICE_URL: required with AUTH_MODE=hosted',
    'AUTH_LOGIN_URL: required with AUTH_MODE=hosted',
    'HOSTED_ORGS: required with AUTH_MODE=hosted',
  ])
  expect(problemsOf({ ...HOSTED, SVC_SERVICES: 'auth-service,worker' })).toEqual([
    'SVC_SERVICES: with AUTH_MODE=hosted the vendor runs the auth-service; remove it',
  ])
})

test('the organizations that are served are named by id, and only where the vendor knows them', () => {
  const other = `org_${'1'.repeat(25)}`
  expect(readConfig({ ...HOSTED, HOSTED_ORGS: `${ORG}, ${other},` }).HOSTED_ORGS).toEqual([ORG, other])
  for (const named of ['acme', `${ORG},acme`, ORG.toUpperCase(), `usr_${'0'.repeat(25)}`, '*']) {
    expect(problemsOf({ ...HOSTED, HOSTED_ORGS: named })).toEqual([
      'HOSTED_ORGS: must be ids of organizations (org_…), not slugs',
    ])
  }
  expect(problemsOf({ ...HOSTED, HOSTED_ORGS: ' , ' })).toEqual([
    'HOSTED_ORGS: must name at least one organization',
  ])
  expect(problemsOf({ HOSTED_ORGS: ORG })).toEqual(['HOSTED_ORGS: only with AUTH_MODE=hosted'])
})

const PAIRS = SECRET_KEYS.flatMap((one, at) =>
  SECRET_KEYS.slice(at + 1).map((other) => [one, other] as const),
)
test.each(PAIRS)('%s and %s must differ, also where only the case does', (one, other) => {
  expect(problemsOf({ [one]: hex('a'), [other]: hex('A') })).toEqual([
    `${one}, ${other}: must all be different`,
  ])
  expect(problemsOf({ [one]: hex('a'), [other]: hex('b') })).toEqual([])
})

test('an email address is kept in lower case, as everywhere', () => {
  expect(readConfig({ SVC_ADMIN_EMAIL: 'Ada@Example.COM' }).SVC_ADMIN_EMAIL).toBe('ada@example.com')
})

test('an api-gateway apart from its auth-service must be told the database that both share', () => {
  expect(() => readConfig({ SVC_SERVICES: 'api-gateway' })).toThrow(
    'DATABASE_URL: required by api-gateway when the auth-service runs elsewhere',
  )
  const shared = { SVC_SERVICES: 'api-gateway', DATABASE_URL: 'postgres://db.example/svc' }
  expect(readConfig(shared).SVC_SERVICES).toEqual(['api-gateway'])
})

test('a deploy-api apart from its api-gateway must be told the database that both share', () => {
  expect(problemsOf({ SVC_SERVICES: 'deploy-api' })).toEqual([
    'DATABASE_URL: required by deploy-api when the api-gateway runs elsewhere',
  ])
  expect(problemsOf({ SVC_SERVICES: 'deploy-api', DATABASE_URL: 'postgres://db.example/svc' })).toEqual([])
})

test('an agent-runner apart must be told who it works for, and nothing of a database', () => {
  const apart = { SVC_SERVICES: 'agent-runner' }
  expect(problemsOf(apart)).toEqual([
    'AGENT_RUNNER_SECRET: required by agent-runner when the deploy-api runs elsewhere',
    'DEPLOY_URL: required by agent-runner when the deploy-api runs elsewhere',
  ])
  const told = { AGENT_RUNNER_SECRET: hex('e'), DEPLOY_URL: 'http://deploy.internal:4000' }
  expect(problemsOf({ ...apart, ...told })).toEqual([])
  expect(problemsOf({ SVC_SERVICES: 'deploy-api,agent-runner', DATABASE_URL: 'postgres://db/svc' })).toEqual(
    [],
  )
})

test('the keys of models are refused where no agent-runner runs, and not repeated', () => {
  const models = (key?: string) => JSON.stringify({ m: { wire: 'anthropic', url: 'https://m.example', key } })
  const worker = { SVC_SERVICES: 'worker', DATABASE_URL: 'postgres://db/svc' }
  expect(problemsOf({ ...worker, MAINTENANCE_MODELS: models('the-key') })).toEqual([
    'MAINTENANCE_MODELS: keys belong to the agent-runner only; leave them out here',
  ])
  expect(problemsOf({ ...worker, MAINTENANCE_MODELS: models() })).toEqual([])
  expect(problemsOf({ MAINTENANCE_MODELS: models('the-key') })).toEqual([])
})

test('an empty audience of the deploy-api is a value, and any other empty variable an absence', () => {
  expect(readConfig({ SVC_WORKLOAD_AUDIENCE: '' }).SVC_WORKLOAD_AUDIENCE).toBe('')
  const unset = readConfig({ WORKLOAD_AUDIENCE: '', WORKLOAD_NAMESPACES: '' })
  expect([unset.SVC_WORKLOAD_AUDIENCE, unset.WORKLOAD_AUDIENCE]).toEqual([
    'svc-control-plane',
    'svc-control-plane',
  ])
})

test('both sides of workload identity are for the same audience, unless it is off', () => {
  const problem = ['WORKLOAD_AUDIENCE, SVC_WORKLOAD_AUDIENCE: must be the same']
  expect(problemsOf({ WORKLOAD_AUDIENCE: 'other' })).toEqual(problem)
  expect(problemsOf({ SVC_WORKLOAD_AUDIENCE: 'other' })).toEqual(problem)
  expect(problemsOf({ WORKLOAD_AUDIENCE: 'other', SVC_WORKLOAD_AUDIENCE: 'other' })).toEqual([])
  expect(problemsOf({ WORKLOAD_AUDIENCE: 'other', SVC_WORKLOAD_AUDIENCE: '' })).toEqual([])
  expect(problemsOf({ WORKLOAD_AUDIENCE: 'other', WORKLOAD_IDENTITY_ENABLED: 'false' })).toEqual([])
})
