/** `svc apps …`, where a command does more than one call. */
import { CHECK_METHODS } from '../../contracts/check-methods.ts'
import { LOG_LEVELS } from '../../contracts/log-levels.ts'
import type { HandWritten, Option } from '../command.ts'
import { APP, YES } from './shared.ts'

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
  {
    long: 'question',
    value: 'text',
    summary: 'About the log, to the organization’s maintenance model; without one the check is paused',
  },
  { long: 'max-tokens', value: 'n', summary: 'Of the model, for one run of the check (default 5000)' },
  {
    long: 'window',
    value: 'minutes',
    summary: 'Log lines of so many minutes (default 10; for a question 60)',
  },
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

export const APP_ROWS: readonly HandWritten[] = [
  {
    path: 'apps logs',
    options: [{ long: 'follow', short: 'f', summary: 'Wait for further lines until interrupted' }],
    load: async () => (await import('../commands/logs.ts')).listLogs,
  },
  {
    path: 'apps deployments output',
    options: [
      { long: 'follow', short: 'f', summary: 'Continue until it has ended; exits 11 if it did not succeed' },
    ],
    load: async () => (await import('../commands/deployments.ts')).readDeploymentOutput,
  },
  {
    path: 'apps tokens create',
    load: async () => (await import('../commands/app-tokens.ts')).createAppToken,
  },
  {
    path: 'apps proposals show',
    options: [{ long: 'diff', summary: 'With its diff' }],
    load: async () => (await import('../commands/proposals.ts')).showProposal,
  },
  {
    path: 'apps proposals approve',
    options: [YES],
    load: async () => (await import('../commands/proposals.ts')).approveProposal,
  },
  {
    path: 'apps proposals deny',
    options: [YES],
    load: async () => (await import('../commands/proposals.ts')).denyProposal,
  },
  {
    path: 'apps proposals retry',
    options: [YES],
    load: async () => (await import('../commands/proposals.ts')).retryProposal,
  },
  {
    path: 'apps push',
    summary: 'Push a folder as a revision of an app; unchanged files are not sent, .gitignore is honored',
    arguments: [APP, { name: 'folder', summary: 'Default: the current folder', optional: true }],
    options: [
      { long: 'deploy', summary: 'Deploy it, too' },
      { long: 'replace', summary: 'Push it although it undoes an approved fix, or what others pushed' },
    ],
    listedBy: 'apps list',
    examples: ['svc apps push shop', 'svc apps push shop ./site --deploy'],
    load: async () => (await import('../commands/source.ts')).pushFolder,
  },
  {
    path: 'apps pull',
    summary: 'Bring what changed in the head, such as approved fixes, into a folder; your own changes stay',
    arguments: [APP, { name: 'folder', summary: 'Default: the current folder', optional: true }],
    options: [
      {
        long: 'base',
        value: 'revision_id',
        summary: 'Revision that the folder was made from (default: the last one pushed from it)',
      },
    ],
    listedBy: 'apps list',
    examples: ['svc apps pull shop', 'svc apps pull shop ./site --base rev_0mjexample000000000000000'],
    load: async () => (await import('../commands/source.ts')).pullHead,
  },
  {
    path: 'apps diff',
    summary: 'Compare a revision with the one before it',
    arguments: [APP, { name: 'revision_id', summary: 'rev_… (default: the head)', optional: true }],
    options: [
      { long: 'base', value: 'revision_id', summary: 'Compare with this one instead' },
      { long: 'patch', summary: 'Print the exact text, for git apply' },
    ],
    listedBy: 'apps revisions',
    examples: [
      'svc apps diff shop',
      'svc apps diff shop rev_0mjexample000000000000000 --base rev_0mhexample000000000000000 --patch',
    ],
    load: async () => (await import('../commands/source.ts')).diffRevisions,
  },
  {
    path: 'apps logs push',
    summary: 'Send log lines from stdin: JSON objects or plain text, one a line',
    arguments: [APP],
    listedBy: 'apps list',
    examples: ['my-program 2>&1 | svc apps logs push billing'],
    load: async () => (await import('../commands/logs.ts')).pushLogs,
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
    load: async () => (await import('../commands/runner.ts')).runDeployments,
  },
  {
    path: 'apps checks add',
    summary: 'Add a check of an address, of log lines, or by a question about them',
    arguments: [APP, { name: 'name', summary: 'Display name, unique in the app' }],
    options: [...CHECK_OPTIONS, { long: 'disable', summary: 'Do not run it yet' }],
    listedBy: 'apps list',
    examples: [
      'svc apps checks add billing Health --url https://billing.example.com/health',
      'svc apps checks add billing Health --url https://billing.example.com/health --header "Authorization: -" --condition "[STATUS] == 200" --condition "[BODY].status == UP" < token.txt',
      'svc apps checks add billing Panics --pattern panic --level error --window 10 --max-count 3',
      'svc apps checks add billing Orders --question "Do orders go through?" --interval 3600',
    ],
    load: async () => (await import('../commands/checks.ts')).createCheck,
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
    load: async () => (await import('../commands/checks.ts')).updateCheck,
  },
  {
    path: 'apps checks run',
    summary: 'Run a check now and print its result; exits 11 unless it passes',
    arguments: [APP, CHECK],
    listedBy: 'apps checks',
    examples: ['svc apps checks run billing Health'],
    load: async () => (await import('../commands/checks.ts')).runCheck,
  },
  {
    path: 'apps connect',
    summary:
      'Connect the repository in this folder: app, source, tokens, runner and logs, and maintenance if you like',
    arguments: [{ ...APP, summary: 'Alias (default: from the name of the folder)', optional: true }],
    options: [
      { long: 'name', value: 'text', summary: 'Display name of a new app (default: the name of the folder)' },
      { long: 'exec', value: 'command', summary: 'That deploys a revision (default ./deploy.sh)' },
      {
        long: 'file',
        value: 'path',
        summary:
          'Where both tokens are kept, for you alone (default: in the folder of the client’s settings)',
      },
      { long: 'maintenance', summary: 'Turn the maintenance agent on for the app without asking' },
    ],
    listedBy: 'apps list',
    examples: ['svc apps connect', 'svc apps connect shop --exec "make deploy" --maintenance'],
    load: async () => (await import('../commands/connect.ts')).connectApp,
  },
  {
    path: 'apps maintenance settings',
    options: [YES],
    load: async () => (await import('../commands/maintenance-settings.ts')).updateMaintenanceSettings,
  },
  {
    path: 'apps maintenance run',
    summary: 'Run the maintenance agent now and wait for its end (admin or higher); exits 11 for a finding',
    arguments: [APP],
    options: [
      { long: 'follow', short: 'f', summary: 'Print every change; with --json one object a line' },
      { long: 'async', summary: 'Do not wait' },
      {
        long: 'idempotency-key',
        value: 'key',
        summary: 'The same key is the same run, for good: it never starts a second one',
      },
    ],
    listedBy: 'apps list',
    examples: [
      'svc apps maintenance run shop',
      'svc apps maintenance run shop --follow --json',
      'svc apps maintenance run shop --async --idempotency-key release-42',
    ],
    load: async () => (await import('../commands/maintenance.ts')).startMaintenanceRun,
  },
]
