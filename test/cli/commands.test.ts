/** Every command against a real server process, and every exit code that it can end with. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { COMMANDS } from '../../src/cli/command-table.ts'
import { findCommand } from '../../src/cli/find-command.ts'
import { run } from '../../src/cli/run.ts'
import { queryDataSource } from '../../src/contracts/data-sources.ts'
import { ERRORS } from '../../src/contracts/errors.ts'
import { OPERATIONS } from '../../src/contracts/operations.ts'
import { signInWithPassword } from '../../src/contracts/sessions.ts'
import { createApiToken } from '../../src/contracts/tokens.ts'
import { newAssistant, register, type ListeningSystem } from '../support/assistant.ts'
import { fakeEnvironment, type FakeEnvironment } from '../support/fake-environment.ts'
import { PASSWORD } from '../support/make.ts'
import { migratedFolder, processes, type ServerProcess } from '../support/process.ts'
import { ACCESS_LINES, ACCESS_ROWS, ACCESS_UNTRIED, makeAccess } from './access-rows.ts'
import { API_LINES, API_ROWS, API_UNTRIED, makePsql } from './api-rows.ts'
import { APP_LINES, APP_ROWS, APP_UNTRIED, makeAppThings } from './app-rows.ts'
import { AUDIT_LINES, AUDIT_ROWS, makeAudit } from './audit-rows.ts'
import { CHECK_LINES, CHECK_ROWS } from './check-rows.ts'
import { PIPELINE_LINES, PIPELINE_ROWS } from './pipeline-rows.ts'
import { commandOperations } from './command-operations.ts'
import { DEPLOYMENT_LINES, DEPLOYMENT_ROWS, DEPLOYMENT_UNTRIED, makeDeployments } from './deployment-rows.ts'
import { LOAD_LINES, LOAD_ROWS, LOAD_UNTRIED, makeLoadFiles } from './load-rows.ts'
import {
  MACHINE_AGENT_LINES,
  MACHINE_AGENT_ROWS,
  MACHINE_AGENT_UNTRIED,
  makeMachineAgents,
} from './machine-agent-rows.ts'
import {
  makeMaintenance,
  MAINTENANCE_LINES,
  MAINTENANCE_ROWS,
  MAINTENANCE_UNTRIED,
} from './maintenance-rows.ts'
import {
  IDENTITY_PROVIDER_LINES,
  IDENTITY_PROVIDER_ROWS,
  IDENTITY_PROVIDER_UNTRIED,
  makeProviderFiles,
} from './identity-provider-rows.ts'
import {
  makeNotifications,
  NOTIFICATION_LINES,
  NOTIFICATION_ROWS,
  NOTIFICATION_SETTINGS,
  NOTIFICATION_UNTRIED,
  startReceiver,
  type Given,
  type Row,
} from './notification-rows.ts'
import { EVAL_LINES, EVAL_ROWS, EVAL_UNTRIED, makeEval, makeQuestionFiles } from './eval-rows.ts'
import { GROUP_LINES, GROUP_ROWS, GROUP_UNTRIED, makeGroups } from './group-rows.ts'
import { makeSourceFolders, SOURCE_LINES, SOURCE_ROWS, SOURCE_UNTRIED } from './source-rows.ts'

const own = processes()
afterAll(() => own.cleanUp())

const EMAIL = 'olga@example.com'
/** Values for the names in braces in the rows below. */
const known: Record<string, string> = {}
let server: ServerProcess
let home: string
let project: string
let receiver: Awaited<ReturnType<typeof startReceiver>>

