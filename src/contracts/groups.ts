/** Groups of an organization: members and machine agents who see the same rows of data sources with an access column. */
import * as z from 'zod'
import { field } from './field.ts'
import { DisplayName, Email, Nothing, Time } from './fields.ts'
import { Id } from './ids.ts'
import { creating, reading, removing, updating } from './operation.ts'
import { countedPageInput, countedPageOutput } from './paging.ts'

const GroupName = field(DisplayName.describe('As rows name it: `group:<name>`.'), {
  hint: 'Rows name it as group:<name>.',
  client: 'Name, as rows name it: group:<name>',
})

const groupId = { group_id: field(Id('grp'), { client: 'grp_…, from `svc groups list`' }) }

/** Whoever can be in a group. */
export const GroupMemberId = field(
  z
    .union([Id('usr'), Id('mch'), Email], {
      error: 'must be an email address, or look like usr_… or mch_…',
    })
    .describe('The verified email address or the id of a member, or the id of a machine agent.'),
  {
    label: 'Member or machine agent',
    hint: 'The verified email address of a member, or the ID of a machine agent.',
    maxLength: 254,
    client: 'Email address or usr_… of a member, or mch_… of a machine agent',
  },
)

const Group = z.object({
  id: z.string(),
  name: z.string(),
  members: z.int().describe('Members and machine agents in it.'),
  created_at: Time,
})

const GroupMember = z.object({
  id: z.string().describe('`usr_…` of a member, `mch_…` of a machine agent.'),
  kind: z.enum(['member', 'machine_agent']),
  name: z.string(),
  email: z.string().nullable().describe('Verified; null for a machine agent.'),
  added_at: Time,
})

const groups = { service: 'api-gateway', access: 'admin' } as const
const GROUP_TABLE = 'GROUP=id, name, members, created_at'

export const createGroup = creating({
  ...groups,
  name: 'createGroup',
  summary: 'Create a group.',
  input: z.object({ name: GroupName }),
  output: Group,
  closedToSupport: true,
  errors: ['CONFLICT'],
  command: {
    path: 'groups create',
    summary: 'Create a group of members and machine agents (admin or higher)',
    arguments: ['name'],
    table: GROUP_TABLE,
    notes: ['Rows whose access column has group:{name} are seen by it.'],
    examples: ['svc groups create board'],
  },
  http: { method: 'post', path: '/api/v1/groups', success: 201 },
})

export const listGroups = reading({
  ...groups,
  name: 'listGroups',
  summary: 'List groups.',
  input: z.object({
    search: z.string().trim().max(120).optional().describe('Part of the name.'),
    ...countedPageInput,
  }),
  output: z.object({ groups: z.array(Group), ...countedPageOutput }),
  command: {
    path: 'groups list',
    summary: 'List groups (admin or higher)',
    table: GROUP_TABLE,
    examples: ['svc groups list', 'svc groups list --search board --json'],
  },
  http: { method: 'get', path: '/api/v1/groups' },
})

export const showGroup = reading({
  ...groups,
  name: 'showGroup',
  summary: 'Retrieve a group and who is in it.',
  input: z.object(groupId),
  output: z.object({ id: z.string(), name: z.string(), created_at: Time, members: z.array(GroupMember) }),
  errors: ['NOT_FOUND'],
  command: {
    path: 'groups show',
    summary: 'Show who is in a group (admin or higher)',
    table: 'MEMBER=id, kind, name, email, added_at',
    rows: 'members',
    examples: ['svc groups show grp_0mwhkcyh5nlh1pqqssy5gj19q'],
  },
  http: { method: 'get', path: '/api/v1/groups/{group_id}' },
})

export const renameGroup = updating({
  ...groups,
  name: 'renameGroup',
  summary: 'Rename a group. Rows that name it by its old name are no longer seen by it.',
  input: z.object({ ...groupId, name: GroupName }),
  output: Group,
  closedToSupport: true,
  errors: ['NOT_FOUND', 'CONFLICT'],
  command: {
    path: 'groups rename',
    summary: 'Rename a group; rows must name it by its new name then (admin or higher)',
    arguments: ['group_id', 'name'],
    table: GROUP_TABLE,
    examples: ['svc groups rename grp_0mwhkcyh5nlh1pqqssy5gj19q directors'],
  },
  http: { method: 'patch', path: '/api/v1/groups/{group_id}' },
})

export const removeGroup = removing({
  ...groups,
  name: 'removeGroup',
  summary: 'Remove a group. Whoever was in it no longer sees its rows.',
  input: z.object(groupId),
  output: Nothing,
  closedToSupport: true,
  errors: ['NOT_FOUND'],
  command: {
    path: 'groups remove',
    summary: 'Remove a group (admin or higher)',
    confirm: 'This removes {group_id}. Whoever is in it loses its rows on their next call.',
    done: 'Removed {group_id}',
    examples: ['svc groups remove grp_0mwhkcyh5nlh1pqqssy5gj19q --yes'],
  },
  http: { method: 'delete', path: '/api/v1/groups/{group_id}', success: 204 },
})

export const addGroupMember = updating({
  ...groups,
  name: 'addGroupMember',
  summary: 'Add a member or a machine agent to a group.',
  input: z.object({ ...groupId, member_id: GroupMemberId }),
  output: GroupMember,
  closedToSupport: true,
  errors: ['NOT_FOUND', 'CONFLICT'],
  command: {
    path: 'groups members add',
    summary: 'Add a member or a machine agent to a group (admin or higher)',
    table: 'MEMBER=id, kind, name, email, added_at',
    examples: [
      'svc groups members add grp_0mwhkcyh5nlh1pqqssy5gj19q ann@example.com',
      'svc groups members add grp_0mwhkcyh5nlh1pqqssy5gj19q mch_0mwhkcyh5nlh1pqqssy5gj19q',
    ],
  },
  http: { method: 'put', path: '/api/v1/groups/{group_id}/members/{member_id}' },
})

export const removeGroupMember = removing({
  ...groups,
  name: 'removeGroupMember',
  summary: 'Take a member or a machine agent out of a group.',
  input: z.object({ ...groupId, member_id: GroupMemberId }),
  output: Nothing,
  closedToSupport: true,
  errors: ['NOT_FOUND'],
  command: {
    path: 'groups members take-out',
    summary: 'Take a member or a machine agent out of a group (admin or higher)',
    done: 'Took {member_id} out of {group_id}',
    examples: ['svc groups members take-out grp_0mwhkcyh5nlh1pqqssy5gj19q ann@example.com'],
  },
  http: { method: 'delete', path: '/api/v1/groups/{group_id}/members/{member_id}', success: 204 },
})
