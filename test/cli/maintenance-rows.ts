/** Rows about the maintenance agent for the table of every command and every exit code. */
import type { Call } from '../../src/client/http-client.ts'
import { createApp } from '../../src/contracts/apps.ts'
import { updateMaintenanceSettings } from '../../src/contracts/maintenance.ts'
import { RULES_MODEL } from '../../src/contracts/outcomes.ts'
import { whoAmI } from '../../src/contracts/people.ts'
import type { Row } from './notification-rows.ts'

/** An organization that has turned it on, and an app of its own. */
export async function makeMaintenance(make: Call): Promise<void> {
  const { organization } = await make(whoAmI, {})
  await make(updateMaintenanceSettings, { org_id: organization!.id, enabled: true, model: RULES_MODEL })
  await make(createApp, { alias: 'kept', name: 'Kept' })
}

const NO_PROPOSAL = 'pr_0mwhkcyh5nlh1pqqssy5gj19q'

export const MAINTENANCE_ROWS: Row[] = [
  ['apps maintenance', 5, /Missing subcommand[^]*svc apps maintenance status/],
  [
    'apps maintenance status kept',
    0,
    /^app: +kept\nenabled: +no\nmodel: +rules\ncadence: +0 3 \* \* \* \(UTC\)\n/,
  ],
  ['apps maintenance status nothing', 4, /svc apps list/],
  ['apps maintenance status', 5, /requires <app>/],
  ['apps maintenance status kept --context scoped', 3, /scopes of this token/],
  ['apps maintenance settings', 0, /^enabled: +yes\nmodel: +rules\n/],
  ['apps maintenance settings --cooldown 12 --json', 0, /"cooldown_hours": 12/],
  ['apps maintenance settings --cooldown 24', 0, /cool-down: +24 h/],
  ['apps maintenance settings --cooldown x', 5, /Invalid value for --cooldown/],
  ['apps maintenance settings --disable', 5, /Add --yes/],
  ['apps maintenance settings --tokens 1 --context ro', 3, /error: /],
  ['apps maintenance run kept', 6, /off for this app/],
  ['apps maintenance enable kept', 5, /Add --yes/],
  ['apps maintenance enable kept --yes --context ro', 3, /error: /],
  ['apps maintenance enable nothing --yes', 4, /svc apps list/],
  ['apps maintenance enable kept --yes --json', 0, /"settings": \{\s*"enabled": true/],
  ['apps maintenance run kept --follow --async', 5, /--follow conflicts with --async/],
  ['apps maintenance run kept --follow -o yaml', 5, /--follow conflicts with -o yaml/],
  ['apps maintenance run kept --context ro', 3, /error: /],
  ['apps maintenance run nothing', 4, /svc apps list/],
  ['apps maintenance run kept --async --idempotency-key once --json', 0, /"replayed": false/],
  // The same key, and therefore the same run, however it ended.
  ['apps maintenance run kept --async --idempotency-key once --json', 0, /"replayed": true/],
  [
    'apps maintenance runs kept --limit 5',
    0,
    /^EXECUTION +STATUS +TERMINAL CODE +TOKENS +CREATED\nexec_\w+ +[a-z]+ /,
  ],
  ['apps maintenance runs kept --json', 0, /"execution_id": "exec_/],
  ['apps maintenance runs kept --limit x', 5, /Invalid value for --limit: x/],
  ['apps maintenance runs nothing', 4, /svc apps list/],
  ['apps maintenance runs kept --context scoped', 3, /scopes of this token/],
  ['apps maintenance disable kept', 5, /Add --yes/],
  ['apps maintenance disable kept --yes --context ro', 3, /error: /],
  ['apps maintenance disable nothing --yes', 4, /svc apps list/],
  ['apps maintenance disable kept --yes', 0, /enabled: +no\n/],

  ['apps findings kept', 0, /^FINDING +STATE +UNDONE BY +KIND +WHERE +FOUND +LAST +SUMMARY\n$/],
  ['apps findings kept --state good', 5, /Must be one of: open, proposed/],
  ['apps findings nothing', 4, /svc apps list/],
  ['apps findings kept --context scoped', 3, /scopes of this token/],
  ['apps proposals list kept', 0, /^PROPOSAL +STATE +YOU MAY +FILES +LINES +CREATED +FIX +TITLE\n$/],
  ['apps proposals list kept --state ready --json', 0, /"proposals": \[\]/],
  ['apps proposals list kept --state good', 5, /Must be one of: preparing, ready/],
  ['apps proposals list nothing', 4, /svc apps list/],
  ['apps proposals list kept --context scoped', 3, /scopes of this token/],
  [`apps proposals show kept ${NO_PROPOSAL} --diff`, 4, /svc apps proposals list/],
  ['apps proposals show kept', 5, /requires <proposal_id>/],
  [`apps proposals show kept ${NO_PROPOSAL} --context scoped`, 3, /scopes of this token/],
  ...['approve', 'deny', 'retry'].flatMap((action): Row[] => [
    [`apps proposals ${action} kept ${NO_PROPOSAL} --yes`, 4, /svc apps proposals list/],
    [`apps proposals ${action} kept`, 5, /requires <proposal_id>/],
    [`apps proposals ${action} kept ${NO_PROPOSAL} --yes --context scoped`, 3, /scopes of this token/],
  ]),
]

/** A line for every command that calls the server. */
export const MAINTENANCE_LINES = [
  'apps maintenance status kept',
  'apps maintenance enable kept --yes',
  'apps maintenance disable kept --yes',
  'apps maintenance settings',
  'apps maintenance run kept',
  'apps maintenance runs kept',
  'apps findings kept',
  'apps proposals list kept',
  `apps proposals show kept ${NO_PROPOSAL}`,
  `apps proposals approve kept ${NO_PROPOSAL} --yes`,
  `apps proposals deny kept ${NO_PROPOSAL} --yes`,
  `apps proposals retry kept ${NO_PROPOSAL} --yes`,
]

const because = 'needs a change that a model proposed: test/walks/maintenance-clients.test.ts'
export const MAINTENANCE_UNTRIED: Record<string, { exits: number[]; because: string }> = {
  'apps maintenance settings': { exits: [4], because: 'the organization of a login is there' },
  'apps maintenance run': {
    exits: [11],
    because: 'every way to end: src/cli/commands/maintenance.test.ts',
  },
  'apps proposals show': { exits: [0], because },
  'apps proposals approve': { exits: [0, 6], because },
  'apps proposals deny': { exits: [0, 6], because },
  'apps proposals retry': { exits: [0, 6], because },
}
