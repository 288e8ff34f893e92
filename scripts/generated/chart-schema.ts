/** chart/values.schema.json: what may be set in the chart, which refuses everything else by its name. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'
import { ACCEPTED, SERVICE_NAMES, SETTINGS } from '../../src/boot/config.ts'
import { idPattern } from '../../src/contracts/ids.ts'
import { wholePattern } from './whole-pattern.ts'

const CHART = join(import.meta.dirname, '../../chart')

export type ValueSchema = {
  readonly $schema?: string
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly definitions?: Properties
  readonly properties?: Properties
  readonly additionalProperties?: boolean | ValueSchema
  readonly items?: ValueSchema
  readonly pattern?: string
  readonly enum?: readonly string[]
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
}
type Properties = { readonly [name: string]: ValueSchema }

const group = (properties: Properties, description?: string): ValueSchema => ({
  type: 'object',
  ...(description === undefined ? {} : { description }),
  additionalProperties: false,
  properties,
})
const text = (description: string, more: ValueSchema = {}): ValueSchema => ({
  type: 'string',
  description,
  ...more,
})
/** Every default is the empty string, so a pattern admits that too. */
const like = (description: string, pattern: string): ValueSchema =>
  text(description, { pattern: `^(${pattern})?$` })
const flag = (description: string): ValueSchema => ({ type: 'boolean', description })
const whole = (description: string, minimum: number, maximum: number): ValueSchema => ({
  type: 'integer',
  description,
  minimum,
  maximum,
})
const list = (description: string, items: ValueSchema): ValueSchema => ({ type: 'array', description, items })
/** Handed to Kubernetes as it is, which checks it. */
const anything = (description: string): ValueSchema => ({ type: 'object', description })
/** Annotations and labels: Kubernetes refuses numbers and booleans there. */
const texts = (description: string): ValueSchema => ({
  type: 'object',
  description,
  additionalProperties: { type: 'string' },
})
/** A pattern of the server's own, to be a part of another. */
const inner = ({ source }: RegExp): string => source.replace(/^\^/, '').replace(/\$$/, '')

const NAME = '[a-z0-9]([-a-z0-9.]*[a-z0-9])?'
const hex = (description: string): ValueSchema =>
  like(`${description} 32 random bytes as 64 hexadecimal digits.`, '[0-9a-fA-F]{64}')
