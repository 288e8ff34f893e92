/** One app: its tickets, the people on it, its name. */
import { Hono, type Context } from 'hono'
import { html } from 'hono/html'
import type * as z from 'zod'
import { APP_ROLES, removeAppMember, renameApp, setAppMember, showApp } from '../../contracts/apps.ts'
import type { ServiceError } from '../../contracts/errors.ts'
import { PAGE_MAX } from '../../contracts/limits.ts'
import { listMembers } from '../../contracts/members.ts'
import { listTickets, TICKET_STATUSES } from '../../contracts/tickets.ts'
import { button, card, inputField, linkButton, problemNotice, selectField } from '../../pages/parts.ts'
import { attempt, statusOf } from '../attempt.ts'
import { actAndReturn, leaveFlash } from '../flash.ts'
import { page } from '../layout.ts'
import { day, emptyState, filters, form, opens, pager, person, table, time } from '../parts.ts'
import { organizationOf, text, visitOf, type ConsoleEnv } from '../visit.ts'
import {
  appPath,
  mayKeep,
  partBadge,
  partWord,
  PART_OPTIONS,
  STATUS_WORDS,
  statusBadge,
  ticketPath,
} from './app-words.ts'

type C = Context<ConsoleEnv>
type App = z.output<typeof showApp.output>
type Ticket = z.output<typeof listTickets.output>['tickets'][number]

export const appPages = () =>
  new Hono<ConsoleEnv>()
    .get('/apps/:alias', (c) => showOne(c))
    .post('/apps/:alias/name', rename)
    .post('/apps/:alias/members', addMember)
    .post('/apps/:alias/members/:id', setRole)
    .post('/apps/:alias/members/:id/remove', remove)

const aliasOf = (c: C): string => c.req.param('alias') ?? ''
const roleOf = (c: C) =>
  APP_ROLES.find((role) => role === text(c.get('form'), 'role')) ?? ('builder' as const)

async function showOne(c: C, typed?: { name: string; problem: ServiceError }) {
  organizationOf(c)
  const visit = visitOf(c)
  const asked = c.req.method === 'GET' ? c.req.query() : {}
  const status = TICKET_STATUSES.find((one) => one === asked['status'])
  const alias = aliasOf(c)
  const [app, { tickets, next_cursor }] = await Promise.all([
    visit.call(showApp, { alias }),
    visit.call(listTickets, { alias, status, cursor: asked['cursor'] }),
  ])
  return page(c, {
    title: app.name,
    lead: html`<code>${app.alias}</code> ${partBadge(app.my_part)}`,
    actions: linkButton(`${appPath(alias)}/tickets/new`, 'File a ticket'),
    status: statusOf(typed?.problem),
    body: html`
      ${ticketCard(c, app, tickets, status, next_cursor)}
      ${await peopleCard(c, app)}
      ${mayKeep(app.my_part) && nameCard(c, app, typed)}
    `,
  })
}

const ticketCard = (
  c: C,
  app: App,
  tickets: readonly Ticket[],
  status: string | undefined,
  next: string | undefined,
) =>
  html`<section class="card card-list" aria-labelledby="about-tickets">
    <h2 id="about-tickets">Tickets</h2>
    ${filters(
      c,
      'Filter tickets',
      selectField({
        name: 'status',
        label: 'State',
        value: status ?? '',
        options: [
          { value: '', label: 'Every state' },
          ...TICKET_STATUSES.map((value) => ({ value, label: STATUS_WORDS[value].label })),
        ],
      }),
    )}
    ${
      tickets.length > 0
        ? table(
            app.my_part === null ? 'Your tickets, newest first' : 'Tickets, newest first',
            ['Ticket', 'State', 'Reporter', 'Changed'],
            tickets.map((ticket) => [
              html`<a class="subject" href="${ticketPath(app.alias, ticket.id)}">${ticket.title}</a>`,
              statusBadge(ticket.status),
              html`${ticket.reporter.name}`,
              time(ticket.changed_at),
            ]),
          )
        : status !== undefined
          ? emptyState(
              'No ticket is in this state',
              'Look at every state.',
              html`<a href="${appPath(app.alias)}">Show all</a>`,
            )
          : emptyState(
              app.my_part === null ? 'You have filed no ticket here' : 'No ticket was filed yet',
              app.my_part === null
                ? 'Tickets of others are seen by those who work on the app.'
                : 'Whatever members file on this app is listed here.',
            )
    }
    ${pager(c, next)}
  </section>`

