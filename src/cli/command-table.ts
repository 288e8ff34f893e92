/** The command tree of `svc`: what contracts say of operations, and the commands with code of their own. */
import type { Command, HandWritten, Option } from './command.ts'
import { OPERATION_COMMANDS } from './operation-commands.ts'
import { AGENT_ROWS } from './rows/agents.ts'
import { APP_ROWS } from './rows/apps.ts'
import { AUDIT_ROWS } from './rows/audit.ts'
import { DATABASE_ROWS } from './rows/databases.ts'
import { NOTIFICATION_ROWS } from './rows/notifications.ts'
import { SESSION_ROWS } from './rows/session.ts'
import { SKILL_ROWS } from './rows/skills.ts'

/** First words that have commands below them. */
export const GROUPS: Readonly<Record<string, string>> = {
  context: 'Switch between instances and accounts',
  datasource: 'Query data sources',
  db: 'Manage databases',
  docs: 'Sync folders of documents',
  skills: 'Install skills for coding agents',
  agents: 'Manage connected assistants',
  tokens: 'Manage API tokens',
  groups: 'Manage groups of members',
  apps: 'Manage apps',
  audit: 'Export and verify the audit trail',
  notifications: 'Read notifications; manage integrations, subscriptions and deliveries',
}

const OUTPUT_FORMATS = ['table', 'json', 'yaml'] as const

/** Every command takes them. */
export const GLOBAL_OPTIONS: readonly Option[] = [
  {
    long: 'context',
    value: 'name',
    summary: 'Use this context instead of the current one',
    values: 'contexts',
  },
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

/** In which order help lists what follows these words, where it is not that of the contracts. What is not named comes behind it. */
const ORDER: Readonly<Record<string, string>> = {
  '': 'login logout status context datasource db docs skills agents access tokens groups apps notifications activity audit open api doctor completion',
  datasource: 'list query search preview eval evals threshold',
  db: 'list show create connect psql attach load reload undo loads remove',
  docs: 'create sync undo status',
  agents: 'list day narrow revoke access clients block unblock machines provider off on',
  'agents provider':
    'add probe activate update pause resume remove disconnect clients create-client allow forbid rules set-rules preview links link unlink refusals',
  apps: 'list connect create push pull revisions diff logs deploy deployments rollback cancel runner remote tokens bind bindings events pipelines checks maintenance findings incident proposals',
  audit: 'export verify streams',
  'apps deployments': 'confirm-ended report-broken output',
  'apps remote': 'show set secret remove',
  'apps pipelines': 'add edit run runs remove',
  'apps checks': 'add edit run history remove',
  'apps maintenance': 'status settings enable disable run runs',
  notifications:
    'list ack follows follow integrations connect disconnect subscriptions subscribe pause resume unsubscribe test preview deliveries show retry recover replay',
}

/** A text that sorts as the words of the path do in `ORDER`. */
const rankOf = (path: string): string => {
  const words = path.split(' ')
  return words
    .map((word, at) => {
      const place = (ORDER[words.slice(0, at).join(' ')] ?? '').split(' ').indexOf(word)
      return String.fromCharCode(place < 0 ? 999 : 100 + place)
    })
    .join('')
}

/** Its own options before those that every list and every question has. */
function mergeCommand(declared: Command | undefined, own: HandWritten): Command {
  const isLast = ({ long }: Option) => ['limit', 'cursor', 'all'].includes(long)
  const options = declared?.options ?? []
  return {
    summary: '',
    examples: [],
    ...declared,
    ...own,
    options: [...options.filter((one) => !isLast(one)), ...(own.options ?? []), ...options.filter(isLast)],
  }
}

function allCommands(): Command[] {
  const commands = new Map(OPERATION_COMMANDS.map((command) => [command.path, command]))
  for (const rows of [
    SESSION_ROWS,
    DATABASE_ROWS,
    SKILL_ROWS,
    AGENT_ROWS,
    APP_ROWS,
    AUDIT_ROWS,
    NOTIFICATION_ROWS,
  ]) {
    for (const row of rows) commands.set(row.path, mergeCommand(commands.get(row.path), row))
  }
  const ranked = [...commands.values()].map((command) => [rankOf(command.path), command] as const)
  return ranked.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, command]) => command)
}

export const COMMANDS: readonly Command[] = allCommands()
