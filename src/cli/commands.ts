/** The command tree of `svc` as a table. */
import { CATEGORIES, CHANNEL_NAMES, DELIVERY_STATES, TIMINGS } from '../contracts/channels.ts'
import { CHECK_METHODS, CHECK_RESULTS } from '../contracts/check-results.ts'
import { DEPLOYMENT_STATES } from '../contracts/deployment-states.ts'
import { HITS_DEFAULT, HITS_MAX, PAGE_DEFAULT, PAGE_MAX } from '../contracts/limits.ts'
import { ACTIVITY_OUTCOMES, ACTIVITY_TYPES, INBOX_STATES } from '../contracts/list-filters.ts'
import { LOG_LEVELS } from '../contracts/log-levels.ts'
import { CONCURRENCY_POLICIES, PIPELINE_RUN_STATES } from '../contracts/pipeline-states.ts'
import { APP_SCOPES, SCOPE_NAMES } from '../contracts/scopes.ts'
import type { Command, Option } from './command.ts'

/** First words that have commands below them. */
export const GROUPS: Readonly<Record<string, string>> = {
  context: 'Switch between instances and accounts',
  datasource: 'Query data sources',
  db: 'Manage databases',
  skills: 'Install skills for coding agents',
  agents: 'Manage connected assistants',
  apps: 'Manage apps',
  notifications: 'Read notifications; manage integrations, subscriptions and deliveries',
}

const OUTPUT_FORMATS = ['table', 'json', 'yaml'] as const

/** Every command takes them. */
export const GLOBAL_OPTIONS: readonly Option[] = [
  { long: 'context', value: 'name', summary: 'Use this context instead of the current one' },
  { long: 'output', short: 'o', value: 'format', summary: 'Output format', choices: OUTPUT_FORMATS },
  { long: 'json', summary: 'Short for -o json; errors are printed as JSON too' },
  { long: 'timeout', value: 'seconds', summary: 'Time limit for each request (default 30)' },
  { long: 'no-color', summary: 'Disable colors, like NO_COLOR=1' },
  { long: 'debug', summary: 'Print each request to stderr, without secrets' },
  { long: 'help', short: 'h', summary: 'Show help' },
]

/** They stand alone: `svc --version`. */
export const ROOT_OPTIONS: readonly Option[] = [
  { long: 'version', short: 'V', summary: 'Print the version' },
  { long: 'skill-prompt', summary: 'Print instructions for AI agents' },
]

const PAGING: readonly Option[] = [
  { long: 'limit', value: 'n', summary: `Rows per page, 1 to ${PAGE_MAX} (default ${PAGE_DEFAULT})` },
  { long: 'cursor', value: 'cursor', summary: 'Continue from this cursor' },
  { long: 'all', summary: 'Fetch all pages' },
]
const SEARCH: Option = { long: 'search', value: 'text', summary: 'Filter by name' }
const YES: Option = { long: 'yes', short: 'y', summary: 'Skip the confirmation prompt' }
const USER: Option = { long: 'user', summary: 'Use the home directory instead of this project' }
const TITLE_AND_DESCRIPTION: readonly Option[] = [
  { long: 'title', value: 'text', summary: 'Display name' },
  { long: 'description', value: 'text', summary: 'What the data is about' },
]
const DATABASE = { name: 'name', summary: 'Lowercase letter, then up to 40 of a-z, 0-9 and _' }
const CONTEXT = { name: 'name', summary: 'From `svc context list`' }
const SKILL = { name: 'id', summary: 'From `svc skills list`' }
const REVISION = { name: 'revision_id', summary: 'rev_…, from `svc apps revisions`' }
const DEPLOYMENT = { name: 'deployment_id', summary: 'dep_…, from `svc apps deployments`' }
const GRANT = { name: 'grant_id', summary: 'grt_…, from `svc agents list`' }
const CLIENT = { name: 'client_id', summary: 'From `svc agents clients`' }
const APP = { name: 'app', summary: 'Alias, from `svc apps list`' }
const CHECK = { name: 'check', summary: 'Name or chk_…, from `svc apps checks`' }
const CHECK_OPTIONS: readonly Option[] = [
  { long: 'url', value: 'url', summary: 'Address to ask (http or https)' },
  { long: 'method', value: 'method', summary: 'Default GET', choices: CHECK_METHODS },
  {
    long: 'header',
    value: 'line',
    summary: 'Header as "Name: value"; a value of - is read from stdin. Values are not returned',
    repeatable: true,
  },
  { long: 'body', value: 'text', summary: 'Body of a POST' },
  { long: 'condition', value: 'text', summary: 'Such as "[STATUS] < 400" (the default)', repeatable: true },
  { long: 'check-timeout', value: 'ms', summary: 'How long the address may take (default 10000)' },
  {
    long: 'pattern',
    value: 'text',
    summary: 'Log lines to count: text, or a regular expression between slashes',
  },
  {
    long: 'level',
    value: 'level',
    summary: 'This level and more severe ones (default trace)',
    choices: LOG_LEVELS,
  },
  { long: 'max-count', value: 'n', summary: 'More lines than this fail (default 0)' },
  { long: 'window', value: 'minutes', summary: 'Log lines of so many minutes (default 10)' },
  { long: 'interval', value: 'seconds', summary: 'Between two runs, from 30 (default 60)' },
  { long: 'failures', value: 'n', summary: 'Notify after so many without a pass between (default 3)' },
  { long: 'successes', value: 'n', summary: 'Recover after so many in a row (default 1)' },
  {
    long: 'maintenance',
    value: 'from/until',
    summary: 'Window in which it is not run, as two times with a slash between',
    repeatable: true,
  },
]
const INTEGRATION = { name: 'integration_id', summary: 'int_…, from `svc notifications integrations`' }
const SUBSCRIPTION = { name: 'subscription_id', summary: 'sub_…, from `svc notifications subscriptions`' }
const DELIVERY = { name: 'delivery_id', summary: 'dlv_…, from `svc notifications deliveries`' }
const PATTERN = { name: 'pattern', summary: 'Event type, or a prefix and a star: deploy.*' }
const BY_INTEGRATION: Option = { long: 'integration', value: 'id', summary: 'Filter by integration (int_…)' }
const BY_EVENT_TYPE: Option = { long: 'type', value: 'pattern', summary: 'Filter by event, such as deploy.*' }
const TIME_EXAMPLE = 'such as 2026-11-15 or 2026-11-15T08:00:00Z'
const FROM_TO: readonly Option[] = [
  { long: 'from', value: 'time', summary: `Start time, ${TIME_EXAMPLE}` },
  { long: 'to', value: 'time', summary: 'End time' },
]
const LOG_WINDOW: readonly Option[] = [
  { long: 'since', value: 'time', summary: `15m, 2h, 1d, or a time ${TIME_EXAMPLE}` },
  { long: 'until', value: 'time', summary: 'End time, in the same form' },
  { long: 'level', value: 'level', summary: 'This level and more severe ones', choices: LOG_LEVELS },
]
const PIPELINE = { name: 'pipeline', summary: 'Name or ppl_…, from `svc apps pipelines`' }
const PIPELINE_SETTINGS: readonly Option[] = [
  { long: 'cron', value: 'schedule', summary: 'Five parts, such as "0 3 * * *"; "" for none' },
  { long: 'timezone', value: 'zone', summary: 'Such as Europe/Berlin (default UTC)' },
  { long: 'grace', value: 'minutes', summary: 'How late a run may start (default 10)' },
  { long: 'timeout-minutes', value: 'minutes', summary: 'How long a run may take (default 60)' },
  {
    long: 'concurrency',
    value: 'policy',
    summary: 'If the previous run is still running (default skip)',
    choices: CONCURRENCY_POLICIES,
  },
]
const SHELLS = ['bash', 'zsh', 'fish', 'powershell'] as const

