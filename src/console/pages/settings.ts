/** Settings of the organization itself: its name and time zone, whether admins invite, and whether support staff may come. */
import { Hono, type Context } from 'hono'
import { html } from 'hono/html'
import type { ServiceError } from '../../contracts/errors.ts'
import { updateOrganization } from '../../contracts/organizations.ts'
import { attempt, statusOf } from '../attempt.ts'
import { leaveFlash } from '../flash.ts'
import { page } from '../layout.ts'
import { day, form } from '../parts.ts'
import { button, card, choice, inputField, problemNotice, type Content } from '../../pages/parts.ts'
import { hasRole, organizationOf, text, visitOf, type ConsoleEnv } from '../visit.ts'
import { supportAccess } from './support-visits.ts'

type C = Context<ConsoleEnv>
const PATH = '/console/settings/organization'

export const settingsPages = () =>
  new Hono<ConsoleEnv>()
    .get('/settings', (c) => c.redirect(PATH))
    .get('/settings/organization', (c) => showSettings(c))
    .post('/settings/organization', rename)
    .post('/settings/organization/invitations', setWhoInvites)
    .post('/settings/organization/timezone', setTimezone)

/** What was typed into which form, and why it was refused. */
type Refused = { field: 'name' | 'timezone'; typed: string; problem: ServiceError }

async function showSettings(c: C, refused?: Refused) {
  const organization = organizationOf(c)
  const visit = visitOf(c)
  return page(c, {
    title: 'Organization',
    lead: hasRole(visit, 'admin') ? undefined : 'Owners and admins can change these settings.',
    status: statusOf(refused?.problem),
    body: html`
      ${
        hasRole(visit, 'admin') &&
        card(
          'Name',
          html`${problemNotice(problemIn(refused, 'name'), ['name'])}
        ${form(
          c,
          PATH,
          html`${inputField({ name: 'name', label: 'Name', value: typedIn(refused, 'name') ?? organization.name, required: true, maxlength: 120, problem: problemIn(refused, 'name') })}
          ${button('Save name')}`,
          'stack',
        )}`,
        )
      }
      ${timezone(c, refused)}
      ${whoInvites(c)}
      ${await supportAccess(c)}
      ${card(
        'About',
        html`<dl class="pairs">
          ${pair('Name', organization.name)} ${pair('Short name', html`<code>${organization.slug}</code>`)}
          ${pair('Id', html`<code>${organization.id}</code>`)}
          ${pair('E-mail domains', organization.domains.length > 0 ? organization.domains.join(', ') : 'None. The operator of this service sets them.')}
          ${pair('Created', day(organization.created_at))}
        </dl>`,
      )}
    `,
  })
}

const problemIn = (refused: Refused | undefined, field: Refused['field']) =>
  refused?.field === field ? refused.problem : undefined
const typedIn = (refused: Refused | undefined, field: Refused['field']) =>
  refused?.field === field ? refused.typed : undefined

/** Typed, with the known ones offered: four hundred lines to scroll through help nobody. */
function timezone(c: C, refused: Refused | undefined) {
  const { timezone: present } = organizationOf(c)
  if (!hasRole(visitOf(c), 'admin')) return card('Time zone', html`<p>${present}</p>`)
  const problem = problemIn(refused, 'timezone')
  return card(
    'Time zone',
    html`${problemNotice(problem, ['timezone'])}
    ${form(
      c,
      `${PATH}/timezone`,
      html`${inputField({
        name: 'timezone',
        label: 'Time zone',
        value: typedIn(refused, 'timezone') ?? present,
        required: true,
        maxlength: 64,
        autocomplete: 'off',
        options: TIMEZONES,
        hint: 'Such as Europe/Vienna. Daily messages go out at 09:00 there.',
        problem,
      })}
      ${button('Save time zone')}`,
      'stack',
    )}`,
  )
}

const TIMEZONES = ['UTC', ...Intl.supportedValuesOf('timeZone')]

const pair = (label: string, value: Content) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`

function whoInvites(c: C) {
  const { admins_may_invite: isOn } = organizationOf(c)
  if (!hasRole(visitOf(c), 'owner')) {
    return card(
      'Invitations',
      html`<p>${isOn ? 'Owners and admins invite people.' : 'Owners invite people.'}</p>`,
    )
  }
  return card(
    'Invitations',
    form(
      c,
      `${PATH}/invitations`,
      html`<fieldset>
          <legend>Who may invite people</legend>
          ${choice('radio', 'who', 'owners', !isOn, 'Owners')}
          ${choice('radio', 'who', 'admins', isOn, 'Owners and admins', 'Admins invite up to admin, never an owner.')}
        </fieldset>
        ${button('Save')}`,
      'stack',
    ),
  )
}

async function rename(c: C) {
  const name = text(c.get('form'), 'name')
  const tried = await attempt(() =>
    visitOf(c).call(updateOrganization, { org_id: organizationOf(c).id, name }),
  )
  if ('problem' in tried) return showSettings(c, { field: 'name', typed: name, problem: tried.problem })
  leaveFlash(c, 'done', `The organization is now called ${tried.done.name}.`)
  return c.redirect(PATH, 303)
}

async function setWhoInvites(c: C) {
  const admins_may_invite = text(c.get('form'), 'who') === 'admins'
  await visitOf(c).call(updateOrganization, { org_id: organizationOf(c).id, admins_may_invite })
  leaveFlash(
    c,
    'done',
    admins_may_invite ? 'Owners and admins may invite now.' : 'Only owners may invite now.',
  )
  return c.redirect(PATH, 303)
}

async function setTimezone(c: C) {
  const typed = text(c.get('form'), 'timezone').trim()
  const tried = await attempt(() =>
    visitOf(c).call(updateOrganization, { org_id: organizationOf(c).id, timezone: typed }),
  )
  if ('problem' in tried) return showSettings(c, { field: 'timezone', typed, problem: tried.problem })
  leaveFlash(c, 'done', `The time zone is now ${tried.done.timezone}.`)
  return c.redirect(PATH, 303)
}