const existingSecret = (...keys: readonly string[]): ValueSchema =>
  like(
    `Name of a Secret that you made, with ${keys.length === 1 ? 'the key' : 'the keys'} ${keys.map((key) => `\`${key}\``).join(' and ')}. Goes before the value itself.`,
    NAME,
  )
const httpsOrigin = (description: string): ValueSchema => like(description, 'https://[^/?#@\\s]+')
const CIDR = [z.regexes.ipv4, z.regexes.ipv6, z.regexes.cidrv4, z.regexes.cidrv6].map(inner).join('|')
/** As the server reads them: RFC 1123. */
const NAMESPACE = `${inner(idPattern('org'))}=[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?`
const DIGEST = 'sha256:[0-9a-f]{64}'
const TAG = '[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}'
const peers = (description: string): ValueSchema =>
  list(`${description} As in a NetworkPolicy.`, { type: 'object' })

/** Of one model, without its key. */
const MODEL = group({
  wire: text('Protocol of the provider.', { enum: ['anthropic', 'openai-responses', 'openai-chat'] }),
  url: text('Base URL of the provider.', { pattern: '^https?://[^?#@\\s]+$' }),
  remote_model: text('What the provider calls it, if not by our name.'),
  output_limit_field: text('Of `openai-chat`.', { enum: ['max_tokens', 'max_completion_tokens'] }),
  max_output_tokens: whole('Of one answer.', 256, 200_000),
  max_run_tokens: whole('Of all requests of one run.', 1_000, 100_000_000),
  timeout_ms: whole('Milliseconds to wait for an answer.', 1_000, 600_000),
})

const GLOBAL: Properties = {
  image: group({
    repository: like(
      'Required. Image of every service. Build it from the Containerfile and push it to your registry.',
      '[a-z0-9][a-z0-9._/:-]*',
    ),
    tag: like('Tag of the image. Empty: the version of svc that this chart belongs to.', TAG),
    digest: like('Digest of the image, instead of a tag.', DIGEST),
    pullPolicy: text('When nodes pull the image.', { enum: ['Always', 'IfNotPresent', 'Never'] }),
    pullSecrets: list('Names of Secrets for the registry.', { type: 'string', pattern: `^${NAME}$` }),
  }),
  baseDomain: like(
    'Required. Public addresses are `api.`, `app.`, `auth.` and `mcp.` under this domain.',
    // The last label begins with a letter, as in BASE_DOMAIN.
    '([a-z0-9]([a-z0-9-]*[a-z0-9])?[.])+[a-z]([a-z0-9-]*[a-z0-9])?',
  ),
  trustedProxies: list(
    'Addresses or ranges of the ingress controller and of the pods: whose `X-Forwarded-For` is trusted. Never a range that clients are in: they could forge their address.',
    { type: 'string', pattern: `^(${CIDR})$` },
  ),
  listenAddress: text('Address to listen on: `0.0.0.0`, or `::` where pods have IPv6.', {
    enum: ['0.0.0.0', '::'],
  }),
  fixedUser: flag(
    'Whether pods run as user and group 10001. False: the cluster chooses them, as OpenShift does.',
  ),
  endingsJournal: group({
    existingClaim: like(
      'Name of a PersistentVolumeClaim that you made, `ReadWriteMany`, on storage that does not fail together with the database. The services with a database keep there for a day what was ended (`ENDINGS_JOURNAL`).',
      NAME,
    ),
  }),
  caBundle: group({
    existingConfigMap: like(
      'Name of a ConfigMap that you made, whose key `ca.crt` has certificates of your own authorities (PEM). Every pod trusts them in addition (`NODE_EXTRA_CA_CERTS`).',
      NAME,
    ),
  }),
  auth: group({
    mode: text('`self`: your own auth-service. `hosted`: a vendor’s.', { enum: ['self', 'hosted'] }),
    serviceUrl: httpsOrigin('Hosted: where tokens are validated (`AUTH_SERVICE_URL`).'),
    loginUrl: like('Hosted: where people sign in (`AUTH_LOGIN_URL`).', 'https://\\S+'),
    organizations: list('Hosted: ids of the organizations that are served (`HOSTED_ORGS`).', {
      type: 'string',
      pattern: idPattern('org').source,
    }),
  }),
  database: group({
    url: like(
      'Required, or `existingSecret`. Postgres with everything svc knows (`DATABASE_URL`).',
      'postgres(ql)?://\\S+',
    ),
    existingSecret: existingSecret('DATABASE_URL'),
  }),
  managedDatabase: group({
    url: like(
      'Postgres with pgvector for managed databases (`MANAGED_DATABASE_URL`). Use a dedicated server: CONNECT is revoked from PUBLIC on all its databases. Empty: the server of `global.database`, where that then happens.',
      'postgres(ql)?://\\S+',
    ),
    existingSecret: existingSecret('MANAGED_DATABASE_URL'),
  }),
  dataKey: group({
    value: hex('Required, or `existingSecret`. Encrypts stored credentials (`DATA_KEY`).'),
    existingSecret: existingSecret('DATA_KEY'),
  }),
  platformConnector: group({
    actorAssertionSecret: hex(
      'Required, or `existingSecret`. Signs what the MCP server says for an agent (`ACTOR_ASSERTION_SECRET`).',
    ),
    existingSecret: existingSecret('ACTOR_ASSERTION_SECRET'),
  }),
  agentRunner: group({
    secret: hex(
      'Required, or `existingSecret`. By which agent-runner, deploy-api and worker know each other (`AGENT_RUNNER_SECRET`).',
    ),
    existingSecret: existingSecret('AGENT_RUNNER_SECRET'),
    models: {
      type: 'object',
      description:
        'Language models of the maintenance agent by name, without their keys (`MAINTENANCE_MODELS`). Empty: the built-in rules only.',
      additionalProperties: MODEL,
    },
  }),
  operator: group({
    token: like('Turns on the operator API (`SVC_OPERATOR_TOKEN`). At least 32 characters.', '\\S{32,}'),
    existingSecret: existingSecret('SVC_OPERATOR_TOKEN'),
  }),
  mail: group({
    url: like('Mail server (`SMTP_URL`). Empty: no email.', 'smtps?://\\S+'),
    from: text('Sender of all email (`MAIL_FROM`). Required with a mail server.'),
    existingSecret: existingSecret('SMTP_URL'),
  }),
  workloadIdentity: group({
    enabled: flag('Whether workers may prove themselves with a service account token of the cluster.'),
    audience: text(
      'Audience of these tokens, for both sides (`WORKLOAD_AUDIENCE`, `SVC_WORKLOAD_AUDIENCE`).',
      { pattern: '^[A-Za-z0-9][A-Za-z0-9._:/-]*$' },
    ),
    namespaces: like(
      'Which organization may bind service accounts of which namespace, as `org_…=namespace` separated by commas (`WORKLOAD_NAMESPACES`).',
      `${NAMESPACE}(, ?${NAMESPACE})*`,
    ),
  }),
  metrics: group({
    enabled: flag('Whether pods serve `/metrics` on port 4001.'),
    from: peers('Who may read the metrics. Empty: everybody.'),
  }),
  networkPolicy: group({
    enabled: flag('Whether to create network policies.'),
    ingressFrom: peers('Who may call the public services, usually the ingress controller. Empty: everybody.'),
  }),
  settings: { $ref: '#/definitions/settings' },
}

/** Of every service, and of the job. */
const SCHEDULING: Properties = {
  podAnnotations: texts('More annotations of pods.'),
  podLabels: texts('More labels of pods.'),
  nodeSelector: texts('Nodes to run on.'),
  tolerations: list('Tolerations of pods.', { type: 'object' }),
  affinity: anything('Affinity of pods.'),
}

/** Of every service. */
const SERVICE: Properties = {
  // Helm copies `global` into every subchart before it asks the schema.
  global: { type: 'object' },
  enabled: flag('Whether to install this service.'),
  replicas: whole('Pods, unless autoscaling decides.', 0, 100),
  image: group({
    tag: like('Another tag than that of `global.image`.', TAG),
    digest: like('Another digest than that of `global.image`.', DIGEST),
  }),
  settings: { $ref: '#/definitions/settings' },
  settingsFrom: { $ref: '#/definitions/settingsFrom' },
  resources: { $ref: '#/definitions/resources' },
  autoscaling: group({
    enabled: flag('Whether a HorizontalPodAutoscaler chooses the number of pods.'),
    minReplicas: whole('Fewest pods.', 1, 100),
    maxReplicas: whole('Most pods.', 1, 1000),
    targetCPUUtilizationPercentage: whole('Percentage of the requested CPU to aim at.', 1, 100),
  }),
  podDisruptionBudget: group({
    enabled: flag('Whether to create a PodDisruptionBudget.'),
    maxUnavailable: whole('Pods that may be away at once when nodes are drained.', 1, 100),
  }),
  networkPolicy: group({
    extraIngress: list('More rules of who may call this service.', { type: 'object' }),
    extraEgress: list(
      'More rules of what this service may call. Only for services without a database; others may call anything.',
      { type: 'object' },
    ),
  }),
  serviceAccount: group({ annotations: texts('Annotations of the service account.') }),
  ...SCHEDULING,
  topologySpreadConstraints: list('How pods are spread.', { type: 'object' }),
}

const provider = (name: string, prefix: string, more: Properties = {}): ValueSchema =>
  group({
    clientId: text(`${name} sign-in: client id (\`${prefix}_CLIENT_ID\`).`),
    clientSecret: text(`${name} sign-in: client secret (\`${prefix}_CLIENT_SECRET\`).`),
    ...more,
    existingSecret: existingSecret(`${prefix}_CLIENT_SECRET`),
  })

