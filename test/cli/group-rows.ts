/** Rows about groups, and who sees which rows, for the table of every command and every exit code. */
import type { Call } from '../../src/client/http-client.ts'
import { addGroupMember, createGroup } from '../../src/contracts/groups.ts'
import type { Row } from './notification-rows.ts'

/** One to work with, with a machine agent in it, and one to remove. */
export async function makeGroups(call: Call, machine: string): Promise<Record<string, string>> {
  const [kept, removed] = [
    await call(createGroup, { name: 'board' }),
    await call(createGroup, { name: 'outdated' }),
  ]
  await call(addGroupMember, { group_id: kept.id, member_id: machine })
  return { group: kept.id, gone: removed.id }
}

const NO_GROUP = 'grp_0mwhkcyh5nlh1pqqssy5gj19q'

export const GROUP_ROWS: Row[] = [
  ['groups list', 0, /^GROUP +NAME +MEMBERS +CREATED[^]*\n\{group\} +board +1 /],
  ['groups list --search outdated --json', 0, /"id": "\{gone\}"/],
  ['groups list --limit x', 5, /Invalid value for --limit: x/],
  ['groups list --context ro', 3, /requires the role admin/],
  ['groups create sales', 0, /^GROUP[^]*grp_\w+ +sales +0 [^]*Rows whose access column has group:sales/],
  ['groups create SALES', 6, /A group of this name exists already/],
  ['groups create ""', 5, /name/],
  ['groups create other --context scoped', 3, /scopes of this token/],
  ['groups show {group}', 0, /^MEMBER +KIND +NAME[^]*\n\{machine\} +machine_agent +/],
  [`groups show ${NO_GROUP}`, 4, /svc groups list/],
  ['groups show', 5, /requires <group_id>/],
  ['groups show {group} --context ro', 3, /requires the role admin/],
  ['groups rename {group} directors', 0, /\{group\} +directors +1 /],
  ['groups rename {group} sales', 6, /A group of this name exists already/],
  [`groups rename ${NO_GROUP} x`, 4, /svc groups list/],
  ['groups rename {group}', 5, /requires <name>/],
  ['groups rename {group} x --context ro', 3, /requires the role admin/],
  ['groups members add {group} olga@example.com', 0, /usr_\w+ +member +[^]*olga@example.com/],
  ['groups members add {group} nobody@example.com', 4, /Not found/],
  ['groups members add {group}', 5, /requires <member_id>/],
  ['groups members add {group} olga@example.com --context ro', 3, /requires the role admin/],
  ['groups members take-out {group} olga@example.com', 0, /Took olga@example.com out of \{group\}/],
  ['groups members take-out {group} olga@example.com', 4, /Not found/],
  ['groups members take-out {group}', 5, /requires <member_id>/],
  ['groups members take-out {group} {machine} --context ro', 3, /requires the role admin/],
  ['groups remove {gone}', 5, /Add --yes/],
  ['groups remove {gone} --yes --context ro', 3, /requires the role admin/],
  ['groups remove {gone} --yes', 0, /Removed \{gone\}/],
  ['groups remove {gone} --yes', 4, /svc groups list/],
  [
    'datasource preview db_sample --as olga@example.com --limit 2',
    0,
    /^ID +TITLE\nannual-leave +Annual leave\n[^]*More results/,
  ],
  ['datasource preview db_sample', 5, /--as/],
  ['datasource preview db_nowhere --as olga@example.com', 4, /svc db list|svc datasource list/],
  ['datasource preview db_sample --as olga@example.com --context ro', 3, /requires the role admin/],
]

/** A line for every command that calls the server. */
export const GROUP_LINES = [
  'groups list',
  'groups create x',
  'groups show {group}',
  'groups rename {group} x',
  'groups members add {group} {machine}',
  'groups members take-out {group} {machine}',
  'groups remove {group} --yes',
  'datasource preview db_sample --as olga@example.com',
]

export const GROUP_UNTRIED = {
  'groups members add': { exits: [6], because: 'takes five thousand of them' },
}
