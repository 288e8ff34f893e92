/** The command tree of `svc` as a table. */
import { HITS_DEFAULT, HITS_MAX, PAGE_DEFAULT, PAGE_MAX } from '../contracts/limits.ts'
import type { Command, Option } from './command.ts'

/** First words that have commands below them. */
export const GROUPS: Readonly<Record<string, string>> = {
  context: 'Logins on this machine and which of them is used',
  datasource: 'Data sources you may ask',
  db: 'Managed databases behind the data sources',
  skills: 'Skills for coding agents that come with this client',
  agents: 'Assistants that people connected',
}

export const OUTPUT_FORMATS = ['table', 'json', 'yaml'] as const

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
      { long: 'from', value: 'time', summary: 'Not before, such as 2026-11-15T08:00:00Z or 2026-11-15' },
      { long: 'to', value: 'time', summary: 'Not after' },
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
