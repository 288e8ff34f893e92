/** The part of the fake gateway with apps, tickets and support sessions. */
import type * as z from 'zod'
import * as apps from '../../src/contracts/apps.ts'
import { notFound, ServiceError } from '../../src/contracts/errors.ts'
import { atLeast } from '../../src/contracts/roles.ts'
import * as support from '../../src/contracts/support.ts'
import * as tickets from '../../src/contracts/tickets.ts'
import type { FakeContext } from './fake-data-sources.ts'

type App = z.output<typeof apps.showApp.output>
type Ticket = z.output<typeof tickets.showTicket.output>
type Session = z.output<typeof support.listSupportSessions.output>['support_sessions'][number]
type MySupportSession = z.output<typeof support.listMySupportSessions.output>['support_sessions'][number]

export type FakeApps = ReturnType<typeof fakeApps>

export function fakeApps({ on, list, id, clock, me, organizationOf }: FakeContext) {
  const daysAgo = (days: number) => new Date(clock().getTime() - days * 86_400_000).toISOString()
  const data = {
    apps: [] as App[],
    tickets: [] as Ticket[],
    sessions: [] as Session[],
    mySupportSessions: [] as MySupportSession[],
  }
  const appOf = (alias: string): App => {
    const app = data.apps.find((one) => one.alias === alias)
    if (!app) throw notFound()
    return app
  }
  const ticketOf = ({ alias, ticket_id }: { alias: string; ticket_id: string }): Ticket => {
    const ticket = data.tickets.find((one) => one.app === alias && one.id === ticket_id)
    if (!ticket) throw notFound()
    return ticket
  }
  const addApp = (alias: string, name: string, my_role: App['my_role'] = 'administrator'): App => {
    const app: App = {
      id: id('app'),
      alias,
      name,
      my_role,
      open_tickets: 0,
      created_at: daysAgo(40),
      members: [],
    }
    data.apps.push(app)
    return app
  }
  const addTicket = (app: App, facts: Partial<Ticket> = {}): Ticket => {
    const ticket: Ticket = {
      id: id('tkt'),
      app: app.alias,
      title: 'The basket forgets what is in it',
      status: 'open',
      reporter: { id: me.id, name: me.name },
      created_at: daysAgo(1),
      changed_at: daysAgo(0.2),
      body: 'I put two books in,\nwent on, and it was empty.',
      replies: [],
      ...facts,
    }
    data.tickets.unshift(ticket)
    app.open_tickets += ticket.status === 'done' ? 0 : 1
    return ticket
  }

  on(apps.listApps, ({ search, mine, ...input }) =>
    list(
      'apps',
      data.apps.filter(
        ({ alias, name, members }) =>
          `${alias} ${name}`.toLowerCase().includes(search?.toLowerCase() ?? '') &&
          (!mine || members.some(({ user_id }) => user_id === me.id)),
      ),
      input,
    ),
  )
  on(apps.createApp, ({ alias, name }, asked) => {
    if (!atLeast(organizationOf(asked).role, 'developer')) throw new ServiceError('FORBIDDEN')
    if (data.apps.some((one) => one.alias === alias))
      throw new ServiceError('CONFLICT', 'An app with this alias already exists')
    return addApp(alias, name)
  })
  on(apps.showApp, ({ alias }) => appOf(alias))
  on(apps.renameApp, ({ alias, name }) => Object.assign(appOf(alias), { name }))
  on(apps.setAppMember, ({ alias, user_id, role }) => {
    const { members } = appOf(alias)
    const present = members.find((one) => one.user_id === user_id)
    if (present) return Object.assign(present, { role })
    const member = { user_id, name: 'Somebody', role, added_at: daysAgo(0) }
    members.push(member)
    return member
  })
  on(apps.removeAppMember, ({ alias, user_id }) => {
    const app = appOf(alias)
    app.members = app.members.filter((one) => one.user_id !== user_id)
    return {}
  })
  on(tickets.listTickets, ({ alias, status, ...input }) =>
    list(
      'tickets',
      data.tickets.filter((one) => one.app === appOf(alias).alias && (!status || one.status === status)),
      input,
    ),
  )
  on(tickets.searchTickets, ({ search, limit }) => ({
    tickets: data.tickets
      .filter(({ id, title }) => id === search || title.toLowerCase().includes(search.toLowerCase()))
      .slice(0, limit),
  }))
  on(tickets.createTicket, ({ alias, title, body }) => addTicket(appOf(alias), { title, body }))
  on(tickets.showTicket, (asked) => ticketOf(asked))
  on(tickets.replyToTicket, ({ body, internal, ...asked }) => {
    const reply = { id: id('rpl'), internal, body, author: { id: me.id, name: me.name }, at: daysAgo(0) }
    ticketOf(asked).replies.push(reply)
    return reply
  })
  on(tickets.changeTicketStatus, ({ status, ...asked }) => Object.assign(ticketOf(asked), { status }))

  on(support.listSupportSessions, (input) => list('support_sessions', data.sessions, input))
  on(support.endSupportSession, ({ support_session_id }) => {
    data.mySupportSessions = data.mySupportSessions.filter((one) => one.id !== support_session_id)
    const session = data.sessions.find((one) => one.id === support_session_id)
    if (session) Object.assign(session, { live: false, ended_at: daysAgo(0) })
    return {}
  })
  on(support.listMySupportSessions, (input) => list('support_sessions', data.mySupportSessions, input))
  on(support.elevateSupportSession, ({ support_session_id, reason }) => {
    const mine = data.mySupportSessions.find((one) => one.id === support_session_id)
    if (!mine) throw notFound()
    mine.level = 'admin'
    return addSession({ id: mine.id, level: 'admin', elevation_reason: reason })
  })

  const addSession = (facts: Partial<Session> = {}): Session => {
    const session: Session = {
      id: id('sup'),
      staff: { id: id('usr'), email: 'sam@support.example', name: 'Sam Support' },
      reason: 'Ticket 4711: nobody can sign in',
      level: 'viewer',
      elevation_reason: null,
      live: true,
      started_at: daysAgo(0.01),
      expires_at: daysAgo(-0.03),
      ended_at: null,
      ...facts,
    }
    data.sessions.unshift(session)
    return session
  }
  const addMySupportSession = (organization: MySupportSession['organization']): MySupportSession => {
    const mine: MySupportSession = {
      id: id('sup'),
      organization,
      level: 'viewer',
      expires_at: daysAgo(-0.03),
    }
    data.mySupportSessions.push(mine)
    return mine
  }
  return { data, addApp, addTicket, addSession, addMySupportSession, daysAgo, id, me }
}