beforeAll(async () => {
  home = await own.newFolder()
  project = await own.newFolder()
  mkdirSync(join(project, '.git'))
  server = await own.start({
    env: {
      SVC_DATA_DIR: await migratedFolder(own),
      SVC_ADMIN_EMAIL: EMAIL,
      SVC_ADMIN_PASSWORD: PASSWORD,
      QUESTIONS_PER_DAY: '9',
      // Assistants of the tests come from addresses of their own.
      TRUSTED_PROXIES: '127.0.0.1',
      ...NOTIFICATION_SETTINGS,
    },
  })
  const { token } = await server.as()(signInWithPassword, { email: EMAIL, password: PASSWORD })
  const make = server.as({ token })
  known['origin'] = server.origin
  known['owner'] = (await make(createApiToken, { name: 'owner' })).token
  known['viewer'] = (await make(createApiToken, { name: 'viewer', role_cap: 'viewer' })).token
  known['scoped'] = (await make(createApiToken, { name: 'scoped', scopes: ['data:read'] })).token
  const byToken = server.as({ token: known['owner'] })
  known['child'] = (await byToken(createApiToken, { name: 'child' })).id
  // The first question waits for the model; asked now, it has come when the rows below get there.
  void byToken(queryDataSource, { source_id: 'db_sample', query: 'tents' })
  receiver = await startReceiver()
  Object.assign(known, await makeNotifications(make, receiver.url))
  Object.assign(known, await makeAppThings(make))
  Object.assign(known, await makeDeployments(make))
  await makeMaintenance(make)
  Object.assign(known, makeSourceFolders(await own.newFolder()))
  Object.assign(known, makePsql(await own.newFolder()))
  Object.assign(known, makeLoadFiles(await own.newFolder()))
  Object.assign(known, await makeMachineAgents(make, byToken, await own.newFolder()))
  Object.assign(known, await makeGroups(make, known['machine']!))
  Object.assign(known, makeQuestionFiles(await own.newFolder()))
  Object.assign(known, await makeEval(byToken))
  Object.assign(known, makeProviderFiles(await own.newFolder()))
  Object.assign(known, await makeAudit(make, receiver.url, await own.newFolder()))
  Object.assign(known, await makeAccess(make, known['machine']!))
  known['ended'] = await connectAssistant()
  known['grant'] = await connectAssistant()
})
afterAll(() => void receiver.server.close())

/** Through the pages, as a person does it: there is no other way to a grant. */
async function connectAssistant(): Promise<string> {
  const { origin } = server
  const url = new URL(origin)
  const redirectUri = 'http://127.0.0.1:8472/callback'
  const { body } = await register(
    { origin },
    { client_name: 'Helper', redirect_uris: [redirectUri], token_endpoint_auth_method: 'none' },
  )
  known['client'] = String(body['client_id'])
  // All that a walker over sockets asks of a system.
  const system = {
    origin,
    system: { config: { APP_URL: url, AUTH_URL: url, API_URL: url } },
    clock: { now: () => new Date() },
  }
  const assistant = newAssistant(system as unknown as ListeningSystem, {
    clientId: known['client'],
    redirectUri,
  })
  const person = { email: EMAIL } as Parameters<typeof assistant.connect>[0]
  return (
    await assistant.connect(person, { scope: 'data:read maintenance:read', resource: `${origin}/platform` })
  ).grantId
}

const filled = (text: string): string => text.replaceAll(/\{([a-z]+)\}/g, (_, name: string) => known[name]!)

async function svc(line: string, { stdin = '', terminal = false, env = {}, cwd = project }: Given = {}) {
  const argv = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => filled(quoted ?? plain!))
  const environment: FakeEnvironment = fakeEnvironment({
    home,
    cwd: filled(cwd),
    stdin: filled(stdin),
    terminal,
    env: Object.fromEntries(Object.entries(env).map(([name, value]) => [name, filled(value)])),
  })
  const exit = await run(argv, environment)
  return { exit, out: environment.out(), err: environment.err() }
}

const BAD_TOKEN: Given = { env: { SVC_API_URL: '{origin}', SVC_API_KEY: 'svc_wrong' } }
const NO_API_TOKEN = 'tok_0mwhkcyh5nlh1pqqssy5gj19q'
const NO_GRANT = 'grt_0mwhkcyh5nlh1pqqssy5gj19q'

