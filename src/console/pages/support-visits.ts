/** Visits of support staff: the staff's own way in and out, and what the organization sees of it. */
import { Hono, type Context } from 'hono'
import { html } from 'hono/html'
import type * as z from 'zod'
import { notFound } from '../../contracts/errors.ts'
import { updateOrganization } from '../../contracts/organizations.ts'
import {
  elevateSupportSession,
  endSupportSession,
  listMyVisits,
  listSupportSessions,
} from '../../contracts/support.ts'
import { button, card } from '../../pages/parts.ts'
import { actAndReturn, leaveFlash } from '../flash.ts'
import { badge, emptyState, form, opens, pager, person, personalForm, table, time } from '../parts.ts'
import { forgetVisit, rememberVisit, supportVisitTo } from '../support-visit.ts'
import { hasRole, organizationOf, text, visitOf, type ConsoleEnv } from '../visit.ts'

type C = Context<ConsoleEnv>
type Session = z.output<typeof listSupportSessions.output>['support_sessions'][number]
const SETTINGS = '/console/settings/organization'

export const supportVisitPages = () =>
  new Hono<ConsoleEnv>()
    .post('/support-visit', enterVisit)
    .post('/support-visit/leave', leaveVisit)
    .post('/support-visit/raise', raiseVisit)
    .post('/support-visit/end', endOwnVisit)
    .post('/settings/organization/support', switchAccess)
    .post('/settings/organization/support/:id/end', endVisit)

async function enterVisit(c: C) {
  const visit = await supportVisitTo(visitOf(c).call, text(c.get('form'), 'org_id'))
  if (!visit) throw notFound()
  rememberVisit(c, visit)
  return c.redirect('/console', 303)
}

function leaveVisit(c: C) {
  forgetVisit(c)
  return c.redirect('/console/organizations', 303)
}

const raiseVisit = (c: C) =>
  actAndReturn(c, '/console', 'The visit may write now. Owners and admins are told.', () =>
    visitOf(c).call(elevateSupportSession, {
      support_session_id: visitOf(c).support?.id ?? '',
      reason: text(c.get('form'), 'reason'),
    }),
  )

async function endOwnVisit(c: C) {
  const { call, support } = visitOf(c)
  await call(endSupportSession, { support_session_id: support?.id ?? '' })
  forgetVisit(c)
  leaveFlash(c, 'done', 'The visit has ended.')
  return c.redirect('/console', 303)
}

/** Where somebody of the staff may go at this moment; nothing for everybody else. */
export async function openVisits(c: C) {
  const { visits, next_cursor } = await visitOf(c).call(listMyVisits, { cursor: c.req.query('visits') })
  if (visits.length === 0) return null
  return card(
    'Support visits',
    html`${table(
      'Organizations you may visit',
      ['Organization', 'You may', 'Until', '(Actions)'],
      visits.map(({ organization, level, expires_at }) => [
        html`<div class="two-lines"><strong>${organization.name}</strong><span class="note">${organization.slug}</span></div>`,
        level === 'admin' ? badge('read and write', 'wait') : badge('read', 'on'),
        time(expires_at),
        html`<div class="row-actions">${personalForm(
          c,
          '/console/support-visit',
          html`<button type="submit" name="org_id" value="${organization.id}" class="button button-quiet button-small" aria-label="Visit ${organization.name}">Visit</button>`,
        )}</div>`,
      ]),
    )}${pager(c, next_cursor, 'visits')}`,
    'The operator let you in here as support staff. Everything you do is in the audit trail of the organization.',
  )
}

/** On the settings page: whether staff may come, and who came. */
export async function supportAccess(c: C) {
  const visit = visitOf(c)
  const { support_access_enabled: isOn } = organizationOf(c)
  const { support_sessions: sessions, next_cursor } = await visit.call(listSupportSessions, {
    cursor: c.req.method === 'GET' ? c.req.query('visits') : undefined,
  })
  return card(
    'Support access',
    html`<p class="switch-state">
        ${isOn ? badge('On', 'on') : badge('Off', 'off')}
        ${isOn ? 'Support staff may be let in for an hour at most.' : 'Nobody of the support staff gets in.'}
      </p>
      ${hasRole(visit, 'owner') && accessSwitch(c, isOn)}
      ${
        sessions.length === 0
          ? emptyState('Nobody came yet', 'Every visit is listed here, with who came and why.')
          : table(
              'Visits of support staff, newest first',
              ['Who', 'Why', 'State', 'Began', '(Actions)'],
              sessions.map((session) => sessionCells(c, session)),
            )
      }
      ${pager(c, next_cursor, 'visits')}`,
    'The operator of this service may let a member of the support staff look in. They read until they raise the visit, and owners and admins hear of both.',
  )
}

const accessSwitch = (c: C, isOn: boolean) =>
  isOn
    ? html`<div class="actions">${opens('support-off', 'Switch support access off', {
        title: 'Switch support access off?',
        content: form(
          c,
          `${SETTINGS}/support`,
          html`<p>Visits that are under way end at once, and nobody can be let in until an owner switches it on again.</p>
            <input type="hidden" name="support" value="off" />
            ${button('Switch it off', 'danger')}`,
          'stack',
        ),
      })}</div>`
    : form(
        c,
        `${SETTINGS}/support`,
        html`<input type="hidden" name="support" value="on" />${button('Switch support access on', 'quiet')}`,
      )

const sessionCells = (c: C, session: Session) => [
  person(session.staff.name, session.staff.email),
  html`<div class="two-lines"><span>${session.reason}</span>${session.elevation_reason && html`<span class="note">Raised: ${session.elevation_reason}</span>`}</div>`,
  stateOf(session),
  time(session.started_at),
  session.live && hasRole(visitOf(c), 'owner')
    ? html`<div class="row-actions">${opens(
        `end-${session.id}`,
        'End',
        {
          title: 'End this visit?',
          content: form(
            c,
            `${SETTINGS}/support/${session.id}/end`,
            html`<p>${session.staff.name} loses access at once.</p>${button('End the visit', 'danger')}`,
            'stack',
          ),
        },
        `End the visit of ${session.staff.name}`,
      )}</div>`
    : null,
]

function stateOf({ live, level, expires_at, ended_at }: Session) {
  if (live) {
    return html`<div class="two-lines"><span>${level === 'admin' ? badge('Reads and writes', 'wait') : badge('Reads', 'on')}</span><span class="note">until ${time(expires_at)}</span></div>`
  }
  return html`<div class="two-lines"><span>${badge('Over', 'off')}</span><span class="note">${ended_at ? 'ended' : 'expired'} ${time(ended_at ?? expires_at)}</span></div>`
}

function switchAccess(c: C) {
  const support_access_enabled = text(c.get('form'), 'support') === 'on'
  const done = support_access_enabled ? 'Support access is on.' : 'Support access is off.'
  return actAndReturn(c, SETTINGS, done, () =>
    visitOf(c).call(updateOrganization, { org_id: organizationOf(c).id, support_access_enabled }),
  )
}

const endVisit = (c: C) =>
  actAndReturn(c, SETTINGS, 'The visit has ended.', () =>
    visitOf(c).call(endSupportSession, { support_session_id: c.req.param('id') ?? '' }),
  )