/** Fixed, so that tests can name its page. */
export const SEEDED_TICKET = `tkt_${'0'.repeat(25)}`

/** Two apps with tickets, and support sessions. */
export function seedApps({ data, addApp, addTicket, addSession, daysAgo, id, me }: FakeApps): void {
  const [shop, billing] = [addApp('shop', 'The shop'), addApp('billing', 'Invoices and reminders')]
  shop.members.push(
    { user_id: me.id, name: me.name, role: 'maintainer', added_at: daysAgo(40) },
    { user_id: id('usr'), name: 'Edsger Dijkstra', role: 'builder', added_at: daysAgo(12) },
  )
  addTicket(billing, { title: 'Reminders go out twice', status: 'done' })
  addTicket(shop, { title: 'Search finds nothing on Sundays', status: 'in_progress' })
  const ticket = addTicket(shop, { id: SEEDED_TICKET })
  const edsger = { id: id('usr'), name: 'Edsger Dijkstra' }
  ticket.replies.push(
    {
      id: id('rpl'),
      internal: false,
      body: 'Thank you. Which browser was it?',
      author: edsger,
      at: daysAgo(0.5),
    },
    {
      id: id('rpl'),
      internal: true,
      body: 'Looks like the cookie of last week.',
      author: edsger,
      at: daysAgo(0.4),
    },
    { id: id('rpl'), internal: false, body: 'The one on the tablet.', author: me, at: daysAgo(0.2) },
  )
  addSession({ live: false, ended_at: daysAgo(3), started_at: daysAgo(3.02), expires_at: daysAgo(3) })
  addSession()
  data.apps.sort((a, b) => a.alias.localeCompare(b.alias))
}