const UUID = '[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}'

/** Of one service. */
const OWN: { readonly [service: string]: Properties } = {
  'auth-service': {
    jwt: group({
      secret: hex('Required, or `existingSecret`. First secret behind tokens and sessions (`JWT_SECRET`).'),
      signingKey: hex('Required, or `existingSecret`. Second one (`JWT_SIGNING_KEY`).'),
      existingSecret: existingSecret('JWT_SECRET', 'JWT_SIGNING_KEY'),
    }),
    redirectBaseUrl: httpsOrigin(
      'Host of the callbacks of identity providers (`REDIRECT_BASE_URL`). Empty: `https://app.<baseDomain>`.',
    ),
    allowedRedirectBaseUrls: like(
      'Further addresses to which people may return after sign-in, separated by commas (`ALLOWED_REDIRECT_BASE_URLS`).',
      'https://[^,;\\s]+(, ?https://[^,;\\s]+)*',
    ),
    google: provider('Google', 'GOOGLE'),
    microsoft: provider('Microsoft', 'MICROSOFT', {
      tenantId: like(
        'Microsoft sign-in: a tenant’s UUID, `common`, `organizations` or `consumers` (`MICROSOFT_TENANT_ID`).',
        `common|organizations|consumers|${UUID}`,
      ),
    }),
    oidc: provider('OpenID', 'OIDC', {
      issuer: like('OpenID sign-in: issuer (`OIDC_ISSUER`).', 'https://\\S+'),
      title: text('OpenID sign-in: label of the button (`OIDC_TITLE`).', { maxLength: 40 }),
    }),
    firstOwner: group({
      email: like('Email address of the first owner (`SVC_ADMIN_EMAIL`).', inner(z.regexes.email)),
      password: like(
        'Password of the first owner, 15 to 256 characters (`SVC_ADMIN_PASSWORD`).',
        '.{15,256}',
      ),
      organization: text('Name of the first organization (`SVC_ORG`).', { maxLength: 120 }),
      existingSecret: existingSecret('SVC_ADMIN_PASSWORD'),
    }),
    rbac: group({
      create: flag(
        'Whether to allow the auth-service `tokenreviews create` and `serviceaccounts get` in the cluster, for workload identity.',
      ),
    }),
  },
  'mcp-server': {
    platform: group({
      jwtSecret: hex('Required, or `existingSecret`. The same as `auth-service.jwt.secret`.'),
      existingSecret: existingSecret('JWT_SECRET'),
    }),
  },
  'agent-runner': {
    keys: {
      type: 'object',
      description: 'Keys of the models in `global.agentRunner.models`, by name.',
      additionalProperties: { type: 'string', pattern: '^[!-~]{1,1000}$' },
    },
    existingSecret: like(
      'Name of a Secret that you made with the key `MAINTENANCE_MODELS`: the models with their keys, as JSON. Goes before `keys`.',
      NAME,
    ),
  },
}

