/** Rows about what somebody reaches, and ending it with a receipt, for the table of every command and every exit code. */
import type { Call } from '../../src/client/http-client.ts'
import { whoAmI } from '../../src/contracts/people.ts'
import { endWithReceipt } from '../../src/contracts/receipts.ts'
import type { Row } from './notification-rows.ts'

/** Who asks, and the receipt of a rehearsal. */
export async function makeAccess(call: Call, machine: string): Promise<Record<string, string>> {
  const { user } = await call(whoAmI, {})
  const { id } = await call(endWithReceipt, { of: 'machine_agent', id: machine, dry_run: true })
  return { me: user.id, receipt: id }
}

const NO_GRANT = 'grt_0mwhkcyh5nlh1pqqssy5gj19q'
const NO_RECEIPT = 'rct_0mwhkcyh5nlh1pqqssy5gj19q'

/** After the rows about machine agents; those of the grant `ended` are the last about it. */
export const ACCESS_ROWS: Row[] = [
  ['access --user {me}', 0, /^now:\n {2}role: owner\n[^]*\nafter: null\n/],
  ['access --user {me} --role viewer --json', 0, /"after": \{\s*"role": "viewer"/],
  ['access --grant {ended} --scope data:read', 0, /\nloses:\n/],
  ['access', 5, /Whose access\?[^]*--user, --token or --grant/],
  ['access --user {me} --grant {ended}', 5, /one of user_id, token_id and grant_id must be given/],
  ['access --grant {ended} --role viewer', 5, /role: is for a member/],
  [`access --grant ${NO_GRANT}`, 4, /Not found/],
  ['access --user {me} --context scoped', 3, /scopes of this token/],

  ['agents day {ended}', 0, /^FROM +TO +CALLS +REFUSED +FAILED +SOURCES +FUNCTIONS\n/],
  ['agents day {ended} --day 2026-01-01 --json', 0, /"day": "2026-01-01"[^]*"periods": \[\]/],
  ['agents day {ended} --day yesterday', 5, /day/],
  ['agents day', 5, /requires <grant_id>/],
  ['agents day {ended} --context scoped', 3, /scopes of this token/],

  ['agents narrow {ended} --used-within-days 366', 5, /Invalid value for --used-within-days: 366/],
  [
    'agents narrow {ended} --used-within-days 30 --scope data:read',
    5,
    /used_within_days cannot be given together with scopes or sources/,
  ],
  ['agents narrow {ended} --used-within-days 30', 6, /has not been counted for so many days yet/],

  ['agents access end machine_agent {weekly}', 5, /Add --yes/],
  ['agents access end machine_agent --yes', 5, /id is required/],
  ['agents access end robot {weekly} --yes', 5, /Must be one of: agent, /],
  ['agents access end person {me} --yes', 6, /Your own access cannot be ended with a receipt/],
  ['agents access end machine_agent {weekly} --yes --context scoped', 3, /scopes of this token/],
  [
    'agents access end machine_agent {weekly} --dry-run',
    0,
    /^receipt: +rct_\w+\nof: +weekly\n[^]*\nno byte after: +20[^]*A rehearsal: nothing was ended/,
  ],
  [
    'agents access end machine_agent {weekly} --yes',
    0,
    /^receipt: +rct_\w+\nof: +weekly\nended: +[^\n]*\d[^]*\nno byte after: +20/,
  ],
  ['agents access end machine_agent {weekly} --yes', 4, /Not found/],
  ['agents access receipt {receipt} --wait 25', 0, /receipt: +\{receipt\}\nstate: +final\n/],
  ['agents access receipt {receipt} --json', 0, /"rehearsal": true[^]*"signature": "/],
  ['agents access receipt {receipt} --wait 26', 5, /Invalid value for --wait: 26/],
  [`agents access receipt ${NO_RECEIPT}`, 4, /svc agents access receipts/],
  ['agents access receipt {receipt} --context scoped', 3, /scopes of this token/],
  [
    'agents access receipts',
    0,
    /^RECEIPT +STATE +OF +NAME +BY +BEGAN +FINAL\nrct_\w+ +final +machine_agent +weekly [^]*\n\{receipt\} /,
  ],
  ['agents access receipts --limit x', 5, /Invalid value for --limit: x/],
  ['agents access receipts --context ro', 3, /requires the role admin/],

  ['agents revoke {ended} --dry-run --yes', 5, /--dry-run needs a receipt[^]*Add --receipt/],
  ['agents revoke {ended} --receipt', 5, /Add --yes/],
  ['agents revoke {ended} --receipt --dry-run', 0, /of: +Helper\n[^]*A rehearsal: nothing was ended/],
  ['agents revoke {ended} --receipt --yes', 0, /of: +Helper\nended: +[^\n]*1[^]*\nno byte after: +20/],
  ['agents revoke {ended} --receipt --yes', 4, /svc agents list/],
]

/** A line for every command that calls the server. */
export const ACCESS_LINES = [
  `access --grant ${NO_GRANT}`,
  `agents day ${NO_GRANT}`,
  `agents access end agent ${NO_GRANT} --yes`,
  `agents access receipt ${NO_RECEIPT}`,
  'agents access receipts',
]

export const ACCESS_UNTRIED: Record<string, { exits: number[]; because: string }> = {
  'agents revoke': { exits: [6], because: 'of all access only that of oneself conflicts, which is no grant' },
}
