/** One group: who is in it, its name, and removing it. */
import { html } from 'hono/html'
import type * as z from 'zod'
import {
  addGroupMember,
  removeGroup,
  removeGroupMember,
  renameGroup,
  showGroup,
} from '../../../contracts/groups.ts'
import { PAGE_MAX } from '../../../contracts/limits.ts'
import { listMembers } from '../../../contracts/members.ts'
import { button, card } from '../../../pages/parts.ts'
import { day, emptyState, listCard, person } from '../../components.ts'
import { createRoutes, organizationOf, requireRole, sessionOf, type PageContext } from '../../context.ts'
import { act, routeInput, submit } from '../../act.ts'
import { formOf, type Refused } from '../../fields.ts'
import { confirmDialog, form, formCard, statusOf } from '../../forms.ts'
import { page } from '../../layout.ts'

export const GROUPS_PATH = '/console/members/groups'
export const groupPath = (id: string): string => `${GROUPS_PATH}/${encodeURIComponent(id)}`

type Group = z.output<typeof showGroup.output>

const ADD = formOf(addGroupMember, ['member_id'])
const RENAME = formOf(renameGroup, ['name'])

export const groupRoutes = () =>
  createRoutes()
    .get('/members/groups/:group_id', (c) => showOne(c))
    .post('/members/groups/:group_id', rename)
    .post('/members/groups/:group_id/members', add)
    .post('/members/groups/:group_id/members/:member_id/remove', takeOut)
    .post('/members/groups/:group_id/remove', remove)

const herePath = (c: PageContext): string => groupPath(routeInput(c, showGroup).group_id)

async function showOne(c: PageContext, refused?: Refused) {
  requireRole(c, 'admin', 'Only owners and admins can see groups')
  const session = sessionOf(c)
  const group = await session.call(showGroup, routeInput(c, showGroup))
  const mayChange = session.support === undefined
  return page(c, {
    title: group.name,
    lead: html`Rows whose access column has <code>group:${group.name}</code> are seen by whoever is in it.`,
    status: statusOf(refused?.problem),
    body: html`${listCard(c, {
      caption: 'Members and machine agents',
      columns: ['Name', 'Added', '(Actions)'],
      rows: group.members.map((member) => memberRow(c, group, member, mayChange)),
      empty: emptyState('Nobody is in it yet', 'Rows that name only this group are seen by nobody.'),
      after: mayChange && (await addForm(c, group, refused)),
    })}
    ${mayChange && changes(c, group, refused)}`,
  })
}

const KINDS = { member: '', machine_agent: 'Machine agent' } as const

const memberRow = (c: PageContext, { id }: Group, member: Group['members'][number], mayChange: boolean) => [
  person(member.name, member.email ?? KINDS[member.kind]),
  day(member.added_at),
  html`<div class="row-actions">${
    mayChange &&
    form(
      c,
      `${groupPath(id)}/members/${member.id}/remove`,
      button(html`Take out<span class="unseen"> ${member.name}</span>`, 'quiet'),
      '',
    )
  }</div>`,
]

async function addForm(c: PageContext, { id }: Group, refused: Refused | undefined) {
  const { members } = await sessionOf(c).call(listMembers, { org_id: organizationOf(c).id, limit: PAGE_MAX })
  const shown = ADD.show({ refused })
  return form(
    c,
    `${groupPath(id)}/members`,
    html`${shown.field('member_id', { suggestions: members.map(({ email }) => email) })} ${button('Add')}`,
    'inline',
  )
}

const changes = (c: PageContext, { id, name }: Group, refused: Refused | undefined) =>
  html`${formCard(c, {
    of: RENAME.show({ now: { name }, refused }),
    title: 'Name',
    lead: 'Rows must name it by its new name afterward.',
    action: groupPath(id),
    submit: 'Rename',
    className: 'inline',
  })}
  ${card(
    'Remove',
    confirmDialog(c, {
      label: 'Remove group',
      title: `Remove ${name}?`,
      action: `${groupPath(id)}/remove`,
      text: 'Whoever is in it no longer sees the rows that name it, from their next call on.',
    }),
  )}`

const rename = submit(RENAME, { again: showOne, done: ({ id }) => [groupPath(id), 'Renamed.'] })

const add = submit(ADD, { again: showOne, done: ({ name }, c) => [herePath(c), `${name} added.`] })

const takeOut = act(removeGroupMember, { back: herePath, done: 'Taken out.' })

const remove = act(removeGroup, { back: GROUPS_PATH, done: 'Group removed.' })
