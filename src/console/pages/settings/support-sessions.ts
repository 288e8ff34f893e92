/** Support sessions: how staff open, elevate and end their own, and what the organization sees of them. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { notFound } from '../../../contracts/errors.ts'
import { updateOrganization } from '../../../contracts/organizations.ts'
import {
  elevateSupportSession,
  endSupportSession,
  listMySupportSessions,
  listSupportSessions,
} from '../../../contracts/support.ts'
import { button, card } from '../../../pages/parts.ts'
import { badge, emptyState, exactTime, person, table, time } from '../../components.ts'
import { pager } from '../../pager.ts'
import { act } from '../../act.ts'
import { createRoutes, hasRole, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { form, personalForm, text, confirmDialog } from '../../forms.ts'
import { redirectWithMessage } from '../../flash.ts'
import { findSupportSession, forgetSupportSession, rememberSupportSession } from '../../support-session.ts'

type Session = z.output<typeof listSupportSessions.output>['support_sessions'][number]
const SETTINGS = '/console/settings/organization'

export const supportSessionRoutes = () =>
  createRoutes()
    .post('/support-session', open)
    .post('/support-session/leave', leave)
    .post('/support-session/elevate', elevate)
    .post('/support-session/end', endOwn)
    .post('/settings/organization/support', switchAccess)
    .post('/settings/organization/support/:support_session_id/end', end)

async function open(c: PageContext) {
  const support = await findSupportSession(sessionOf(c).call, text(c.get('form'), 'org_id'))
  if (!support) throw notFound()
  rememberSupportSession(c, support)
  return c.redirect('/console', 303)
}

function leave(c: PageContext) {
  forgetSupportSession(c)
  return c.redirect('/console/organizations', 303)
}

const elevate = act(elevateSupportSession, {
  input: (sent, c) => ({
    support_session_id: sessionOf(c).support?.id ?? '',
    reason: text(sent, 'reason'),
  }),
  back: '/console',
  done: 'Write access granted. Owners and admins were notified.',
})

async function endOwn(c: PageContext) {
  const { call, support } = sessionOf(c)
  await call(endSupportSession, { support_session_id: support?.id ?? '' })
  forgetSupportSession(c)
  return redirectWithMessage(c, '/console', 'Support session ended.')
}

/** The organizations that support staff may open now; nothing for everybody else. */
export async function mySupportSessions(c: PageContext) {
  const { support_sessions, next_cursor } = await sessionOf(c).call(listMySupportSessions, {
    cursor: c.req.query('support_sessions'),
  })
  if (support_sessions.length === 0) return null
  return card(
    'Support sessions',
    html`${table(
      'Your support sessions',
      ['Organization', 'Access', 'Expires', '(Actions)'],
      support_sessions.map(({ organization, level, expires_at }) => [
        html`<div class="two-lines"><strong>${organization.name}</strong><span class="note">${organization.slug}</span></div>`,
        accessBadge(level),
        time(expires_at),
        html`<div class="row-actions">${personalForm(
          c,
          '/console/support-session',
          html`<button type="submit" name="org_id" value="${organization.id}" class="button button-quiet button-small" aria-label="Open ${organization.name}">Open</button>`,
          '',
        )}</div>`,
      ]),
    )}${pager(c, support_sessions.length, { next_cursor }, 'support_sessions')}`,
    'The operator gave you access as support staff. Everything you do is recorded in the audit trail of the organization.',
  )
}

const accessBadge = (level: Session['level']) =>
  level === 'admin' ? badge('Read and write', 'wait') : badge('Read only', 'on')

/** On the settings page: whether support staff can get access, and past sessions. */
export async function supportAccessCard(c: PageContext) {
  const session = sessionOf(c)
  const { support_access_enabled: isOn } = organizationOf(c)
  const { support_sessions: sessions, next_cursor } = await session.call(listSupportSessions, {
    cursor: c.req.method === 'GET' ? c.req.query('support_sessions') : undefined,
  })
  return card(
    'Support access',
    html`<p class="switch-state">
        ${isOn ? badge('On', 'on') : badge('Off', 'off')}
        ${isOn ? 'The operator can start support sessions of up to one hour.' : 'Support staff have no access.'}
      </p>
      ${hasRole(session, 'owner') && accessSwitch(c, isOn)}
      ${
        sessions.length === 0
          ? emptyState('No support sessions yet', 'Every support session is listed here with its reason.')
          : table(
              'Support sessions, newest first',
              ['Staff', 'Reason', 'Status', 'Started', '(Actions)'],
              sessions.map((support) => sessionRow(c, support)),
            )
      }
      ${pager(c, sessions.length, { next_cursor }, 'support_sessions')}`,
    'The operator of this service can give support staff temporary access. It is read only until they request write access. Owners and admins are notified of both.',
  )
}

const accessSwitch = (c: PageContext, isOn: boolean) =>
  isOn
    ? html`<div class="actions">${confirmDialog(c, {
        id: 'support-off',
        label: 'Turn off support access',
        title: 'Turn off support access?',
        action: `${SETTINGS}/support`,
        text: 'Active support sessions end immediately, and none can start until an owner turns it on again.',
        fields: html`<input type="hidden" name="support" value="off" />`,
        submit: 'Turn off',
      })}</div>`
    : form(
        c,
        `${SETTINGS}/support`,
        html`<input type="hidden" name="support" value="on" />${button('Turn on support access', 'quiet')}`,
        '',
      )

const sessionRow = (c: PageContext, support: Session) => [
  person(support.staff.name, support.staff.email),
  html`<div class="two-lines"><span>${support.reason}</span>${support.elevation_reason && html`<span class="note">Write access: ${support.elevation_reason}</span>`}</div>`,
  statusOf(support),
  time(support.started_at),
  support.live && hasRole(sessionOf(c), 'owner')
    ? html`<div class="row-actions">${confirmDialog(c, {
        label: 'End',
        name: `End the support session of ${support.staff.name}`,
        title: 'End this support session?',
        action: `${SETTINGS}/support/${support.id}/end`,
        text: `${support.staff.name} loses access immediately.`,
        submit: 'End session',
      })}</div>`
    : null,
]

function statusOf({ live, level, expires_at, ended_at }: Session) {
  if (live) {
    return html`<div class="two-lines"><span>${accessBadge(level)}</span><span class="note">until ${exactTime(expires_at)}</span></div>`
  }
  return html`<div class="two-lines"><span>${badge('Ended', 'off')}</span><span class="note">${ended_at ? 'ended' : 'expired'} ${time(ended_at ?? expires_at)}</span></div>`
}

const switchAccess = act(updateOrganization, {
  input: (sent) => ({ support_access_enabled: text(sent, 'support') === 'on' }),
  back: SETTINGS,
  done: (_, sent) =>
    sent.support_access_enabled ? 'Support access turned on.' : 'Support access turned off.',
})

const end = act(endSupportSession, { back: SETTINGS, done: 'Support session ended.' })
