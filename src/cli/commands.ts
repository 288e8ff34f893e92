/** The command tree of `svc` as a table. */
import { HITS_DEFAULT, HITS_MAX, PAGE_DEFAULT, PAGE_MAX } from '../contracts/limits.ts'
import type { Channel, DeliveryState } from '../contracts/deliveries.ts'
import type { Category, Timing } from '../contracts/events.ts'
import type { Command, Option } from './command.ts'

/** First words that have commands below them. */
export const GROUPS: Readonly<Record<string, string>> = {
  context: 'Logins on this machine and which of them is used',
  datasource: 'Data sources you may ask',
  db: 'Managed databases behind the data sources',
  skills: 'Skills for coding agents that come with this client',
  agents: 'Assistants that people connected',
  apps: 'Apps of the organization',
  notifications: 'What happened, who is told of it, and how it arrived',
}

const OUTPUT_FORMATS = ['table', 'json', 'yaml'] as const

/** Every command takes them. */
export const GLOBAL_OPTIONS: readonly Option[] = [
  { long: 'context', value: 'name', summary: 'Use this login instead of the current one' },
  { long: 'output', short: 'o', value: 'format', summary: 'Write the answer so', choices: OUTPUT_FORMATS },
  { long: 'json', summary: 'The same as -o json; errors become JSON too' },
  { long: 'timeout', value: 'seconds', summary: 'Give up on the server after so long (default 30)' },
  { long: 'no-color', summary: 'No colours; NO_COLOR in the environment says the same' },
  { long: 'debug', summary: 'Say on stderr what is asked of the server, without secrets' },
  { long: 'help', short: 'h', summary: 'Explain the command' },
]

/** They stand alone: `svc --version`. */
export const ROOT_OPTIONS: readonly Option[] = [
  { long: 'version', short: 'V', summary: 'Print the version' },
  { long: 'skill-prompt', summary: 'Print instructions for AI agents' },
]

const PAGING: readonly Option[] = [
  { long: 'limit', value: 'n', summary: `Rows in a page, 1 to ${PAGE_MAX} (default ${PAGE_DEFAULT})` },
  { long: 'cursor', value: 'cursor', summary: 'Start where the page before ended' },
  { long: 'all', summary: 'Every page' },
]
const SEARCH: Option = { long: 'search', value: 'text', summary: 'Only those whose name contains this' }
const YES: Option = { long: 'yes', short: 'y', summary: 'Do not ask whether you are sure' }
const USER: Option = { long: 'user', summary: 'In the home directory instead of this project' }
const DESCRIBING: readonly Option[] = [
  { long: 'title', value: 'text', summary: 'The name people and agents read' },
  { long: 'description', value: 'text', summary: 'What is in it' },
]
const DATABASE = { name: 'name', summary: 'A lower-case letter, then up to 40 of a-z, 0-9 and _' }
const GRANT = { name: 'grant_id', summary: 'grt_…, as `svc agents list` shows it' }
const CLIENT = { name: 'client_id', summary: 'As `svc agents clients` shows it' }
const CONNECTION = { name: 'connection_id', summary: 'int_…, as `svc notifications connections` shows it' }
const SUBSCRIPTION = {
  name: 'subscription_id',
  summary: 'sub_…, as `svc notifications subscriptions` shows it',
}
const DELIVERY = { name: 'delivery_id', summary: 'ntf_…, as `svc notifications deliveries` shows it' }
const PATTERN = { name: 'pattern', summary: 'An event type, or a prefix and a star: deploy.*' }
const OF_CONNECTION: Option = { long: 'connection', value: 'connection_id', summary: 'Only this connection' }
const FROM_TO: readonly Option[] = [
  { long: 'from', value: 'time', summary: 'Not before, such as 2026-11-15T08:00:00Z or 2026-11-15' },
  { long: 'to', value: 'time', summary: 'Not after' },
]
// As the contracts name them, which would bring a library along.
const CATEGORIES = [
  'Checks',
  'Maintenance',
  'Failed deploys',
  'Tickets',
] as const satisfies readonly Category[]
const TIMINGS = ['immediately', 'hourly', 'daily'] as const satisfies readonly Timing[]
const CHANNELS = ['email', 'chat', 'direct_message', 'webhook', 'forum'] as const satisfies readonly Channel[]
const DELIVERY_STATES = [
  'waiting',
  'retrying',
  'sent',
  'failed',
  'dropped',
] as const satisfies readonly DeliveryState[]
const SHELLS = ['bash', 'zsh', 'fish', 'powershell'] as const