async function peopleCard(c: C, app: App) {
  const keeps = mayKeep(app.my_part)
  return html`<section class="card card-list" aria-labelledby="about-people">
    <h2 id="about-people">People</h2>
    ${
      app.members.length === 0
        ? emptyState('Nobody is on it', 'Owners and admins administer every app.')
        : table(
            'Builders and maintainers',
            ['Person', 'Since', '(Actions)'],
            app.members.map((member) => [
              person(member.name, partWord(member.role)),
              day(member.added_at),
              html`<div class="row-actions">${memberActions(c, app, member, keeps)}</div>`,
            ]),
          )
    }
    ${keeps && (await addPerson(c, app))}
  </section>`
}

function memberActions(c: C, app: App, member: App['members'][number], keeps: boolean) {
  const isMe = member.user_id === visitOf(c).me.user.id
  if (!keeps && !isMe) return null
  const path = `${appPath(app.alias)}/members/${member.user_id}`
  return opens(
    `manage-${member.user_id}`,
    keeps ? 'Manage' : 'Leave',
    {
      title: member.name,
      content: html`${
        keeps &&
        form(
          c,
          path,
          html`${selectField({ name: 'role', id: `role-${member.user_id}`, label: 'Part', value: member.role, options: PART_OPTIONS })}
          ${button('Save')}`,
          'stack',
        )
      }
      <div class="window-danger">${form(c, `${path}/remove`, button(isMe ? 'Take yourself off' : 'Take off the app', 'danger'))}</div>`,
    },
    keeps ? `Manage ${member.name}` : `Leave ${app.name}`,
  )
}

/** Members of the organization who are not on the app; where there are many, found by part of their name. */
async function addPerson(c: C, app: App) {
  const search = c.req.method === 'GET' ? c.req.query('person')?.trim().slice(0, 120) || undefined : undefined
  const { members, next_cursor } = await visitOf(c).call(listMembers, {
    org_id: organizationOf(c).id,
    search,
    limit: PAGE_MAX,
  })
  const others = members.filter(({ user_id }) => !app.members.some((member) => member.user_id === user_id))
  const isLong = next_cursor !== undefined || search !== undefined
  return html`${
    isLong &&
    filters(
      c,
      'Find a person',
      inputField({
        name: 'person',
        label: 'Find by name or e-mail',
        type: 'search',
        value: search ?? '',
        maxlength: 120,
      }),
    )
  }
  ${
    others.length === 0
      ? html`<p class="note">${search === undefined ? 'Every member of the organization is on it already.' : 'No member matches.'}</p>`
      : form(
          c,
          `${appPath(app.alias)}/members`,
          html`${selectField({
            name: 'user_id',
            label: 'Person',
            value: '',
            options: others.map(({ user_id, name, email }) => ({
              value: user_id,
              label: `${name} (${email})`,
            })),
          })}
          ${selectField({ name: 'role', id: 'new-role', label: 'Part', value: 'builder', options: PART_OPTIONS })}
          ${button('Put on the app')}`,
          'inline',
        )
  }`
}

const nameCard = (c: C, app: App, typed: { name: string; problem: ServiceError } | undefined) =>
  card(
    'Name',
    html`${problemNotice(typed?.problem, ['name'])}
    ${form(
      c,
      `${appPath(app.alias)}/name`,
      html`${inputField({ name: 'name', label: 'Name', value: typed?.name ?? app.name, required: true, maxlength: 120, problem: typed?.problem })}
      ${button('Save name')}`,
      'stack',
    )}`,
  )

async function rename(c: C) {
  const name = text(c.get('form'), 'name')
  const tried = await attempt(() => visitOf(c).call(renameApp, { alias: aliasOf(c), name }))
  if ('problem' in tried) return showOne(c, { name, problem: tried.problem })
  leaveFlash(c, 'done', `The app is now called ${tried.done.name}.`)
  return c.redirect(appPath(aliasOf(c)), 303)
}

const addMember = (c: C) => putOn(c, text(c.get('form'), 'user_id'))
const setRole = (c: C) => putOn(c, c.req.param('id') ?? '')

const putOn = (c: C, user_id: string) =>
  actAndReturn(c, appPath(aliasOf(c)), `Saved: ${partWord(roleOf(c))}.`, () =>
    visitOf(c).call(setAppMember, { alias: aliasOf(c), user_id, role: roleOf(c) }),
  )

const remove = (c: C) =>
  actAndReturn(c, appPath(aliasOf(c)), 'Taken off the app.', () =>
    visitOf(c).call(removeAppMember, { alias: aliasOf(c), user_id: c.req.param('id') ?? '' }),
  )
