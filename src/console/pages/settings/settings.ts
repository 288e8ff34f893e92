/** Organization settings > General: name, time zone, who invites, support access. */
import { html } from 'hono/html'
import type { ServiceError } from '../../../contracts/errors.ts'
import { updateOrganization } from '../../../contracts/organizations.ts'
import { attempt, statusOf, text, formCard } from '../../forms.ts'
import { redirectWithMessage } from '../../flash.ts'
import { page } from '../../layout.ts'
import { pair, day } from '../../components.ts'
import { card, choice, inputField } from '../../../pages/parts.ts'
import { createRoutes, hasRole, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { supportAccessCard } from './support-sessions.ts'

const PATH = '/console/settings/organization'

export const settingsRoutes = () =>
  createRoutes()
    .get('/settings', (c) => c.redirect(PATH))
    .get('/settings/organization', (c) => showSettings(c))
    .post('/settings/organization', rename)
    .post('/settings/organization/invitations', setInvitationPolicy)
    .post('/settings/organization/timezone', setTimezone)

/** Which form was refused, with what was submitted and why. */
type Refused = { field: 'name' | 'timezone'; submitted: string; problem: ServiceError }

async function showSettings(c: PageContext, refused?: Refused) {
  const organization = organizationOf(c)
  const session = sessionOf(c)
  return page(c, {
    title: 'General',
    lead: hasRole(session, 'admin') ? undefined : 'Owners and admins can change these settings.',
    status: statusOf(refused?.problem),
    body: html`
      ${
        hasRole(session, 'admin') &&
        formCard(c, {
          title: 'Name',
          action: PATH,
          problem: problemIn(refused, 'name'),
          shown: ['name'],
          fields: inputField({
            name: 'name',
            label: 'Name',
            value: typedIn(refused, 'name') ?? organization.name,
            required: true,
            maxlength: 120,
            problem: problemIn(refused, 'name'),
          }),
          submit: 'Save name',
        })
      }
      ${timezone(c, refused)}
      ${invitationSettings(c)}
      ${await supportAccessCard(c)}
      ${card(
        'Details',
        html`<dl class="pairs">
          ${pair('Name', organization.name)} ${pair('Slug', html`<code>${organization.slug}</code>`)}
          ${pair('ID', html`<code>${organization.id}</code>`)}
          ${pair('Email domains', organization.domains.length > 0 ? organization.domains.join(', ') : 'None. The operator of this service sets them.')}
          ${pair('Created', day(organization.created_at))}
        </dl>`,
      )}
    `,
  })
}

const problemIn = (refused: Refused | undefined, field: Refused['field']) =>
  refused?.field === field ? refused.problem : undefined
const typedIn = (refused: Refused | undefined, field: Refused['field']) =>
  refused?.field === field ? refused.submitted : undefined

/** A text field with suggestions: a list of four hundred entries is hard to use. */
function timezone(c: PageContext, refused: Refused | undefined) {
  const { timezone: present } = organizationOf(c)
  if (!hasRole(sessionOf(c), 'admin')) return card('Time zone', html`<p>${present}</p>`)
  const problem = problemIn(refused, 'timezone')
  return formCard(c, {
    title: 'Time zone',
    action: `${PATH}/timezone`,
    problem,
    shown: ['timezone'],
    fields: inputField({
      name: 'timezone',
      label: 'Time zone',
      value: typedIn(refused, 'timezone') ?? present,
      required: true,
      maxlength: 64,
      autocomplete: 'off',
      options: TIMEZONES,
      hint: 'For example Europe/Vienna. Daily messages are sent at 09:00 in this time zone.',
      problem,
    }),
    submit: 'Save time zone',
  })
}

const TIMEZONES = ['UTC', ...Intl.supportedValuesOf('timeZone')]

function invitationSettings(c: PageContext) {
  const { admins_may_invite: isOn } = organizationOf(c)
  if (!hasRole(sessionOf(c), 'owner')) {
    return card(
      'Invitations',
      html`<p>${isOn ? 'Owners and admins can invite people.' : 'Owners can invite people.'}</p>`,
    )
  }
  return formCard(c, {
    title: 'Invitations',
    action: `${PATH}/invitations`,
    fields: html`<fieldset>
      <legend>Who can invite people</legend>
      ${choice('radio', 'who', 'owners', !isOn, 'Owners')}
      ${choice('radio', 'who', 'admins', isOn, 'Owners and admins', 'Admins can invite up to admin, not owners.')}
    </fieldset>`,
    submit: 'Save',
  })
}

async function rename(c: PageContext) {
  const name = text(c.get('form'), 'name')
  const result = await attempt(() =>
    sessionOf(c).call(updateOrganization, { org_id: organizationOf(c).id, name }),
  )
  if ('problem' in result) return showSettings(c, { field: 'name', submitted: name, problem: result.problem })
  return redirectWithMessage(c, PATH, `Organization renamed to ${result.done.name}.`)
}

async function setInvitationPolicy(c: PageContext) {
  const admins_may_invite = text(c.get('form'), 'who') === 'admins'
  await sessionOf(c).call(updateOrganization, { org_id: organizationOf(c).id, admins_may_invite })
  return redirectWithMessage(
    c,
    PATH,
    admins_may_invite ? 'Owners and admins can now invite people.' : 'Only owners can now invite people.',
  )
}

async function setTimezone(c: PageContext) {
  const submitted = text(c.get('form'), 'timezone').trim()
  const result = await attempt(() =>
    sessionOf(c).call(updateOrganization, { org_id: organizationOf(c).id, timezone: submitted }),
  )
  if ('problem' in result) return showSettings(c, { field: 'timezone', submitted, problem: result.problem })
  return redirectWithMessage(c, PATH, `Time zone changed to ${result.done.timezone}.`)
}