export const COMMANDS: readonly Command[] = [
  {
    path: 'login',
    summary: 'Log in to an instance; other logins stay as they are',
    options: [
      { long: 'api-url', value: 'url', summary: 'Address of the instance (default $SVC_API_URL)' },
      {
        long: 'api-key',
        value: 'key',
        summary: 'An API token; - reads it from stdin (default $SVC_API_KEY)',
      },
      { long: 'use', summary: 'Make this login the current one even if there is another' },
      { long: 'insecure-http', summary: 'Send the token unencrypted over a network you trust' },
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
    summary: 'Say where you are logged in, as whom and with which role; exit 3 if not',
    examples: ['svc status', 'svc status --json'],
    load: async () => (await import('./commands/status.ts')).status,
  },
  {
    path: 'context list',
    summary: 'List the logins of this machine',
    examples: ['svc context list'],
    load: async () => (await import('./commands/context.ts')).listContexts,
  },
  {
    path: 'context use',
    summary: 'Make a login the current one',
    arguments: [{ name: 'name', summary: 'As `svc context list` shows it' }],
    examples: ['svc context use work'],
    load: async () => (await import('./commands/context.ts')).useContext,
  },
  {
    path: 'context show',
    summary: 'Show a login; the current one unless named',
    arguments: [{ name: 'name', summary: 'As `svc context list` shows it', optional: true }],
    examples: ['svc context show', 'svc context show work --json'],
    load: async () => (await import('./commands/context.ts')).showContext,
  },
  {
    path: 'context remove',
    summary: 'Forget a login and its API token; the token itself lives on',
    arguments: [{ name: 'name', summary: 'As `svc context list` shows it' }],
    options: [YES],
    examples: ['svc context remove work --yes'],
    load: async () => (await import('./commands/context.ts')).removeContext,
  },
  {
    path: 'datasource list',
    summary: 'List the data sources you may ask',
    options: [SEARCH, ...PAGING],
    examples: ['svc datasource list', 'svc datasource list --search handbook --json'],
    load: async () => (await import('./commands/datasource.ts')).listDataSources,
  },
  {
    path: 'datasource query',
    summary: 'Ask a data source a question',
    arguments: [
      { name: 'source_id', summary: 'db_… or ds_…, as `svc datasource list` shows it' },
      { name: 'question', summary: 'In plain words; - reads it from stdin' },
    ],
    options: [
      {
        long: 'filter',
        value: 'column=value',
        summary: 'Only rows with this value; the same column twice means either',
        repeatable: true,
      },
      { long: 'top-k', value: 'n', summary: `Hits, 1 to ${HITS_MAX} (default ${HITS_DEFAULT})` },
      { long: 'target', value: 'label', summary: 'Search this table of the source only' },
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
    path: 'db list',
    summary: 'List the managed databases (developer and up)',
    options: [SEARCH, ...PAGING],
    examples: ['svc db list', 'svc db list --all --json'],
    load: async () => (await import('./commands/db.ts')).listDatabases,
  },
  {
    path: 'db create',
    summary: 'Make a managed Postgres database with pgvector',
    arguments: [DATABASE],
    options: DESCRIBING,
    examples: ['svc db create handbook', 'svc db create handbook --title "Staff handbook"'],
    load: async () => (await import('./commands/db.ts')).createDatabase,
  },
  {
    path: 'db connect',
    summary: 'Show how to connect to a managed database, password included',
    arguments: [DATABASE],
    options: [{ long: 'quiet', short: 'q', summary: 'Print the connection string and nothing else' }],
    listedBy: 'db list',
    examples: ['svc db connect handbook', 'psql "$(svc db connect handbook -q)"'],
    load: async () => (await import('./commands/db.ts')).connectDatabase,
  },
  {
    path: 'db attach',
    summary: 'Adopt an existing Postgres with pgvector (admin and up)',
    arguments: [DATABASE],
    options: [
      {
        long: 'url',
        value: 'url',
        summary: 'postgres://user:password@host:5432/database; - reads it from stdin',
      },
      ...DESCRIBING,
    ],
    examples: ['svc db attach warehouse --url - < connection-string.txt'],
    load: async () => (await import('./commands/db.ts')).attachDatabase,
  },
  {
    path: 'db remove',
    summary: 'Delete a managed database with everything in it; an attached one is only let go',
    arguments: [DATABASE],
    options: [YES],
    listedBy: 'db list',
    examples: ['svc db remove handbook --yes'],
    load: async () => (await import('./commands/db.ts')).removeDatabase,
  },
  {
    path: 'skills list',
    summary: 'List the skills that come with this client',
    examples: ['svc skills list'],
    load: async () => (await import('./commands/skills.ts')).listSkills,
  },
  {
    path: 'skills install',
    summary: 'Write a skill where coding agents look for it; your own edits are never overwritten',
    arguments: [{ name: 'id', summary: 'As `svc skills list` shows it' }],
    options: [
      USER,
      { long: 'force', summary: 'Overwrite files of the skill that were edited here' },
      { long: 'no-agents', summary: 'Leave AGENTS.md and GEMINI.md alone' },
      { long: 'dry-run', summary: 'Say what would be written and write nothing' },
    ],
    examples: ['svc skills install svc', 'svc skills install svc --user --dry-run'],
    load: async () => (await import('./commands/skills.ts')).installSkill,
  },
  {
    path: 'skills show',
    summary: 'Print a skill, or one of its files',
    arguments: [
      { name: 'id', summary: 'As `svc skills list` shows it' },
      { name: 'file', summary: 'Such as references/databases.md (default SKILL.md)', optional: true },
    ],
    examples: ['svc skills show svc', 'svc skills show svc references/databases.md'],
    load: async () => (await import('./commands/skills.ts')).showSkill,
  },
  {
    path: 'skills status',
    summary: 'Say whether the installed files are those of this client; exit 6 if not',
    arguments: [{ name: 'id', summary: 'Only this skill', optional: true }],
    options: [USER, { long: 'no-agents', summary: 'Do not look at AGENTS.md and GEMINI.md' }],
    examples: ['svc skills status', 'svc skills status svc --user --json'],
    load: async () => (await import('./commands/skills.ts')).skillStatus,
  },
  {
    path: 'agents list',
    summary: 'List the assistants you connected',
    options: [
      { long: 'everyone', summary: 'Those of everybody (admin and up)' },
      { long: 'client', value: 'client_id', summary: 'Only those of this client' },
      ...PAGING,
    ],
    examples: ['svc agents list', 'svc agents list --everyone --all --json'],
    load: async () => (await import('./commands/agents.ts')).listAgents,
  },
  {
    path: 'agents narrow',
    summary: 'Leave a connected assistant fewer scopes or data sources; the rest is taken away at once',
    arguments: [GRANT],
    options: [
      { long: 'scope', value: 'scope', summary: 'A scope it keeps', repeatable: true },
      { long: 'source', value: 'source_id', summary: 'A data source it keeps', repeatable: true },
      { long: 'no-sources', summary: 'It keeps no data source' },
    ],
    listedBy: 'agents list',
    examples: ['svc agents narrow grt_01k3v5j8e2q4r6t8w0y2a4c6e8 --scope data:read --source db_handbook'],
    load: async () => (await import('./commands/agents.ts')).narrowAgent,
  },
  {
    path: 'agents revoke',
    summary: 'Disconnect an assistant',
    arguments: [GRANT],
    options: [YES],
    listedBy: 'agents list',
    examples: ['svc agents revoke grt_01k3v5j8e2q4r6t8w0y2a4c6e8 --yes'],
    load: async () => (await import('./commands/agents.ts')).revokeAgent,
  },
  {
    path: 'agents clients',
    summary: 'List the programs with a connection in this organization, and those it blocks (admin and up)',
    options: PAGING,
    examples: ['svc agents clients'],
    load: async () => (await import('./commands/agents.ts')).listClients,
  },
  {
    path: 'agents block',
    summary: 'Block a program for this organization (admin and up)',
    arguments: [CLIENT],
    options: [YES],
    examples: ['svc agents block https://assistant.example.com/client.json --yes'],
    load: async () => (await import('./commands/agents.ts')).blockClient,
  },
  {
    path: 'agents unblock',
    summary: 'Let a blocked program in again (admin and up)',
    arguments: [CLIENT],
    examples: ['svc agents unblock https://assistant.example.com/client.json'],
    load: async () => (await import('./commands/agents.ts')).unblockClient,
  },
  {
    path: 'agents off',
    summary: 'Let no assistant into this organization (admin and up)',
    options: [YES],
    examples: ['svc agents off --yes'],
    load: async () => (await import('./commands/agents.ts')).switchAgentsOff,
  },
  {
    path: 'agents on',
    summary: 'Let assistants into this organization again (admin and up)',
    examples: ['svc agents on'],
    load: async () => (await import('./commands/agents.ts')).switchAgentsOn,
  },
  {
    path: 'apps list',
    summary: 'List the apps of the organization',
    options: [SEARCH, { long: 'mine', summary: 'Only those you build or maintain' }, ...PAGING],
    examples: ['svc apps list', 'svc apps list --mine --json'],
    load: async () => (await import('./commands/apps.ts')).listApps,
  },
  {
    path: 'apps create',
    summary: 'Make an app; you become its maintainer (developer and up)',
    arguments: [{ name: 'alias', summary: 'A lower-case letter, then up to 39 of a-z, 0-9 and -' }],
    options: [{ long: 'name', value: 'text', summary: 'The name people read (default the alias)' }],
    examples: ['svc apps create billing --name "Billing"'],
    load: async () => (await import('./commands/apps.ts')).createApp,
  },
  {
    path: 'notifications list',
    summary: 'List your own notifications, newest first; the unread ones unless told otherwise',
    options: [
      { long: 'state', value: 'state', summary: 'Which of them', choices: ['unread', 'read', 'all'] },
      { long: 'type', value: 'pattern', summary: 'Only these events, such as deploy.*' },
      { long: 'since', value: 'time', summary: 'Not before, such as 2026-11-15T08:00:00Z or 2026-11-15' },
      ...PAGING,
    ],
    examples: ['svc notifications list', 'svc notifications list --state all --type deploy.* --json'],
    load: async () => (await import('./commands/notifications.ts')).listInbox,
  },
  {
    path: 'notifications ack',
    summary: 'Mark one of your notifications read',
    arguments: [{ name: 'id', summary: 'ntf_…, as `svc notifications list` shows it' }],
    listedBy: 'notifications list',
    examples: ['svc notifications ack ntf_0mwhkcyh5nlh1pqqssy5gj19q'],
    load: async () => (await import('./commands/notifications.ts')).acknowledge,
  },
  {
    path: 'notifications follows',
    summary: 'List the apps you may follow, what you follow of each, and how the last message fared',
    options: [{ long: 'following', summary: 'Only those you follow' }, ...PAGING],
    examples: ['svc notifications follows', 'svc notifications follows --following --json'],
    load: async () => (await import('./commands/notifications.ts')).listFollows,
  },
  {
    path: 'notifications follow',
    summary: 'Replace what you follow of an app that you build, maintain or administer',
    arguments: [{ name: 'app', summary: 'Its alias, as `svc notifications follows` shows it' }],
    options: [
      {
        long: 'category',
        value: 'category',
        summary: 'What you want to hear of',
        repeatable: true,
        choices: CATEGORIES,
      },
      { long: 'frequency', value: 'frequency', summary: 'When (default immediately)', choices: TIMINGS },
      { long: 'stop', summary: 'Nothing of it any more' },
    ],
    listedBy: 'notifications follows',
    examples: [
      'svc notifications follow billing --category Tickets --category "Failed deploys" --frequency daily',
      'svc notifications follow billing --stop',
    ],
    load: async () => (await import('./commands/notifications.ts')).follow,
  },
  {
    path: 'notifications connections',
    summary: 'List the connections of the organization: chat channels, webhooks, a forum (admin and up)',
    examples: ['svc notifications connections'],
    load: async () => (await import('./commands/notifications.ts')).listConnections,
  },
  {
    path: 'notifications connect',
    summary: 'Connect a signed webhook, or a chat channel by its incoming webhook (admin and up)',
    arguments: [{ name: 'name', summary: 'What it is called in lists' }],
    options: [
      { long: 'url', value: 'url', summary: 'The address, which is a secret; - reads it from stdin' },
      { long: 'chat', summary: 'It is the incoming webhook of a chat channel' },
    ],
    examples: [
      'svc notifications connect Receiver --url - < address.txt',
      'svc notifications connect "Team channel" --chat --url - < address.txt',
    ],
    load: async () => (await import('./commands/notifications.ts')).connect,
  },
  {
    path: 'notifications disconnect',
    summary: 'Remove a connection with its subscriptions (admin and up)',
    arguments: [CONNECTION],
    options: [YES],
    listedBy: 'notifications connections',
    examples: ['svc notifications disconnect int_0mwhkcyh5nlh1pqqssy5gj19q --yes'],
    load: async () => (await import('./commands/notifications.ts')).disconnect,
  },
  {
    path: 'notifications subscriptions',
    summary: 'List what the connections of the organization are told of (admin and up)',
    options: [
      { long: 'pattern', value: 'text', summary: 'Only patterns that contain this' },
      OF_CONNECTION,
      ...PAGING,
    ],
    examples: ['svc notifications subscriptions', 'svc notifications subscriptions --pattern deploy --json'],
    load: async () => (await import('./commands/notifications.ts')).listSubscriptions,
  },
  {
    path: 'notifications subscribe',
    summary: 'Tell a connection of events (admin and up)',
    arguments: [CONNECTION, PATTERN],
    options: [{ long: 'timing', value: 'timing', summary: 'When (default immediately)', choices: TIMINGS }],
    listedBy: 'notifications connections',
    examples: ['svc notifications subscribe int_0mwhkcyh5nlh1pqqssy5gj19q deploy.failed --timing daily'],
    load: async () => (await import('./commands/notifications.ts')).subscribe,
  },
  {
    path: 'notifications pause',
    summary: 'Pause a subscription (admin and up)',
    arguments: [SUBSCRIPTION],
    listedBy: 'notifications subscriptions',
    examples: ['svc notifications pause sub_0mwhkcyh5nlh1pqqssy5gj19q'],
    load: async () => (await import('./commands/notifications.ts')).pause,
  },
  {
    path: 'notifications resume',
    summary: 'Let a paused subscription go on (admin and up)',
    arguments: [SUBSCRIPTION],
    listedBy: 'notifications subscriptions',
    examples: ['svc notifications resume sub_0mwhkcyh5nlh1pqqssy5gj19q'],
    load: async () => (await import('./commands/notifications.ts')).resume,
  },
  {
    path: 'notifications unsubscribe',
    summary: 'Delete a subscription; a default never comes back (admin and up)',
    arguments: [SUBSCRIPTION],
    options: [YES],
    listedBy: 'notifications subscriptions',
    examples: ['svc notifications unsubscribe sub_0mwhkcyh5nlh1pqqssy5gj19q --yes'],
    load: async () => (await import('./commands/notifications.ts')).unsubscribe,
  },
  {
    path: 'notifications test',
    summary: 'Send a test event through one subscription (admin and up)',
    arguments: [SUBSCRIPTION],
    listedBy: 'notifications subscriptions',
    examples: ['svc notifications test sub_0mwhkcyh5nlh1pqqssy5gj19q'],
    load: async () => (await import('./commands/notifications.ts')).sendTest,
  },
  {
    path: 'notifications preview',
    summary: 'Show which events a pattern matches, and how many there were in seven days (admin and up)',
    arguments: [PATTERN],
    examples: ['svc notifications preview application.check.*'],
    load: async () => (await import('./commands/notifications.ts')).preview,
  },
  {
    path: 'notifications deliveries',
    summary: 'Read the delivery ledger, newest first (admin and up)',
    options: [
      { long: 'type', value: 'pattern', summary: 'Only these events, such as deploy.*' },
      { long: 'state', value: 'state', summary: 'Only what stands so', choices: DELIVERY_STATES },
      { long: 'channel', value: 'channel', summary: 'Only by this channel', choices: CHANNELS },
      { long: 'app', value: 'alias', summary: 'Only about this app' },
      { long: 'event', value: 'event_id', summary: 'Only what became of this event (evt_…)' },
      OF_CONNECTION,
      ...FROM_TO,
      ...PAGING,
    ],
    examples: ['svc notifications deliveries', 'svc notifications deliveries --state failed --json'],
    load: async () => (await import('./commands/notifications.ts')).listDeliveries,
  },
  {
    path: 'notifications show',
    summary: 'Show one delivery: what was sent, and every attempt (admin and up)',
    arguments: [DELIVERY],
    listedBy: 'notifications deliveries',
    examples: ['svc notifications show ntf_0mwhkcyh5nlh1pqqssy5gj19q --json'],
    load: async () => (await import('./commands/notifications.ts')).showDelivery,
  },
  {
    path: 'notifications replay',
    summary: 'Send a delivery again, under a new id; it may arrive twice (admin and up)',
    arguments: [DELIVERY],
    options: [YES],
    listedBy: 'notifications deliveries',
    examples: ['svc notifications replay ntf_0mwhkcyh5nlh1pqqssy5gj19q --yes'],
    load: async () => (await import('./commands/notifications.ts')).replay,
  },
  {
    path: 'activity',
    summary: 'List calls, newest first: yours, or as owner or admin everybody’s',
    options: [
      {
        long: 'type',
        value: 'type',
        summary: 'Functions (default) or questions to data sources',
        choices: ['function', 'data_source'],
      },
      { long: 'source', value: 'source_id', summary: 'Only questions to this data source' },
      { long: 'user', value: 'user_id', summary: 'Only this person (usr_…)' },
      {
        long: 'outcome',
        value: 'outcome',
        summary: 'Only calls that ended so',
        choices: ['answered', 'refused', 'failed'],
      },
      ...FROM_TO,
      ...PAGING,
    ],
    examples: ['svc activity', 'svc activity --type data_source --source db_handbook --outcome failed'],
    load: async () => (await import('./commands/activity.ts')).listActivity,
  },
  {
    path: 'doctor',
    summary: 'Check this client, its files, the way to the server and the login',
    options: [
      { long: 'mcp', value: 'url', summary: 'Also walk the way an assistant takes to this MCP endpoint' },
    ],
    examples: ['svc doctor', 'svc doctor --mcp https://mcp.example.com/platform'],
    load: async () => (await import('./commands/doctor.ts')).doctor,
  },
  {
    path: 'completion',
    summary: 'Print a completion script for your shell',
    arguments: [{ name: 'shell', summary: 'Which shell', choices: SHELLS }],
    examples: [
      'svc completion bash > ~/.local/share/bash-completion/completions/svc',
      'svc completion fish | source',
    ],
    load: async () =>
      (await import('./commands/completion.ts')).completionOf(COMMANDS, GROUPS, GLOBAL_OPTIONS),
  },
]
