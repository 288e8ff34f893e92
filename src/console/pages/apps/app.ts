/** One app: its tickets, the people on it, its name. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { APP_ROLES, removeAppMember, renameApp, setAppMember, showApp } from '../../../contracts/apps.ts'
import type { ServiceError } from '../../../contracts/errors.ts'
import { PAGE_MAX } from '../../../contracts/limits.ts'
import { listMembers } from '../../../contracts/members.ts'
import { listTickets, TICKET_STATUSES } from '../../../contracts/tickets.ts'
import { button, inputField, linkButton, selectField } from '../../../pages/parts.ts'
import { attempt, form, statusOf, text, formCard } from '../../forms.ts'
import { redirectWithMessage, actAndReturn } from '../../flash.ts'
import { page } from '../../layout.ts'
import {
  day,
  dialog,
  emptyState,
  filterForm,
  filterSelect,
  memberOptions,
  person,
  time,
  listCard,
} from '../../components.ts'
import { createRoutes, idOf, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import {
  appPath,
  canManage,
  partBadge,
  partLabel,
  PART_OPTIONS,
  STATUS_LABELS,
  statusBadge,
  ticketPath,
} from './app-labels.ts'

type App = z.output<typeof showApp.output>
type Listed = z.output<typeof listTickets.output>

export const appRoutes = () =>
  createRoutes()
    .get('/apps/:alias', (c) => showOne(c))
    .post('/apps/:alias/name', rename)
    .post('/apps/:alias/members', addMember)
    .post('/apps/:alias/members/:id', setRole)
    .post('/apps/:alias/members/:id/remove', remove)

const aliasOf = (c: PageContext): string => c.req.param('alias') ?? ''
const roleOf = (c: PageContext) =>
  APP_ROLES.find((role) => role === text(c.get('form'), 'role')) ?? ('builder' as const)

async function showOne(c: PageContext, submitted?: { name: string; problem: ServiceError }) {
  organizationOf(c)
  const session = sessionOf(c)
  const query = c.req.method === 'GET' ? c.req.query() : {}
  const status = TICKET_STATUSES.find((one) => one === query['status'])
  const alias = aliasOf(c)
  const [app, listed] = await Promise.all([
    session.call(showApp, { alias }),
    session.call(listTickets, { alias, status, cursor: query['cursor'], count: 'true' }),
  ])
  return page(c, {
    title: app.name,
    lead: html`<code>${app.alias}</code> ${partBadge(app.my_role)}`,
    actions: linkButton(`${appPath(alias)}/tickets/new`, 'New ticket'),
    status: statusOf(submitted?.problem),
    body: html`
      ${ticketCard(c, app, listed, status)}
      ${await peopleCard(c, app)}
      ${canManage(app.my_role) && nameCard(c, app, submitted)}
    `,
  })
}

const ticketCard = (
  c: PageContext,
  app: App,
  { tickets, next_cursor, total }: Listed,
  status: string | undefined,
) =>
  listCard(c, {
    title: 'Tickets',
    label: 'Filter tickets',
    filters: filterSelect({
      name: 'status',
      label: 'Status',
      value: status,
      all: 'All statuses',
      options: TICKET_STATUSES.map((value) => ({ value, label: STATUS_LABELS[value].label })),
    }),
    caption: app.my_role === null ? 'Your tickets, newest first' : 'Tickets, newest first',
    columns: ['Ticket', 'Status', 'Reporter', 'Updated'],
    rows: tickets.map((ticket) => [
      html`<a class="subject" href="${ticketPath(app.alias, ticket.id)}">${ticket.title}</a>`,
      statusBadge(ticket.status),
      html`${ticket.reporter.name}`,
      time(ticket.changed_at),
    ]),
    empty: noTickets(app, status !== undefined),
    next: next_cursor,
    total,
  })

function noTickets({ alias, my_role }: App, isFiltered: boolean) {
  const all = html`<a href="${appPath(alias)}">Show all</a>`
  if (isFiltered) return emptyState('No tickets with this status', 'Try a different status.', all)
  return my_role === null
    ? emptyState('You have no tickets here', 'Only people who work on the app can see tickets from others.')
    : emptyState('No tickets yet', 'Tickets for this app are listed here.')
}

async function peopleCard(c: PageContext, app: App) {
  const mayManage = canManage(app.my_role)
  return listCard(c, {
    title: 'People',
    caption: 'Builders and maintainers',
    columns: ['Person', 'Added', '(Actions)'],
    rows: app.members.map((member) => [
      person(member.name, partLabel(member.role)),
      day(member.added_at),
      html`<div class="row-actions">${memberActions(c, app, member, mayManage)}</div>`,
    ]),
    empty: emptyState('No people yet', 'Owners and admins can manage every app.'),
    after: mayManage && (await addPerson(c, app)),
  })
}

function memberActions(c: PageContext, app: App, member: App['members'][number], mayManage: boolean) {
  const isMe = member.user_id === sessionOf(c).me.user.id
  if (!mayManage && !isMe) return null
  const path = `${appPath(app.alias)}/members/${member.user_id}`
  return dialog(
    `manage-${member.user_id}`,
    mayManage ? 'Manage' : 'Leave',
    {
      title: member.name,
      content: html`${
        mayManage &&
        form(
          c,
          path,
          html`${selectField({ name: 'role', id: `role-${member.user_id}`, label: 'Role', value: member.role, options: PART_OPTIONS })}
          ${button('Save')}`,
        )
      }
      <div class="window-danger">${form(c, `${path}/remove`, button(isMe ? 'Leave app' : 'Remove from app', 'danger'), '')}</div>`,
    },
    mayManage ? `Manage ${member.name}` : `Leave ${app.name}`,
  )
}

/** Members of the organization who are not on the app yet; with a search field where there are many. */
async function addPerson(c: PageContext, app: App) {
  const search = c.req.method === 'GET' ? c.req.query('person')?.trim().slice(0, 120) || undefined : undefined
  const { members, next_cursor } = await sessionOf(c).call(listMembers, {
    org_id: organizationOf(c).id,
    search,
    limit: PAGE_MAX,
  })
  const others = members.filter(({ user_id }) => !app.members.some((member) => member.user_id === user_id))
  const isLong = next_cursor !== undefined || search !== undefined
  return html`${
    isLong &&
    filterForm(
      c,
      'Search members',
      inputField({
        name: 'person',
        label: 'Search by name or email',
        type: 'search',
        value: search ?? '',
        maxlength: 120,
      }),
    )
  }
  ${
    others.length === 0
      ? html`<p class="note">${search === undefined ? 'All members of the organization have been added.' : 'No matching members.'}</p>`
      : form(
          c,
          `${appPath(app.alias)}/members`,
          html`${selectField({ name: 'user_id', label: 'Person', value: '', options: memberOptions(others) })}
          ${selectField({ name: 'role', id: 'new-role', label: 'Role', value: 'builder', options: PART_OPTIONS })}
          ${button('Add to app')}`,
          'inline',
        )
  }`
}