export const COMMANDS: readonly Command[] = [
  {
    path: 'login',
    summary: 'Log in to an instance and save it as a context',
    options: [
      { long: 'api-url', value: 'url', summary: 'URL of the instance (default $SVC_API_URL)' },
      {
        long: 'api-key',
        value: 'key',
        summary: 'API token, or - to read it from stdin (default $SVC_API_KEY)',
      },
      { long: 'use', summary: 'Switch to this context' },
      { long: 'insecure-http', summary: 'Allow an unencrypted connection on a network you trust' },
    ],
    examples: [
      'svc login --api-url https://api.example.com --api-key - < token.txt',
      'svc login --api-url http://localhost:4000',
      'svc login --api-url https://api.example.com --api-key - --context work --use < token.txt',
    ],
    load: async () => (await import('./commands/login.ts')).login,
  },
  {
    path: 'status',
    summary: 'Show the current login: server, user and role; exits 3 if logged out',
    examples: ['svc status', 'svc status --json'],
    load: async () => (await import('./commands/status.ts')).status,
  },
  {
    path: 'context list',
    summary: 'List contexts',
    examples: ['svc context list'],
    load: async () => (await import('./commands/context.ts')).listContexts,
  },
  {
    path: 'context use',
    summary: 'Switch to a context',
    arguments: [CONTEXT],
    examples: ['svc context use work'],
    load: async () => (await import('./commands/context.ts')).useContext,
  },
  {
    path: 'context show',
    summary: 'Show a context (default: the current one)',
    arguments: [{ ...CONTEXT, optional: true }],
    examples: ['svc context show', 'svc context show work --json'],
    load: async () => (await import('./commands/context.ts')).showContext,
  },
  {
    path: 'context remove',
    summary: 'Remove a context and its saved token; the token is not revoked',
    arguments: [CONTEXT],
    options: [YES],
    examples: ['svc context remove work --yes'],
    load: async () => (await import('./commands/context.ts')).removeContext,
  },
  {
    path: 'datasource list',
    summary: 'List data sources you can query',
    options: [SEARCH, ...PAGING],
    examples: ['svc datasource list', 'svc datasource list --search handbook --json'],
    load: async () => (await import('./commands/datasource.ts')).listAskableDataSources,
  },
  {
    path: 'datasource query',
    summary: 'Query a data source',
    arguments: [
      { name: 'source_id', summary: 'db_… or ds_…, from `svc datasource list`' },
      { name: 'question', summary: 'Question in plain language, or - to read it from stdin' },
    ],
    options: [
      {
        long: 'filter',
        value: 'column=value',
        summary: 'Exact match; repeat a column to match any of its values',
        repeatable: true,
      },
      { long: 'top-k', value: 'n', summary: `Number of hits, 1 to ${HITS_MAX} (default ${HITS_DEFAULT})` },
      { long: 'target', value: 'label', summary: 'Search only the table with this label' },
    ],
    listedBy: 'datasource list',
    examples: [
      'svc datasource query db_handbook "How many days of holiday do I have?"',
      'svc datasource query db_handbook "parental leave" --filter team=people --filter year=2026 -o json',
      'svc datasource query db_products "a quiet keyboard" --top-k 3 --target products',
    ],
    load: async () => (await import('./commands/datasource.ts')).queryDataSource,
  },
  {
    path: 'datasource search',
    summary: 'Search all data sources you can query',
    arguments: [{ name: 'question', summary: 'Question in plain language, or - to read it from stdin' }],
    options: [
      { long: 'source', value: 'source_id', summary: 'Search only this one; repeatable', repeatable: true },
    ],
    examples: [
      'svc datasource search "parental leave"',
      'svc datasource search "parental leave" --source db_handbook --source db_wiki -o json',
    ],
    load: async () => (await import('./commands/datasource.ts')).searchDataSources,
  },
  {
    path: 'db list',
    summary: 'List managed databases (developer or higher)',
    options: [SEARCH, ...PAGING],
    examples: ['svc db list', 'svc db list --all --json'],
    load: async () => (await import('./commands/db.ts')).listDatabases,
  },
  {
    path: 'db show',
    summary: 'Show a database and what is wrong with it, if anything',
    arguments: [DATABASE],
    listedBy: 'db list',
    examples: ['svc db show handbook', 'svc db show handbook --json'],
    load: async () => (await import('./commands/db.ts')).showDatabase,
  },
  {
    path: 'db create',
    summary: 'Create a managed Postgres database with pgvector',
    arguments: [DATABASE],
    options: TITLE_AND_DESCRIPTION,
    examples: ['svc db create handbook', 'svc db create handbook --title "Staff handbook"'],
    load: async () => (await import('./commands/db.ts')).createDatabase,
  },
  {
    path: 'db connect',
    summary: 'Show connection details for a database, including the password',
    arguments: [DATABASE],
    options: [{ long: 'quiet', short: 'q', summary: 'Print only the connection string' }],
    listedBy: 'db list',
    examples: ['svc db connect handbook', 'psql "$(svc db connect handbook -q)"'],
    load: async () => (await import('./commands/db.ts')).connectDatabase,
  },
  {
    path: 'db attach',
    summary: 'Attach an existing Postgres database with pgvector (admin or higher)',
    arguments: [DATABASE],
    options: [
      {
        long: 'url',
        value: 'url',
        summary: 'postgres://user:password@host:5432/database, or - to read it from stdin',
      },
      ...TITLE_AND_DESCRIPTION,
    ],
    examples: ['svc db attach warehouse --url - < connection-string.txt'],
    load: async () => (await import('./commands/db.ts')).attachDatabase,
  },
  {
    path: 'db remove',
    summary: 'Delete a database and all its data; an attached database is only detached',
    arguments: [DATABASE],
    options: [YES],
    listedBy: 'db list',
    examples: ['svc db remove handbook --yes'],
    load: async () => (await import('./commands/db.ts')).removeDatabase,
  },
  {
    path: 'skills list',
    summary: 'List bundled skills',
    examples: ['svc skills list'],
    load: async () => (await import('./commands/skills.ts')).listSkills,
  },
  {
    path: 'skills install',
    summary: 'Install a skill for coding agents; edited files are kept',
    arguments: [SKILL],
    options: [
      USER,
      { long: 'force', summary: 'Overwrite edited files' },
      { long: 'no-agents', summary: 'Do not write AGENTS.md and GEMINI.md' },
      { long: 'dry-run', summary: 'Show what would be written, without writing it' },
    ],
    examples: ['svc skills install svc', 'svc skills install svc --user --dry-run'],
    load: async () => (await import('./commands/skills.ts')).installSkill,
  },
  {
    path: 'skills show',
    summary: 'Print a skill or one of its files',
    arguments: [
      SKILL,
      {
        name: 'file',
        summary: 'File path, such as references/databases.md (default SKILL.md)',
        optional: true,
      },
    ],
    examples: ['svc skills show svc', 'svc skills show svc references/databases.md'],
    load: async () => (await import('./commands/skills.ts')).showSkill,
  },
  {
    path: 'skills status',
    summary: 'Show whether installed skills are up to date; exits 6 if not',
    arguments: [{ ...SKILL, optional: true }],
    options: [USER, { long: 'no-agents', summary: 'Do not check AGENTS.md and GEMINI.md' }],
    examples: ['svc skills status', 'svc skills status svc --user --json'],
    load: async () => (await import('./commands/skills.ts')).skillStatus,
  },
  {
    path: 'agents list',
    summary: 'List the assistants you connected, with their grants',
    options: [
      { long: 'everyone', summary: 'List grants of all members (admin or higher)' },
      { long: 'client', value: 'client_id', summary: 'Filter by client' },
      ...PAGING,
    ],
    examples: ['svc agents list', 'svc agents list --everyone --all --json'],
    load: async () => (await import('./commands/agents.ts')).listGrants,
  },
  {
    path: 'agents narrow',
    summary: 'Narrow a grant to fewer scopes or data sources',
    arguments: [GRANT],
    options: [
      { long: 'scope', value: 'scope', summary: 'Scope to keep', repeatable: true, choices: SCOPE_NAMES },
      { long: 'source', value: 'source_id', summary: 'Data source to keep', repeatable: true },
      { long: 'no-sources', summary: 'Keep no data source' },
    ],
    listedBy: 'agents list',
    examples: ['svc agents narrow grt_01k3v5j8e2q4r6t8w0y2a4c6e8 --scope data:read --source db_handbook'],
    load: async () => (await import('./commands/agents.ts')).narrowGrant,
  },
  {
    path: 'agents revoke',
    summary: 'Revoke a grant and disconnect its assistant',
    arguments: [GRANT],
    options: [YES],
    listedBy: 'agents list',
    examples: ['svc agents revoke grt_01k3v5j8e2q4r6t8w0y2a4c6e8 --yes'],
    load: async () => (await import('./commands/agents.ts')).revokeGrant,
  },
  {
    path: 'agents clients',
    summary: 'List clients that have grants or are blocked (admin or higher)',
    options: PAGING,
    examples: ['svc agents clients'],
    load: async () => (await import('./commands/agents.ts')).listOauthClients,
  },
  {
    path: 'agents block',
    summary: 'Block a client in this organization (admin or higher)',
    arguments: [CLIENT],
    options: [YES],
    examples: ['svc agents block https://assistant.example.com/client.json --yes'],
    load: async () => (await import('./commands/agents.ts')).blockClient,
  },
  {
    path: 'agents unblock',
    summary: 'Unblock a client (admin or higher)',
    arguments: [CLIENT],
    examples: ['svc agents unblock https://assistant.example.com/client.json'],
    load: async () => (await import('./commands/agents.ts')).unblockClient,
  },
  {
    path: 'agents off',
    summary: 'Turn off access for all assistants (admin or higher)',
    options: [YES],
    examples: ['svc agents off --yes'],
    load: async () => (await import('./commands/agents.ts')).switchAgentsOff,
  },
  {
    path: 'agents on',
    summary: 'Turn access for assistants back on (admin or higher)',
    examples: ['svc agents on'],
    load: async () => (await import('./commands/agents.ts')).switchAgentsOn,
  },
  {
    path: 'apps list',
    summary: 'List apps',
    options: [SEARCH, { long: 'mine', summary: 'List only apps you build or maintain' }, ...PAGING],
    examples: ['svc apps list', 'svc apps list --mine --json'],
    load: async () => (await import('./commands/apps.ts')).listApps,
  },
  {
    path: 'apps create',
    summary: 'Create an app and become its maintainer (developer or higher)',
    arguments: [{ name: 'alias', summary: 'Lowercase letter, then up to 39 of a-z, 0-9 and -' }],
    options: [{ long: 'name', value: 'text', summary: 'Display name (default: the alias)' }],
    examples: ['svc apps create billing --name "Billing"'],
    load: async () => (await import('./commands/apps.ts')).createApp,
  },
  {
    path: 'apps push',
    summary: 'Push a folder as a revision of an app; unchanged files are not sent, .gitignore is honored',
    arguments: [APP, { name: 'folder', summary: 'Default: the current folder', optional: true }],
    options: [{ long: 'deploy', summary: 'Deploy it, too' }],
    listedBy: 'apps list',
    examples: ['svc apps push shop', 'svc apps push shop ./site --deploy'],
    load: async () => (await import('./commands/source.ts')).pushFolder,
  },
  {
    path: 'apps revisions',
    summary: 'List the revisions of an app, newest first',
    arguments: [APP],
    options: PAGING,
    listedBy: 'apps list',
    examples: ['svc apps revisions shop', 'svc apps revisions shop --all --json'],
    load: async () => (await import('./commands/source.ts')).listRevisions,
  },
  {
    path: 'apps diff',
    summary: 'Compare a revision with the one before it',
    arguments: [APP, { ...REVISION, summary: 'rev_… (default: the head)', optional: true }],
    options: [
      { long: 'base', value: 'revision_id', summary: 'Compare with this one instead' },
      { long: 'patch', summary: 'Print the exact text, for git apply' },
    ],
    listedBy: 'apps revisions',
    examples: [
      'svc apps diff shop',
      'svc apps diff shop rev_0mjexample000000000000000 --base rev_0mhexample000000000000000 --patch',
    ],
    load: async () => (await import('./commands/source.ts')).diffRevisions,
  },
  {
    path: 'apps logs',
    summary: 'Show the newest log lines of an app, the last one at the bottom',
    arguments: [APP],
    options: [
      ...LOG_WINDOW,
      { long: 'group', value: 'group_id', summary: 'Lines of a group, from `svc apps logs groups`' },
      { long: 'grep', value: 'text', summary: 'Lines that contain this text, ignoring case' },
      { long: 'follow', short: 'f', summary: 'Wait for further lines until interrupted' },
      ...PAGING,
    ],
    listedBy: 'apps list',
    examples: [
      'svc apps logs billing --since 1h --level error',
      'svc apps logs billing --grep "card declined" --follow',
      'svc apps logs billing --since 2d --until 1d --group lgr_0mwhkcyh5nlh1pqqssy5gj19q',
    ],
    load: async () => (await import('./commands/logs.ts')).listLogs,
  },
  {
    path: 'apps logs groups',
    summary: 'List groups of similar log lines of an app, the most frequent first',
    arguments: [APP],
    options: [...LOG_WINDOW, ...PAGING],
    listedBy: 'apps list',
    examples: ['svc apps logs groups billing --since 1d --level error'],
    load: async () => (await import('./commands/logs.ts')).listLogGroups,
  },
  {
    path: 'apps logs push',
    summary: 'Send log lines from stdin: JSON objects or plain text, one a line',
    arguments: [APP],
    listedBy: 'apps list',
    examples: ['my-program 2>&1 | svc apps logs push billing'],
    load: async () => (await import('./commands/logs.ts')).pushLogs,
  },
  {
    path: 'apps deploy',
    summary: 'Deploy a revision of an app; it waits for a runner',
    arguments: [APP, REVISION],
    listedBy: 'apps revisions',
    examples: ['svc apps deploy shop rev_0mjexample000000000000000'],
    load: async () => (await import('./commands/deployments.ts')).createDeployment,
  },
  {
    path: 'apps deployments',
    summary: 'List the deployments of an app, newest first',
    arguments: [APP],
    options: [
      { long: 'state', value: 'state', summary: 'Filter by state', choices: DEPLOYMENT_STATES },
      ...PAGING,
    ],
    listedBy: 'apps list',
    examples: ['svc apps deployments shop', 'svc apps deployments shop --state failed --json'],
    load: async () => (await import('./commands/deployments.ts')).listDeployments,
  },
  {
    path: 'apps rollback',
    summary: 'Deploy the revision that succeeded before the last deployment',
    arguments: [APP],
    options: [YES],
    listedBy: 'apps list',
    examples: ['svc apps rollback shop --yes'],
    load: async () => (await import('./commands/deployments.ts')).rollBackDeployment,
  },
  {
    path: 'apps cancel',
    summary: 'Cancel a deployment; a running one is asked to stop',
    arguments: [APP, DEPLOYMENT],
    listedBy: 'apps deployments',
    examples: ['svc apps cancel shop dep_0mjexample000000000000000'],
    load: async () => (await import('./commands/deployments.ts')).cancelDeployment,
  },
  {
    path: 'apps deployments confirm-ended',
    summary: 'Confirm that the command of a lost runner has ended, so that the next deployment begins',
    arguments: [APP, DEPLOYMENT],
    options: [YES],
    listedBy: 'apps deployments',
    examples: ['svc apps deployments confirm-ended shop dep_0mjexample000000000000000 --yes'],
    load: async () => (await import('./commands/deployments.ts')).confirmDeploymentEnded,
  },
  {
    path: 'apps deployments report-broken',
    summary: 'Report that a deployment broke after it had succeeded, within a day',
    arguments: [APP, DEPLOYMENT],
    listedBy: 'apps deployments',
    examples: ['svc apps deployments report-broken shop dep_0mjexample000000000000000'],
    load: async () => (await import('./commands/deployments.ts')).reportBrokenRollout,
  },
  {
    path: 'apps deployments output',
    summary: 'Print what the command of a deployment wrote',
    arguments: [APP, DEPLOYMENT],
    options: [
      { long: 'follow', short: 'f', summary: 'Continue until it has ended; exits 11 if it did not succeed' },
    ],
    listedBy: 'apps deployments',
    examples: ['svc apps deployments output shop dep_0mjexample000000000000000 --follow'],
    load: async () => (await import('./commands/deployments.ts')).readDeploymentOutput,
  },
  {
    path: 'apps runner',
    summary: 'Wait for deployments of an app, and run a command for each',
    arguments: [APP],
    options: [
      {
        long: 'exec',
        value: 'command',
        summary:
          'Run by the shell in a folder with the revision; gets SVC_APP, SVC_DEPLOYMENT, SVC_REVISION, SVC_FENCE',
      },
      {
        long: 'command-timeout',
        value: 'seconds',
        summary: 'Stop the command after this time (default 3600)',
      },
      { long: 'name', value: 'text', summary: 'Name of this runner (default: the host name)' },
      { long: 'once', summary: 'End after one deployment; exits 11 if it did not succeed' },
    ],
    listedBy: 'apps list',
    examples: ['svc apps runner shop --exec ./deploy.sh', 'svc apps runner shop --exec "make deploy" --once'],
    load: async () => (await import('./commands/runner.ts')).runDeployments,
  },
  {
    path: 'apps tokens',
    summary: 'List the tokens of an app',
    arguments: [APP],
    options: [...PAGING],
    listedBy: 'apps list',
    examples: ['svc apps tokens billing'],
    load: async () => (await import('./commands/app-tokens.ts')).listAppTokens,
  },
  {
    path: 'apps tokens create',
    summary: 'Create a token for programs of an app; it stays when you leave',
    arguments: [APP],
    options: [
      {
        long: 'scope',
        value: 'scope',
        summary: 'apps:report for logs and workers, apps:run for a runner',
        choices: APP_SCOPES,
      },
      { long: 'name', value: 'text', summary: 'Display name' },
    ],
    listedBy: 'apps list',
    examples: ['svc apps tokens create billing --scope apps:report --name collector'],
    load: async () => (await import('./commands/app-tokens.ts')).createAppToken,
  },
  {
    path: 'apps tokens revoke',
    summary: 'Revoke a token of an app',
    arguments: [APP, { name: 'token_id', summary: 'apt_…, from `svc apps tokens`' }],
    options: [YES],
    listedBy: 'apps tokens',
    examples: ['svc apps tokens revoke billing apt_0mwhkcyh5nlh1pqqssy5gj19q'],
    load: async () => (await import('./commands/app-tokens.ts')).revokeAppToken,
  },
  {
    path: 'apps pipelines',
    summary: 'List the scheduled jobs of an app',
    arguments: [APP],
    options: [...PAGING],
    listedBy: 'apps list',
    examples: ['svc apps pipelines billing'],
    load: async () => (await import('./commands/pipelines.ts')).listPipelines,
  },
  {
    path: 'apps pipelines add',
    summary: 'Add a scheduled job; your worker runs it',
    arguments: [APP, { name: 'pipeline', summary: 'Lowercase letter, then up to 59 of a-z, 0-9 and -' }],
    options: PIPELINE_SETTINGS,
    listedBy: 'apps list',
    examples: [
      'svc apps pipelines add billing nightly --cron "0 3 * * *" --timezone Europe/Berlin',
      'svc apps pipelines add billing import --concurrency queue',
    ],
    load: async () => (await import('./commands/pipelines.ts')).createPipeline,
  },
  {
    path: 'apps pipelines edit',
    summary: 'Change a scheduled job, or turn it on or off',
    arguments: [APP, PIPELINE],
    options: [
      ...PIPELINE_SETTINGS,
      { long: 'enable', summary: 'Run it by its schedule' },
      { long: 'disable', summary: 'Stop running it by its schedule' },
    ],
    listedBy: 'apps pipelines',
    examples: [
      'svc apps pipelines edit billing nightly --cron "30 4 * * *"',
      'svc apps pipelines edit billing nightly --disable',
    ],
    load: async () => (await import('./commands/pipelines.ts')).updatePipeline,
  },
  {
    path: 'apps pipelines run',
    summary: 'Start a run now',
    arguments: [APP, PIPELINE],
    listedBy: 'apps pipelines',
    examples: ['svc apps pipelines run billing nightly'],
    load: async () => (await import('./commands/pipelines.ts')).startPipelineRun,
  },
  {
    path: 'apps pipelines runs',
    summary: 'List the runs of a scheduled job, newest first',
    arguments: [APP, PIPELINE],
    options: [
      { long: 'state', value: 'state', summary: 'Filter by state', choices: PIPELINE_RUN_STATES },
      ...PAGING,
    ],
    listedBy: 'apps pipelines',
    examples: ['svc apps pipelines runs billing nightly --state failed'],
    load: async () => (await import('./commands/pipelines.ts')).listPipelineRuns,
  },
  {
    path: 'apps pipelines remove',
    summary: 'Remove a scheduled job and its runs',
    arguments: [APP, PIPELINE],
    options: [YES],
    listedBy: 'apps pipelines',
    examples: ['svc apps pipelines remove billing nightly --yes'],
    load: async () => (await import('./commands/pipelines.ts')).removePipeline,
  },
  {
    path: 'apps checks',
    summary: 'List the checks of an app, with their last results',
    arguments: [APP],
    options: [...PAGING],
    listedBy: 'apps list',
    examples: ['svc apps checks billing'],
    load: async () => (await import('./commands/checks.ts')).listChecks,
  },
  {
    path: 'apps checks add',
    summary: 'Add a check of an address or of log lines',
    arguments: [APP, { name: 'name', summary: 'Display name, unique in the app' }],
    options: [...CHECK_OPTIONS, { long: 'disable', summary: 'Do not run it yet' }],
    listedBy: 'apps list',
    examples: [
      'svc apps checks add billing Health --url https://billing.example.com/health',
      'svc apps checks add billing Health --url https://billing.example.com/health --header "Authorization: -" --condition "[STATUS] == 200" --condition "[BODY].status == UP" < token.txt',
      'svc apps checks add billing Panics --pattern panic --level error --window 10 --max-count 3',
    ],
    load: async () => (await import('./commands/checks.ts')).createCheck,
  },
  {
    path: 'apps checks edit',
    summary: 'Change a check; what is not given stays as it is',
    arguments: [APP, CHECK],
    options: [
      { long: 'name', value: 'text', summary: 'New display name' },
      ...CHECK_OPTIONS,
      { long: 'no-headers', summary: 'Remove the headers' },
      { long: 'no-maintenance', summary: 'Remove the maintenance windows' },
      { long: 'enable', summary: 'Turn it on' },
      { long: 'disable', summary: 'Turn it off' },
    ],
    listedBy: 'apps checks',
    examples: [
      'svc apps checks edit billing Health --interval 300 --failures 2',
      'svc apps checks edit billing Health --maintenance 2026-11-20T22:00:00Z/2026-11-20T23:00:00Z',
    ],
    load: async () => (await import('./commands/checks.ts')).updateCheck,
  },
  {
    path: 'apps checks run',
    summary: 'Run a check now and print its result; exits 11 unless it passes',
    arguments: [APP, CHECK],
    listedBy: 'apps checks',
    examples: ['svc apps checks run billing Health'],
    load: async () => (await import('./commands/checks.ts')).runCheck,
  },
  {
    path: 'apps checks history',
    summary: 'List the runs of a check, newest first',
    arguments: [APP, CHECK],
    options: [
      { long: 'result', value: 'result', summary: 'Filter by result', choices: CHECK_RESULTS },
      ...PAGING,
    ],
    listedBy: 'apps checks',
    examples: ['svc apps checks history billing Health --result fail'],
    load: async () => (await import('./commands/checks.ts')).listCheckRuns,
  },
  {
    path: 'apps checks remove',
    summary: 'Remove a check and its history',
    arguments: [APP, CHECK],
    options: [YES],
    listedBy: 'apps checks',
    examples: ['svc apps checks remove billing Health'],
    load: async () => (await import('./commands/checks.ts')).removeCheck,
  },
  {
    path: 'notifications list',
    summary: 'List your notifications, newest first',
    options: [
      { long: 'state', value: 'state', summary: 'Filter by state (default unread)', choices: INBOX_STATES },
      BY_EVENT_TYPE,
      { long: 'since', value: 'time', summary: `Start time, ${TIME_EXAMPLE}` },
      ...PAGING,
    ],
    examples: ['svc notifications list', 'svc notifications list --state all --type deploy.* --json'],
    load: async () => (await import('./commands/notifications.ts')).listNotifications,
  },
  {
    path: 'notifications ack',
    summary: 'Mark a notification as read',
    arguments: [{ name: 'id', summary: 'ntf_…, from `svc notifications list`' }],
    listedBy: 'notifications list',
    examples: ['svc notifications ack ntf_0mwhkcyh5nlh1pqqssy5gj19q'],
    load: async () => (await import('./commands/notifications.ts')).acknowledgeNotification,
  },
  {
    path: 'notifications follows',
    summary: 'List apps you can follow, your settings, and the last delivery',
    options: [{ long: 'following', summary: 'List only apps you follow' }, ...PAGING],
    examples: ['svc notifications follows', 'svc notifications follows --following --json'],
    load: async () => (await import('./commands/notifications.ts')).listFollows,
  },
  {
    path: 'notifications follow',
    summary: 'Set what you follow of an app you build, maintain or administer',
    arguments: [{ name: 'app', summary: 'Alias, from `svc notifications follows`' }],
    options: [
      {
        long: 'category',
        value: 'category',
        summary: 'Category to follow',
        repeatable: true,
        choices: CATEGORIES,
      },
      { long: 'frequency', value: 'frequency', summary: 'How often (default immediately)', choices: TIMINGS },
      { long: 'stop', summary: 'Unfollow the app' },
    ],
    listedBy: 'notifications follows',
    examples: [
      'svc notifications follow billing --category Tickets --category "Failed deploys" --frequency daily',
      'svc notifications follow billing --stop',
    ],
    load: async () => (await import('./commands/notifications.ts')).follow,
  },
  {
    path: 'notifications integrations',
    summary: 'List integrations: email addresses, chat channels, webhooks and forums (admin or higher)',
    examples: ['svc notifications integrations'],
    load: async () => (await import('./commands/notifications.ts')).listIntegrations,
  },
  {
    path: 'notifications connect',
    summary: 'Connect an email address, a webhook or a chat channel (admin or higher)',
    arguments: [{ name: 'name', summary: 'Display name of the integration' }],
    options: [
      { long: 'url', value: 'url', summary: 'Webhook URL, or - to read it from stdin; treat it as a secret' },
      {
        long: 'email',
        value: 'address',
        summary: 'Email address; gets a link, and nothing before it is confirmed',
      },
      { long: 'chat', summary: 'The URL is the incoming webhook of a chat channel' },
    ],
    examples: [
      'svc notifications connect Receiver --url - < url.txt',
      'svc notifications connect "On call" --email oncall@example.com',
      'svc notifications connect "Team channel" --chat --url - < url.txt',
    ],
    load: async () => (await import('./commands/notifications.ts')).connect,
  },
  {
    path: 'notifications disconnect',
    summary: 'Remove an integration and its subscriptions (admin or higher)',
    arguments: [INTEGRATION],
    options: [YES],
    listedBy: 'notifications integrations',
    examples: ['svc notifications disconnect int_0mwhkcyh5nlh1pqqssy5gj19q --yes'],
    load: async () => (await import('./commands/notifications.ts')).disconnect,
  },
  {
    path: 'notifications subscriptions',
    summary: 'List subscriptions of the organization (admin or higher)',
    options: [
      { long: 'pattern', value: 'text', summary: 'Filter by text in the pattern' },
      BY_INTEGRATION,
      ...PAGING,
    ],
    examples: ['svc notifications subscriptions', 'svc notifications subscriptions --pattern deploy --json'],
    load: async () => (await import('./commands/notifications.ts')).listSubscriptions,
  },
  {
    path: 'notifications subscribe',
    summary: 'Subscribe an integration to events (admin or higher)',
    arguments: [INTEGRATION, PATTERN],
    options: [
      { long: 'timing', value: 'timing', summary: 'When to deliver (default immediately)', choices: TIMINGS },
    ],
    listedBy: 'notifications integrations',
    examples: ['svc notifications subscribe int_0mwhkcyh5nlh1pqqssy5gj19q deploy.failed --timing daily'],
    load: async () => (await import('./commands/notifications.ts')).subscribe,
  },
  {
    path: 'notifications pause',
    summary: 'Pause a subscription (admin or higher)',
    arguments: [SUBSCRIPTION],
    listedBy: 'notifications subscriptions',
    examples: ['svc notifications pause sub_0mwhkcyh5nlh1pqqssy5gj19q'],
    load: async () => (await import('./commands/notifications.ts')).pause,
  },
  {
    path: 'notifications resume',
    summary: 'Resume a subscription (admin or higher)',
    arguments: [SUBSCRIPTION],
    listedBy: 'notifications subscriptions',
    examples: ['svc notifications resume sub_0mwhkcyh5nlh1pqqssy5gj19q'],
    load: async () => (await import('./commands/notifications.ts')).resume,
  },
  {
    path: 'notifications unsubscribe',
    summary: 'Delete a subscription; defaults are not created again (admin or higher)',
    arguments: [SUBSCRIPTION],
    options: [YES],
    listedBy: 'notifications subscriptions',
    examples: ['svc notifications unsubscribe sub_0mwhkcyh5nlh1pqqssy5gj19q --yes'],
    load: async () => (await import('./commands/notifications.ts')).deleteSubscription,
  },
  {
    path: 'notifications test',
    summary: 'Send a test event to a subscription (admin or higher)',
    arguments: [SUBSCRIPTION],
    listedBy: 'notifications subscriptions',
    examples: ['svc notifications test sub_0mwhkcyh5nlh1pqqssy5gj19q'],
    load: async () => (await import('./commands/notifications.ts')).sendTest,
  },
  {
    path: 'notifications preview',
    summary: 'Show the event types a pattern matches, with counts for the last 7 days (admin or higher)',
    arguments: [PATTERN],
    examples: ['svc notifications preview application.check.*'],
    load: async () => (await import('./commands/notifications.ts')).preview,
  },
  {
    path: 'notifications deliveries',
    summary: 'List deliveries, newest first (admin or higher)',
    options: [
      BY_EVENT_TYPE,
      { long: 'state', value: 'state', summary: 'Filter by state', choices: DELIVERY_STATES },
      { long: 'channel', value: 'channel', summary: 'Filter by channel', choices: CHANNEL_NAMES },
      { long: 'app', value: 'alias', summary: 'Filter by app' },
      { long: 'event', value: 'event_id', summary: 'Filter by event (evt_…)' },
      BY_INTEGRATION,
      ...FROM_TO,
      ...PAGING,
    ],
    examples: ['svc notifications deliveries', 'svc notifications deliveries --state failed --json'],
    load: async () => (await import('./commands/notifications.ts')).listDeliveries,
  },
  {
    path: 'notifications show',
    summary: 'Show a delivery and its attempts (admin or higher)',
    arguments: [DELIVERY],
    listedBy: 'notifications deliveries',
    examples: ['svc notifications show dlv_0mwhkcyh5nlh1pqqssy5gj19q --json'],
    load: async () => (await import('./commands/notifications.ts')).showDelivery,
  },
  {
    path: 'notifications retry',
    summary: 'Make the next attempt of a delivery in progress now (admin or higher)',
    arguments: [DELIVERY],
    listedBy: 'notifications deliveries',
    examples: ['svc notifications retry dlv_0mwhkcyh5nlh1pqqssy5gj19q'],
    load: async () => (await import('./commands/notifications.ts')).retry,
  },
  {
    path: 'notifications recover',
    summary: 'Send again what an integration missed since a time (admin or higher)',
    arguments: [INTEGRATION],
    options: [
      { long: 'since', value: 'time', summary: `Start time, ${TIME_EXAMPLE}` },
      { long: 'skip-unconfirmed', summary: 'Leave out what may have arrived' },
      YES,
    ],
    listedBy: 'notifications integrations',
    examples: ['svc notifications recover int_0mwhkcyh5nlh1pqqssy5gj19q --since 2026-11-15 --yes'],
    load: async () => (await import('./commands/notifications.ts')).recover,
  },
  {
    path: 'notifications replay',
    summary: 'Send a delivery again with a new ID; it may arrive twice (admin or higher)',
    arguments: [DELIVERY],
    options: [YES],
    listedBy: 'notifications deliveries',
    examples: ['svc notifications replay dlv_0mwhkcyh5nlh1pqqssy5gj19q --yes'],
    load: async () => (await import('./commands/notifications.ts')).replay,
  },
  {
    path: 'activity',
    summary: 'List calls, newest first; admins and owners see all members',
    options: [
      {
        long: 'type',
        value: 'type',
        summary: 'Kind of call (default function)',
        choices: ACTIVITY_TYPES,
      },
      { long: 'source', value: 'source_id', summary: 'Filter by data source' },
      { long: 'user', value: 'user_id', summary: 'Filter by user (usr_…)' },
      {
        long: 'outcome',
        value: 'outcome',
        summary: 'Filter by outcome',
        choices: ACTIVITY_OUTCOMES,
      },
      ...FROM_TO,
      ...PAGING,
    ],
    examples: ['svc activity', 'svc activity --type data_source --source db_handbook --outcome failed'],
    load: async () => (await import('./commands/activity.ts')).listActivity,
  },
  {
    path: 'doctor',
    summary: 'Check the client, its configuration, the server and your token',
    options: [{ long: 'mcp', value: 'url', summary: 'Also check how assistants reach this MCP endpoint' }],
    examples: ['svc doctor', 'svc doctor --mcp https://mcp.example.com/platform'],
    load: async () => (await import('./commands/doctor.ts')).doctor,
  },
  {
    path: 'completion',
    summary: 'Print a shell completion script',
    arguments: [{ name: 'shell', summary: 'Shell', choices: SHELLS }],
    examples: [
      'svc completion bash > ~/.local/share/bash-completion/completions/svc',
      'svc completion fish | source',
    ],
    load: async () =>
      (await import('./commands/completion.ts')).completionFor({
        commands: COMMANDS,
        groups: GROUPS,
        globalOptions: GLOBAL_OPTIONS,
        rootOptions: ROOT_OPTIONS,
      }),
  },
]