export const CHART_SERVICES: readonly string[] = SERVICE_NAMES

/** They hold credentials, and belong into a Secret. */
const SECRET_SETTINGS: readonly string[] = [
  'CHAT_CLIENT_SECRET',
  'DATABASE_LISTEN_URL',
  'DKIM_PRIVATE_KEY',
  'EMBEDDING_MODELS',
  'HTTPS_PROXY',
]

/** Settings that values of their own decide, as the templates name them. */
export function settingsInTemplates(): ReadonlySet<string> {
  const templates = globSync('{templates,charts/*/templates}/*', { cwd: CHART })
  const texts = templates.map((path) => readFileSync(join(CHART, path), 'utf8')).join('\n')
  const names = texts.matchAll(/- name: ([A-Z][A-Z_]+)$|"setting" "([A-Z_]+)"/gm)
  return new Set([...names].map(([, plain, fromSecret]) => plain ?? fromSecret ?? ''))
}

function definitions(): Properties {
  const decided = settingsInTemplates()
  // Kubernetes itself says where its API server is.
  const free = Object.entries(SETTINGS).filter(
    ([name]) => !decided.has(name) && !name.startsWith('KUBERNETES_'),
  )
  const plain = free.filter(([name]) => !SECRET_SETTINGS.includes(name))
  return {
    settings: group(
      // Text, because a template would write large numbers as 1e+06.
      Object.fromEntries(
        plain.map(([name, { description, schema }]) => [name, text(description, acceptedBy(schema))]),
      ),
      'Other settings of the server, by name; every value is a string.',
    ),
    settingsFrom: group(
      Object.fromEntries(
        free.map(([name]) => [name, text(`Secret with the key ${name}.`, { pattern: `^${NAME}$` })]),
      ),
      'Other settings out of Secrets that you made: the setting’s name, which is also the key, and the name of the Secret.',
    ),
    resources: group(
      { requests: anything('Requested of a node.'), limits: anything('Never exceeded.') },
      'CPU and memory of a pod.',
    ),
  }
}

/** What a setting takes, as far as it can be read off it. An empty one counts as not set. */
function acceptedBy(schema: z.core.$ZodType): ValueSchema {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodOptional) return acceptedBy(schema.unwrap())
  if (schema instanceof z.ZodEnum) return { enum: ['', ...schema.options.map(String)] }
  const accepted = ACCEPTED.get(schema)
  if (!accepted) return {}
  if ('words' in accepted) return { enum: ['', ...accepted.words] }
  return { pattern: `^(${wholePattern(accepted.min, accepted.max)})?$` }
}

export const valuesSchema = (): ValueSchema => ({
  $schema: 'http://json-schema.org/draft-07/schema#',
  definitions: definitions(),
  ...group({
    global: group(GLOBAL),
    migration: group({
      enabled: flag('Whether a job applies migrations before pods are replaced.'),
      deadlineSeconds: whole(
        'Seconds after which the job has failed. Give Helm a longer `--timeout`.',
        30,
        86_400,
      ),
      resources: { $ref: '#/definitions/resources' },
      ...SCHEDULING,
    }),
    ingress: group({
      enabled: flag('Whether to create an Ingress for the public addresses.'),
      className: like('Class of the Ingress.', NAME),
      annotations: texts('Annotations of the Ingress.'),
      skillsPathType: text(
        'Type of the path `/.well-known/agent-skills`. ingress-nginx refuses its dot with `Prefix`; controllers that take the other literally, as those of AWS and Google do, need `Prefix`.',
        { enum: ['ImplementationSpecific', 'Prefix'] },
      ),
      tlsSecret: like('Name of the Secret with the certificate of all public addresses.', NAME),
    }),
    ...Object.fromEntries(CHART_SERVICES.map((name) => [name, group({ ...OWN[name], ...SERVICE })])),
  }),
})

export const valuesSchemaFile = (): string => `${JSON.stringify(valuesSchema(), null, 2)}\n`