const nameCard = (c: PageContext, app: App, submitted: { name: string; problem: ServiceError } | undefined) =>
  formCard(c, {
    title: 'Name',
    action: `${appPath(app.alias)}/name`,
    problem: submitted?.problem,
    shown: ['name'],
    fields: inputField({
      name: 'name',
      label: 'Name',
      value: submitted?.name ?? app.name,
      required: true,
      maxlength: 120,
      problem: submitted?.problem,
    }),
    submit: 'Save name',
  })

async function rename(c: PageContext) {
  const name = text(c.get('form'), 'name')
  const result = await attempt(() => sessionOf(c).call(renameApp, { alias: aliasOf(c), name }))
  if ('problem' in result) return showOne(c, { name, problem: result.problem })
  return redirectWithMessage(c, appPath(aliasOf(c)), `App renamed to ${result.done.name}.`)
}

const addMember = (c: PageContext) => saveMember(c, text(c.get('form'), 'user_id'))
const setRole = (c: PageContext) => saveMember(c, idOf(c))

const saveMember = (c: PageContext, user_id: string) =>
  actAndReturn(c, appPath(aliasOf(c)), `Role set to ${partLabel(roleOf(c))}.`, () =>
    sessionOf(c).call(setAppMember, { alias: aliasOf(c), user_id, role: roleOf(c) }),
  )

const remove = (c: PageContext) =>
  actAndReturn(c, appPath(aliasOf(c)), 'Removed from the app.', () =>
    sessionOf(c).call(removeAppMember, { alias: aliasOf(c), user_id: idOf(c) }),
  )