/** In this order: later rows live on what earlier ones did. */
const ROWS: Row[] = [
  // Nobody is logged in.
  ['status', 3, /You are not logged in/],
  ['status --json', 3, /"logged_in": false/],
  ['context show', 3, /You are not logged in/],
  ['context list', 0, /^CURRENT +NAME +SERVER +USER +ORGANIZATION\n/],
  ['datasource list --json', 3, /^\{"error":\{"code":"UNAUTHENTICATED".*"exit_code":3\}\}\n$/],

  // Logging in.
  ['login', 5, /requires --api-url/],
  ['login --api-url {origin}', 5, /Nobody is at this terminal[^]*--api-key - [^]*--device/],
  ['login --api-url {origin} --device --api-key {owner}', 5, /--api-key conflicts with --device/],
  ['logout', 3, /You are not logged in/],
  ['login --api-url {origin}/console --api-key {owner}', 5, /Use: --api-url http:\/\/localhost:\d+\n/],
  ['login --api-url ftp://localhost --api-key {owner}', 5, /not an http\(s\) URL/],
  ['login --api-url http://a:b@localhost --api-key {owner}', 5, /must not contain a user/],
  [
    'login --api-url http://example.com --api-key {owner}',
    5,
    /unencrypted to http:\/\/example.com[^]*https:\/\/example.com/,
  ],
  ['login --api-url {origin} --api-key "two words"', 5, /is not an API token/],
  [
    'login --api-url {origin} --api-key - --context env',
    5,
    /Invalid context name: env/,
    { stdin: '{owner}' },
  ],
  ['login --api-url {origin} --api-key -', 5, /No input on stdin/],
  ['login --api-url {origin} --api-key svc_wrong', 3, /Invalid or expired API token/],
  ['context list --json', 0, /"contexts": \[\]/],
  [
    'login --api-url {origin} --api-key - --json',
    0,
    /"context": "localhost",\n {2}"current": true/,
    { stdin: '{owner}\n' },
  ],
  [
    'login --api-url {origin} --context ro',
    0,
    /Saved as context ro. Switch to it with: svc context use ro/,
    { env: { SVC_API_KEY: '{viewer}' } },
  ],
  ['login --api-url {origin} --context scoped --api-key -', 0, /Logged in/, { stdin: '{scoped}\r' }],
  [
    'login --api-url {origin} --api-key {owner}',
    0,
    /warning: other users can see[^]*Current context: localhost/,
  ],
  ['login --api-url http://localhost:1 --api-key {owner} --context ro', 8, /connection refused/],
  ['context list', 0, /\n\* +localhost +http[^]*\n- +ro +http[^]*\n- +scoped/],
  ['context use ro', 0, /Switched to context ro/],
  ['context show', 0, /name: +ro\n/],
  ['context show localhost --json', 0, /"current": false/],
  ['context show nobody', 4, /Unknown context: nobody/],
  ['context show --bogus', 5, /Unknown option for .*: --bogus/],
  ['context use localhst', 4, /Did you mean localhost/],
  ['context use', 5, /requires <name>/],
  ['context use localhost --json', 0, /"current": true/],
  ['logout --context nobody', 4, /Unknown context: nobody/],
  ['logout', 5, /comes from SVC_API_URL/, { env: { SVC_API_URL: '{origin}', SVC_API_KEY: '{owner}' } }],
  ['logout --bogus', 5, /Unknown option for .*: --bogus/],
  ['login --api-url {origin} --context other --api-key -', 0, /Logged in/, { stdin: '{viewer}' }],
  ['logout --context other', 0, /Removed other\. Its API token is still valid/],
  ['context remove scopd --yes', 4, /Did you mean scoped/],
  ['context remove scoped', 5, /Add --yes/],
  ['context remove scoped', 5, /Canceled; nothing was changed/, { terminal: true, stdin: 'n\n' }],
  ['context list --limit 1', 5, /Unknown option for .*: --limit/],

  // Who I am, and which login counts.
  ['status', 0, /context: +localhost\n[^]*role: +owner\n/],
  ['status --context ro --json', 0, /"role": "viewer"/],
  ['status --json', 0, /"context": "ro"/, { env: { SVC_CONTEXT: 'ro' } }],
  ['status --json', 0, /"context": "env"/, { env: { SVC_API_URL: '{origin}', SVC_API_KEY: '{viewer}' } }],
  ['status --json', 3, /"logged_in": false,\n {2}"context": "env"/, BAD_TOKEN],
  ['status', 5, /SVC_API_KEY is set but SVC_API_URL is not/, { env: { SVC_API_KEY: 'x' } }],
  ['status --context ro', 5, /conflicts with SVC_API_URL/, BAD_TOKEN],
  [
    'status',
    5,
    /unencrypted to http:\/\/example.com/,
    { env: { SVC_API_URL: 'http://example.com', SVC_API_KEY: 'x' } },
  ],
  ['status --timeout never', 5, /Invalid value for --timeout: never/],
  ['status --json -o yaml', 5, /--json conflicts with --output yaml/],

  // Asking.
  [
    'datasource list',
    0,
    /^ID +NAME +MIN ROLE +FILTERS +DESCRIPTION\ndb_sample +Sample[^]* viewer +topic \(string\), /,
  ],
  ['datasource list --context scoped -o yaml', 0, /^data_sources:\n {2}- id: db_sample\n/],
  ['datasource list --limit 0', 5, /Invalid value for --limit: 0[^]*1 to 200/],
  ['datasource list --cursor bogus', 5, /cursor is not valid/],
  [
    'datasource query db_sample "May I work from Spain for a month?" --top-k 1',
    0,
    /^count: 1\nresults:\n {2}- id: work-from-abroad\n/,
  ],
  [
    'datasource query db_sample - --top-k 2 --context scoped -o json',
    0,
    /"count": 2/,
    { stdin: 'a warm jacket\n' },
  ],
  [
    'datasource query db_sample tents --filter in_stock=true --filter category=tents --filter category=bags -o table',
    0,
    /^ID +TITLE +SCORE +TARGET +URL\n/,
  ],
  [
    'datasource query db_nothing "is there anything?"',
    4,
    /Not found\nhint: List what exists: svc datasource list\n/,
  ],
  ['datasource query .. "is there anything?"', 4, /Not found/],
  ['datasource query db_sample tents --filter color=red', 5, /Cannot filter on "color"/],
  ['datasource query db_sample tents --filter color', 5, /--filter column=value/],
  ['datasource query db_sample tents --filter price<1 --filter price<2', 5, /has price< twice/],
  ['datasource query db_sample tents --filter price<1 --filter price=2', 5, /a value and a range of price/],
  ['datasource query db_sample tents --top-k 21', 5, /from 1 to 20/],
  ['datasource query db_sample tents --target nothing', 5, /error: /],
  ['datasource search tents -o table', 0, /^SOURCE +TITLE[^]*\ndb_sample /],
  ['datasource search tents --source db_nothing', 4, /Not found/],
  ['datasource search', 5, /requires <question>/],

  // Databases.
  ['db create orders --title "All orders"', 0, /db_orders +All orders +embedded +yes +no +no/],
  ['db create orders', 6, /already exists/],
  ['db create Orders', 5, /must be a lowercase letter/],
  ['db create notes --context ro', 3, /error: /],
  ['db list --search orders', 0, /^ID +NAME +KIND[^]*\ndb_orders/],
  ['db show orders', 0, /health: +(ok|not checked)\n/],
  ['db show', 5, /requires <name>/],
  ['db show nothing', 4, /svc db list/],
  ['db show orders --context ro', 3, /error: /],
  ['db list --limit 1', 0, /More results: add --all, or --cursor \S+\n/],
  ['db list --limit 1 --all --json', 0, /"db_orders"[^]*"db_sample"/],
  ['db list --limit many', 5, /Invalid value for --limit: many/],
  ['db list --context ro', 3, /error: /],
  ['db connect orders -q', 0, /^postgres:\/\/\S+\n$/],
  ['db connect orders', 0, /password: +\S+\n/],
  ['db connect orders -q --json', 0, /"url": "postgres:/],
  ['db connect nothing -q', 4, /svc db list/],
  ['db connect', 5, /requires <name>/],
  ['db connect orders --context scoped', 3, /scopes of this token/],
  ['db connect rotate orders', 5, /Add --yes/],
  ['db connect rotate orders --yes --context ro', 3, /error: /],
  ['db connect rotate nothing --yes', 4, /svc db list/],
  ['db connect rotate orders --yes', 0, /Rotated orders\. Show the new connection string/],
  ['db attach warehouse', 5, /Missing option --url/],
  ['db attach warehouse --url -', 5, /error: /, { stdin: 'postgres://a:b@127.0.0.1:1/x' }],
  ['db attach warehouse --url - --context ro', 3, /error: /, { stdin: 'postgres://a:b@127.0.0.1:1/x' }],
  ...LOAD_ROWS,
  ['db remove orders', 5, /Add --yes/],
  ['db remove orders', 5, /Canceled; nothing was changed/, { terminal: true, stdin: 'order\n' }],
  ['db remove orders --yes --context ro', 3, /error: /],
  ['db remove orders', 0, /Removed orders/, { terminal: true, stdin: 'orders\n' }],
  ['db remove nothing --yes', 4, /svc db list/],

  // API tokens.
  ['tokens list', 0, /^TOKEN +NAME +STARTS WITH[^]*\n\{child\} +child +svc_\w{6} +owner/],
  ['tokens list --everyone --context ro', 3, /error: /],
  ['tokens list --limit x', 5, /Invalid value for --limit: x/],
  ['tokens rotate {child} --overlap 2', 0, /token: +svc_\w{49}\n[^]*The old one works until 20/],
  ['tokens rotate {child} --overlap 0', 0, /not shown again\.\n$/],
  ['tokens rotate {child} --overlap week', 5, /Invalid value for --overlap: week/],
  ['tokens rotate {child} --context ro', 3, /only tokens that were created with it/],
  [`tokens rotate ${NO_API_TOKEN}`, 4, /svc tokens/],
  ['tokens revoke {child}', 5, /Add --yes/],
  ['tokens revoke {child} --yes', 0, /Revoked \{child\}/],
  ['tokens revoke {child} --yes', 4, /svc tokens list/],
  ['tokens revoke {child} --yes --context scoped', 3, /scopes of this token/],

  // Assistants.
  [
    'agents list',
    0,
    /^GRANT +HOST[^]*\n\{grant\} +127.0.0.1(:\d+)? +Helper +olga@example.com +platform +data:read maintenance:read +all/,
  ],
  ['agents list --everyone --client {client} --json', 0, /"client_name": "Helper"/],
  ['agents list --everyone --context ro', 3, /error: /],
  ['agents list --limit x', 5, /Invalid value for --limit: x/],
  ['agents narrow {grant}', 5, /Nothing to narrow to/],
  ['agents narrow {grant} --scope everything', 5, /Must be one of: data:read, /],
  ['agents narrow {grant} --source db_sample --no-sources', 5, /conflicts with/],
  ['agents narrow {grant} --scope data:read --source db_sample', 0, / data:read +db_sample /],
  ['agents narrow {grant} --no-sources', 0, / data:read +none /],
  [`agents narrow ${NO_GRANT} --scope data:read`, 4, /svc agents list/],
  ...MACHINE_AGENT_ROWS,
  ...GROUP_ROWS,
  ...EVAL_ROWS,
  ...ACCESS_ROWS,
  ['agents clients', 0, /^CLIENT +KIND[^]*\n\{client\} +dynamic/],
  ['agents clients --context ro', 3, /error: /],
  ['agents clients --limit 201', 5, /from 1 to 200/],
  ['agents block {client}', 5, /Add --yes/],
  ['agents block {client} --yes --context ro', 3, /error: /],
  ['agents block {client} --yes', 0, /Blocked/],
  ['agents unblock {client} --context ro', 3, /error: /],
  ['agents unblock {client}', 0, /Unblocked/],
  ['agents unblock ""', 5, /must not be empty/],
  ['agents revoke {grant}', 5, /Add --yes/],
  ['agents revoke {grant} --yes', 0, /Revoked/],
  [`agents revoke ${NO_GRANT} --yes`, 4, /svc agents list/],
  ...IDENTITY_PROVIDER_ROWS,
  ['agents off', 5, /Add --yes/],
  ['agents off --yes --context ro', 3, /error: /],
  ['agents off', 0, /assistants: +off\n/, { terminal: true, stdin: 'y\n' }],
  ['agents on', 0, /assistants: +on\n/],
  ['agents on please', 5, /Unexpected argument/],

  // What happened.
  ['activity', 0, /^TIME +TYPE +NAME/],
  [
    'activity --type data_source --source db_sample --from 2026-01-01 --limit 1',
    0,
    / data_source +db_sample +\S+ +cli +/,
  ],
  ['activity --type data_source --outcome refused --all --json', 0, /"error": "FILTER_NOT_ALLOWED"/],
  ['activity --from yesterday', 5, /Invalid value for --from: yesterday/],
  ['activity --user usr_x', 5, /error: /],
  ...AUDIT_ROWS,

  ...API_ROWS,
  ...NOTIFICATION_ROWS,
  ...APP_ROWS,
  ...DEPLOYMENT_ROWS,
  ...CHECK_ROWS,
  ...SOURCE_ROWS,
  ...PIPELINE_ROWS,
  ...MAINTENANCE_ROWS,

  // The rest.
  ['doctor', 0, /^ok +client: svc [^]*\nok +work: listening, the server is told[^]*\nok +questions: /],
  ['doctor --json', 0, /"ok": true/],
  ['doctor --mcp {origin}/platform', 0, /assistants: JWKS/],
  ['doctor --mcp {origin}/nowhere', 1, /failed +assistants/],
  ['doctor', 3, /failed +token: Invalid or expired/, BAD_TOKEN],
  ['doctor --cure', 5, /Unknown option for .*: --cure/],
  ['completion bash', 0, /complete -o default -F _svc svc/],
  ['completion zsh', 0, /^#compdef svc\n/],
  ['completion fish', 0, /complete -c svc /],
  ['completion powershell', 0, /Register-ArgumentCompleter/],
  ['completion tcsh', 5, /Must be one of: bash/],
  ['skills list', 0, /^ID +DESCRIPTION\nsvc +/],
  ['skills list --all', 5, /Unknown option for .*: --all/],
  ['skills show svc', 0, /^---\nname: svc\n/],
  ['skills show svc-faq', 0, /^---\nname: svc-faq\n/],
  ['skills show svc references/nothing.md', 4, /Available: SKILL.md, /],
  ['skills show nothing', 4, /Available: svc, /],
  ['skills show', 5, /requires <id>/],
  ['skills status', 0, /missing/],
  ['skills status svc', 6, /svc skills install svc/],
  ['skills status nothing', 4, /Available: svc, svc-ai-gateway\n/],
  ['skills status --force', 5, /Unknown option for .*: --force/],
  ['skills install svc --dry-run', 0, /created 10\n/],
  ['skills install svc', 0, /\.claude\/skills\/svc: created 10\n/],
  ['skills install svc --json', 0, /"action": "unchanged"/],
  ['skills status svc', 0, /current/],
  ['skills install svc --everywhere', 5, /Unknown option for .*: --everywhere/],
  ['skills install nothing', 4, /Available: svc, svc-ai-gateway\n/],
  ['skills install svc-faq', 4, /\.well-known\/agent-skills\/svc-faq\/SKILL\.md/],
  ['--version', 0, /^\d+\.\d+\.\d+\n$/],
  ['--help', 0, /AI agents: run `svc --skill-prompt` first/],
  ['help db', 0, /svc db <command>/],
  ['db create --help', 0, /Examples:\n {2}svc db create handbook\n/],
  ['help nothing', 5, /Unknown command: nothing/],
  ['--skill-prompt', 0, /svc status --json/],
]

/** A line for every command that calls the server, valid enough to reach it. */
const LINES = [
  'login --api-url {origin} --api-key svc_wrong',
  'status',
  'datasource list',
  'datasource query db_sample tents',
  'datasource search tents',
  'db list',
  'db show orders',
  'db create orders',
  'db connect orders',
  'db connect rotate orders --yes',
  'db attach orders --url postgres://a:b@127.0.0.1:1/x',
  'db remove orders --yes',
  'tokens list',
  `tokens rotate ${NO_API_TOKEN}`,
  `tokens revoke ${NO_API_TOKEN} --yes`,
  'agents list',
  'agents narrow {grant} --scope data:read',
  'agents revoke {grant} --yes',
  'agents clients',
  'agents block x --yes',
  'agents unblock x',
  ...IDENTITY_PROVIDER_LINES,
  'agents off --yes',
  'agents on',
  'activity',
  'doctor',
  ...ACCESS_LINES,
  ...AUDIT_LINES,
  ...API_LINES,
  ...NOTIFICATION_LINES,
  ...APP_LINES,
  ...DEPLOYMENT_LINES,
  ...CHECK_LINES,
  ...SOURCE_LINES,
  ...LOAD_LINES,
  ...MACHINE_AGENT_LINES,
  ...GROUP_LINES,
  ...EVAL_LINES,
  ...PIPELINE_LINES,
  ...MAINTENANCE_LINES,
]

/** What each command calls, by its path. */
const calls = commandOperations()

/** Exit codes of commands that call no server, and those that a command adds to its operations'. */
const OWN_EXITS: Record<string, number[]> = {
  // Those of whatever it calls.
  api: [1, 3, 4, 6, 7, 8],
  // It asks a server that does not answer again and again.
  'apps runner': [0, 3, 4, 11],
  // They work, and what they find is not well.
  'apps checks run': [11],
  'apps maintenance run': [11],
  'apps deployments output': [11],
  'audit verify': [11],
  login: [6],
  logout: [3, 4],
  'context list': [],
  'context use': [4],
  'context show': [3, 4],
  'context remove': [4],
  'skills list': [],
  'skills install': [4, 6],
  'skills show': [4],
  'skills status': [4, 6],
  // A patch that would not be whole.
  'apps diff': [6],
  completion: [],
}

const UNTRIED: Record<string, { exits: number[]; because: string }> = {
  ...IDENTITY_PROVIDER_UNTRIED,
  ...ACCESS_UNTRIED,
  ...API_UNTRIED,
  ...NOTIFICATION_UNTRIED,
  ...APP_UNTRIED,
  ...DEPLOYMENT_UNTRIED,
  ...MAINTENANCE_UNTRIED,
  ...SOURCE_UNTRIED,
  ...LOAD_UNTRIED,
  ...MACHINE_AGENT_UNTRIED,
  ...GROUP_UNTRIED,
  ...EVAL_UNTRIED,
  'db list': { exits: [4], because: 'a list that names nothing is empty' },
  'db attach': {
    exits: [0, 6],
    because: 'needs a second Postgres with pgvector: test/walks/databases.test.ts',
  },
  'db connect': { exits: [6], because: 'only an attached database has no connection string to show' },
  'db connect rotate': { exits: [6], because: 'only an attached database has no password of ours' },
  'agents off': { exits: [4], because: 'the organization is the one that the token is for' },
  'agents on': { exits: [4], because: 'the organization is the one that the token is for' },
}

const pathOf = (line: string): string | undefined => findCommand(line.split(' ')).command?.path

test('there is a line for every command that calls the server', () => {
  const calling = [...calls].flatMap(([path, names]) => (names.length > 0 || path === 'api' ? [path] : []))
  expect(LINES.map((line) => pathOf(line) ?? line).toSorted()).toEqual(calling.toSorted())
})

const seen = new Map<string, Set<number>>()
async function expectExit([line, exit, says, given]: Row): Promise<void> {
  const answer = await svc(line, given)
  const all = `${answer.out}${answer.err}`
  expect({ exit: answer.exit, all }).toMatchObject({ exit })
  expect(all).toMatch(
    new RegExp(filled(says.source.replaceAll('\\{', '{').replaceAll('\\}', '}')), says.flags),
  )
  // Data on stdout, everything else on stderr: what failed leaves stdout to programs. A finding is data.
  if (exit !== 0 && exit !== 11 && !/status|doctor|skills/.test(line)) expect(answer.out).toBe('')
  expect(all).not.toContain(known['viewer'])
  const path = pathOf(line)
  if (path !== undefined) seen.set(path, (seen.get(path) ?? new Set()).add(exit))
}

describe('a server that works', () => {
  test.each(ROWS)('svc %s: %i', async (...row) => expectExit(row))

  test.each(LINES)('svc %s with a token that opens nothing: 3', async (line) =>
    expectExit([line, 3, /Invalid or expired API token/, BAD_TOKEN]),
  )

  test('a context that is another login is not overwritten: 6', async () => {
    const file = join(home, '.config', 'svc', 'config.json')
    const other = {
      version: 1,
      current: 'work',
      contexts: {
        work: {
          api_url: 'https://api.example.com',
          user: { id: 'usr_x', email: 'x@y.z' },
          organization: null,
        },
      },
    }
    const elsewhere = await own.newFolder()
    writeFileSync(join(elsewhere, 'config.json'), JSON.stringify(other))
    const given = { env: { SVC_CONFIG_DIR: elsewhere } }
    await expectExit([
      'login --api-url {origin} --api-key {owner} --context work',
      6,
      /belongs to another account: x@y.z at https/,
      given,
    ])
    await expectExit(['login --api-url {origin} --api-key {owner}', 0, /svc context use localhost/, given])
    await expectExit(['status --context work', 3, /No API token saved for context work/, given])
    expect(file).not.toContain(elsewhere)
  })

  test('a damaged config file is named, and login leaves it as it is: 5', async () => {
    const elsewhere = await own.newFolder()
    writeFileSync(join(elsewhere, 'config.json'), '{"version"')
    const given = { env: { SVC_CONFIG_DIR: elsewhere } }
    for (const line of [
      'context list',
      'login --api-url {origin} --api-key {owner}',
      'status',
      'datasource list',
    ]) {
      await expectExit([
        line,
        5,
        /config\.json is damaged: not valid JSON\nhint: The file was not changed/,
        given,
      ])
    }
  })

  test('an edited skill is not overwritten: 6', async () => {
    writeFileSync(join(project, '.agents/skills/svc/SKILL.md'), 'mine')
    await expectExit(['skills install svc', 6, /Nothing was written[^]*\.agents\/skills\/svc\/SKILL\.md/])
    await expectExit(['skills status', 6, /edited/])
    await expectExit(['skills install svc --force', 0, /overwritten 1/])
  })

  test('an agent gets no prompt and is pointed to its instructions', async () => {
    const agent = { terminal: true, env: { CLAUDECODE: '1' } }
    await expectExit(['agents off', 5, /Add --yes[^]*svc --skill-prompt/, agent])
  })

  test('when the day’s questions are used up: 1, and how long to wait', async () => {
    for (let asked = 0; asked < 10; asked++) {
      if ((await svc('datasource query db_sample tents')).exit === 1) break
    }
    await expectExit(['datasource query db_sample tents', 1, /hint: Try again in \d+ s/])
    await expectExit(['datasource query db_sample tents --json', 1, /"code":"QUOTA_EXCEEDED"/])
  })

  test('context remove: 0', () => expectExit(['context remove scoped --yes', 0, /Removed scoped/]))
})

describe('a server that is there and does not answer: 7', () => {
  beforeAll(() => server.kill('SIGSTOP'))
  afterAll(() => server.kill('SIGCONT'))
  test.each(LINES)('svc %s', (line) =>
    expectExit([`${line} --timeout 0.05`, 7, /did not respond within 0.05 s/]),
  )
})

describe('a program that is no svc server: 1', () => {
  let origin: string
  const otherProgram = createServer((_request, response) => void response.writeHead(500).end('no'))
  beforeAll(async () => {
    origin = known['origin']!
    await new Promise<void>((resolve) => void otherProgram.listen(0, '127.0.0.1', resolve))
    known['origin'] = `http://127.0.0.1:${(otherProgram.address() as AddressInfo).port}`
  })
  afterAll(() => {
    known['origin'] = origin
    otherProgram.close()
  })
  test.each(LINES)('svc %s', (line) =>
    expectExit([
      line,
      1,
      /^(error:|failed) /m,
      { env: { SVC_API_URL: known['origin']!, SVC_API_KEY: known['owner']! } },
    ]),
  )
})

describe('a server that is gone: 8', () => {
  beforeAll(() => server.stop('SIGKILL'))
  test.each(LINES)('svc %s', (line) => expectExit([line, 8, /connection refused/]))

  test('and its own code for programs', () =>
    expectExit(['status --json', 8, /"code":"UNREACHABLE".*"exit_code":8/]))
})

test.each(COMMANDS)('$path was seen with every exit code that it has', ({ path }) => {
  const operations = OPERATIONS.filter(({ name }) => calls.get(path)?.includes(name))
  expect(operations.length > 0 || path in OWN_EXITS, `what does ${path} call?`).toBe(true)
  const possible = new Set([
    0,
    // Every command line can be wrong.
    5,
    ...(operations.length > 0 ? [1, 3, 7, 8] : []),
    ...operations.flatMap(({ errors }) => errors.map((code) => ERRORS[code].exit)),
    ...(OWN_EXITS[path] ?? []),
  ])
  for (const exit of UNTRIED[path]?.exits ?? []) possible.delete(exit)
  expect([...(seen.get(path) ?? [])].toSorted(byNumber)).toEqual([...possible].toSorted(byNumber))
})

const byNumber = (a: number, b: number): number => a - b
